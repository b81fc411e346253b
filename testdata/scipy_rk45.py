"""Evaluation counts and end values of scipy's RK45 on small problems -> scipy_rk45.json.

usage: scipy_rk45.py

The right-hand sides are written once here and once in crates/riemla/tests/ode_scipy.rs.
`nfev`, `steps` (accepted) and `end` are scipy's; `rejections` follows from
nfev = 2 + 6 (steps + rejections), or 1 + 6 (...) where first_step is given.
"""

import json
import os
import platform
import warnings

import numpy as np
import scipy
from scipy.integrate import solve_ivp

HERE = os.path.dirname(os.path.abspath(__file__))


def exponential(t, y):
    return np.array([-y[0]])


def forced(t, y):
    return np.array([-2 * t * y[0] + np.cos(t)])


def lotka_volterra(t, y):
    return np.array([1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3 * y[1]])


def van_der_pol(t, y):
    return np.array([y[1], 10 * (1 - y[0] * y[0]) * y[1] - y[0]])


def arenstorf(t, y):
    mu = 0.012277471
    nu = 1 - mu
    a = (y[0] + mu) * (y[0] + mu) + y[1] * y[1]
    b = (y[0] - nu) * (y[0] - nu) + y[1] * y[1]
    d1, d2 = a * np.sqrt(a), b * np.sqrt(b)
    return np.array(
        [
            y[2],
            y[3],
            y[0] + 2 * y[3] - nu * (y[0] + mu) / d1 - mu * (y[0] - nu) / d2,
            y[1] - 2 * y[2] - nu * y[1] / d1 - mu * y[1] / d2,
        ]
    )


ARENSTORF = [0.994, 0.0, 0.0, -2.00158510637908252240537862224]
PERIOD = 17.0652165601579625588917206249

# name, right-hand side, t0, t1, start
PROBLEMS = [
    ("exponential", exponential, 0.0, 5.0, [1.0]),
    ("forced", forced, 0.0, 4.0, [0.0]),
    ("lotka_volterra", lotka_volterra, 0.0, 15.0, [10.0, 5.0]),
    ("van_der_pol", van_der_pol, 0.0, 20.0, [2.0, 0.0]),
    ("arenstorf", arenstorf, 0.0, PERIOD, ARENSTORF),
    ("lotka_volterra", lotka_volterra, 6.0, 0.0, [10.0, 5.0]),
    ("van_der_pol", van_der_pol, 2.0, -2.0, [2.0, 0.0]),
]
# rtol, atol, first_step
SETTINGS = [
    (1e-3, 1e-6, None),
    (1e-6, 1e-3, None),
    (1e-6, 1e-9, None),
    (1e-10, 1e-12, None),
    (1e-16, 1e-10, None),
    (1e-4, 1e-6, 0.5),
]


def run(name, rhs, t0, t1, start, rtol, atol, first):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rtol = 1e-16 is below 100 eps on purpose
        sol = solve_ivp(rhs, (t0, t1), start, method="RK45", rtol=rtol, atol=atol, first_step=first)
    assert sol.status == 0, (name, sol.message)
    steps, before = len(sol.t) - 1, 2 if first is None else 1
    trials, rest = divmod(sol.nfev - before, 6)
    assert rest == 0
    return {
        "problem": name,
        "t0": t0,
        "t1": t1,
        "start": start,
        "rtol": rtol,
        "atol": atol,
        "first_step": first,
        "nfev": int(sol.nfev),
        "steps": steps,
        "rejections": trials - steps,
        "end": sol.y[:, -1].tolist(),
    }


def main():
    runs = [run(*problem, *setting) for problem in PROBLEMS for setting in SETTINGS]
    result = {
        "script": "scipy_rk45.py",
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
        "runs": runs,
    }
    with open(os.path.join(HERE, "scipy_rk45.json"), "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
