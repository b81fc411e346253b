"""Right-hand-side evaluations of scipy's RK45 on the reference geodesics -> geodesic_counts.json.

usage: geodesic_counts.py [directory of the reference values]

Families: geo (full loss), lin (linearised loss), each also as opt_ (prior_precision_opt in the
loss, tangents opt_V). State y = concat(c, c'), t from 0 to 1, c(0) = theta, c'(0) = V[i].
Per tolerance (and end time where the name has _t): nfev[i]; `end_speed_ratio` is <c', Mc'> at the
end over its initial value; `nfev_perturbed` has the counts when the tangent is multiplied by
1 - 1e-13, 1 + 1e-13, 1 + 1e-12: where they differ from nfev, the count depends on rounding and
another program cannot be expected to reproduce it. At the loose tolerances that is so for all
curves to t = 1: compare distributions there, and exact counts only where `reproducible[i]`.
"""

import json
import os
import platform
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import scipy
from scipy.integrate import solve_ivp

from mlp import LAYERS, Likelihood, Linearised, Network, acceleration

HERE = os.path.dirname(os.path.abspath(__file__))
# name: (rtol, atol, end time)
RUNS = {
    "rtol1e-3_atol1e-6": (1e-3, 1e-6, 1.0),
    "rtol1e-6_atol1e-3": (1e-6, 1e-3, 1.0),
    "rtol1e-3_atol1e-6_t0.02": (1e-3, 1e-6, 0.02),
    "rtol1e-6_atol1e-3_t0.02": (1e-6, 1e-3, 0.02),
    "rtol1e-6_atol1e-6_t0.05": (1e-6, 1e-6, 0.05),
    "rtol1e-8_atol1e-10_t0.05": (1e-8, 1e-10, 0.05),
    "rtol1e-8_atol1e-10_t0.25": (1e-8, 1e-10, 0.25),
}
PERTURBATIONS = [1 - 1e-13, 1 + 1e-13, 1 + 1e-12]


def close(name, got, want, rtol=1e-10):
    deviation = np.linalg.norm(got - want) / np.linalg.norm(want)
    if not deviation < rtol:
        raise SystemExit(f"{name}: relative deviation {deviation:.1e}")
    return float(deviation)


def check(d, full, lin, prefix):
    """Compares with the stored derivatives; returns the relative deviations."""
    probe, v, out = d["theta_probe"], d["v"], {}
    tangent = d[prefix + "V"][0]
    out["acc_probe"] = close("acc", acceleration(full, probe, tangent), d[prefix + "acc_probe"])
    out["lin_acc_probe"] = close("lin_acc", acceleration(lin, probe, tangent), d[prefix + "lin_acc_probe"])
    if not prefix:
        g, vhv = full.gradient_and_curvature(probe, v)
        out["loss_probe"] = close("loss", full.value(probe), d["loss_probe"])
        out["grad_probe"] = close("grad", g, d["grad_probe"])
        out["vHv_probe"] = close("vHv", vhv, v @ d["Hv_probe"])
        g, vhv = lin.gradient_and_curvature(probe, v)
        out["lin_grad_probe"] = close("lin_grad", g, d["lin_grad_probe"])
        out["lin_vHv_probe"] = close("lin_vHv", vhv, v @ d["lin_Hv_probe"])
    return out


def speed2(objective, c, v):
    g, _ = objective.gradient_and_curvature(c, v)
    return v @ v + (g @ v) ** 2


def geodesic(objective, theta, v, rtol, atol, t_end):
    """(nfev, end speed^2 / initial speed^2)."""
    k = theta.size

    def rhs(_, y):
        return np.concatenate([y[k:], acceleration(objective, y[:k], y[k:])])

    sol = solve_ivp(rhs, (0, t_end), np.concatenate([theta, v]), method="RK45", rtol=rtol, atol=atol)
    if sol.status != 0:
        raise SystemExit(sol.message)
    end = sol.y[:, -1]
    return int(sol.nfev), float(speed2(objective, end[:k], end[k:]) / speed2(objective, theta, v))


def family(objective, theta, tangents):
    out = {"end_speed_ratio": {}, "nfev_perturbed": {}, "reproducible": {}}
    for name, setting in RUNS.items():
        runs = [geodesic(objective, theta, v, *setting) for v in tangents]
        out[name] = [n for n, _ in runs]
        out["end_speed_ratio"][name] = [r for _, r in runs]
        out["nfev_perturbed"][name] = [
            [geodesic(objective, theta, s * v, *setting)[0] for v in tangents] for s in PERTURBATIONS
        ]
        perturbed = zip(*out["nfev_perturbed"][name])
        out["reproducible"][name] = [set(p) == {n} for n, p in zip(out[name], perturbed)]
        print("  ", name, out[name], out["reproducible"][name], flush=True)
    return out


def case(path, name):
    with np.load(os.path.join(path, name + ".npz")) as z:
        d = {key: z[key] for key in z.files}
    lik = Likelihood(d["y"], float(d["sigma2"]) if "sigma2" in d else None)
    out = {"checks": {}}
    for prefix, delta in [("", d["prior_precision"]), ("opt_", d["prior_precision_opt"])]:
        full = Network(LAYERS[name], d["x"], lik, float(delta))
        lin = Linearised(full, d["theta"])
        for key, value in check(d, full, lin, prefix).items():
            out["checks"][prefix + key] = value
        for kind, objective in [("geo", full), ("lin", lin)]:
            print(name, prefix + kind, flush=True)
            out[prefix + kind] = family(objective, d["theta"], d[prefix + "V"])
    return out


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "/work/shared/fixtures"
    result = {name: case(path, name) for name in LAYERS}
    result["versions"] = {
        "script": "geodesic_counts.py",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    with open(os.path.join(HERE, "geodesic_counts.json"), "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
