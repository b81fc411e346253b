"""Writes docs/results/python.md and .csv: riemla for Python next to laplace-torch and next to the command.

Run: python python/benchmarks/compare.py [--command target/release/riemla] (needs torch, laplace-torch, jax).
In parts: --only sizes --weights 9906 --cases full,all; what was measured before is kept in docs/results/python.json.
Every measurement of time and memory runs in a process of its own. Times are of the processor, all threads together, so that other
work on the machine does not count.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
ROWS, INPUTS, CLASSES = 1000, 64, 10
# About 500, 1e4, 1e5 and 1e6 weights.
HIDDEN = {536: [6, 8], 9906: [120, 16], 97362: [1000, 32], 995962: [950, 950, 32]}
CASES = [("full", "all"), ("kron", "all"), ("full", "last_layer"), ("kron", "last_layer")]
# Seconds after which a measurement is given up.
LIMIT = 300
# Between runs of parts of it.
KEPT = ROOT / "docs" / "results" / "python.json"


def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, INPUTS))
    y = (x[:, :CLASSES] + 0.5 * rng.normal(size=(ROWS, CLASSES))).argmax(axis=1)
    return x, y


def module(hidden):
    import torch
    from torch import nn

    torch.manual_seed(0)
    sizes = [INPUTS, *hidden, CLASSES]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1]).double()


class Loader(list):
    """Batches with what laplace-torch asks of a loader."""

    batch_size = 250

    def __init__(self, x, y):
        import torch

        parts = [slice(i, i + 250) for i in range(0, len(x), 250)]
        super().__init__((torch.as_tensor(x[part]), torch.as_tensor(y[part])) for part in parts)
        self.dataset = range(len(x))


def peak() -> float:
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def measure(tool: str, weights: int, structure: str, subset: str) -> None:
    """Fit, evidence and predictions of 100 rows, in this process; prints JSON."""
    import laplace
    import torch

    import riemla

    x, y = data()
    model, loader = module(HIDDEN[weights]), Loader(x, y)
    if tool == "laplace-torch":
        # Whatever is made at the first call of torch is not counted.
        torch.autograd.grad(model(loader[0][0]).sum(), list(model.parameters()))
    before, begun = peak(), time.process_time()
    if tool == "riemla":
        la = riemla.Laplace(model, "classification", subset, structure, prior_precision=10.0)
        import warnings

        warnings.simplefilter("ignore")
        la.fit(loader)
    else:
        la = laplace.Laplace(model, "classification", subset, structure, prior_precision=10.0)
        la.fit(loader)
    fitted = time.process_time()
    evidence = float(la.log_marginal_likelihood())
    judged = time.process_time()
    p = la(torch.as_tensor(x[:100]), pred_type="glm", link_approx="probit")
    done = time.process_time()
    print(
        json.dumps(
            {
                "fit": fitted - begun,
                "evidence": judged - fitted,
                "predict": done - judged,
                "memory": peak() - before,
                "value": evidence,
                "p": float(np.asarray(p)[0, 0]),
            }
        )
    )


def memory() -> float:
    """Bytes of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def measured(tool: str, weights: int, structure: str, subset: str) -> dict:
    """The same in a process of its own; what cannot be is said."""
    needed = 8.0 * weights**2
    if (structure, subset) == ("full", "all") and needed > memory():
        return {"failed": f"the matrix alone needs {needed / 1e9:.0f} GB of {memory() / 1e9:.0f}"}
    arguments = (tool, weights, structure, subset)
    program = [sys.executable, __file__, "--measure", *map(str, arguments)]
    try:
        result = subprocess.run(program, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"not within {LIMIT} s"}
    if result.returncode:
        last = (result.stderr.strip().splitlines() or ["killed"])[-1]
        return {"failed": "out of memory" if "emory" in last or "alloc" in last or result.returncode < 0 else last[:60]}
    return json.loads(result.stdout.strip().splitlines()[-1])


def digits(ours, theirs) -> float:
    """Decimal digits to which two results agree."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    error = np.abs(ours - theirs).max() / np.abs(theirs).max()
    return float(-np.log10(max(error, 1e-16)))


def agreement() -> list[dict]:
    """The same weights in both, small networks in float64."""
    import laplace
    import torch

    import riemla

    rows = []
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 3))
    for likelihood, y, outputs in (
        ("classification", (x[:, 0] * x[:, 1] > 0).astype(np.int64), 2),
        ("regression", np.sin(x[:, :1]) + 0.1 * rng.normal(size=(80, 1)), 1),
    ):
        torch.manual_seed(0)
        nn = torch.nn
        model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, outputs)).double()
        settings = {"prior_precision": 0.7} | ({"sigma_noise": 0.3} if likelihood == "regression" else {})
        for structure, subset in (("full", "all"), ("diag", "all"), ("full", "last_layer")):
            theirs = laplace.Laplace(model, likelihood, subset, structure, **settings)
            theirs.fit(Loader(x, y))
            ours = riemla.Laplace(model, likelihood, subset, structure, **settings).fit(x, y)
            dense = ours.posterior_precision
            dense = np.diag(dense) if structure == "diag" else dense
            found = {"posterior precision": digits(dense, theirs.posterior_precision.detach())}
            found["log marginal likelihood"] = digits(ours.log_marginal_likelihood(), float(theirs.log_marginal_likelihood()))
            test = torch.as_tensor(rng.normal(size=(50, 3)))
            if likelihood == "classification":
                a = ours(test, pred_type="glm", link_approx="probit")
                b = theirs(test, pred_type="glm", link_approx="probit").detach()
                found["GLM probabilities (probit)"] = digits(a, b)
            else:
                a, b = ours(test, pred_type="glm"), theirs(test, pred_type="glm")
                found["GLM mean"] = digits(a[0], b[0].detach())
                found["GLM variance"] = digits(a[1][:, 0], b[1].detach().reshape(50))
            ours.optimize_prior_precision()
            found |= optimum(ours, theirs, likelihood)
            rows += [
                {"likelihood": likelihood, "structure": structure, "subset": subset, "quantity": name, "digits": value}
                for name, value in found.items()
            ]
    return rows


def optimum(ours, theirs, likelihood: str) -> dict:
    """Their evidence at our optimum, and how much higher a fine search with it gets."""
    import torch

    sigma = torch.tensor(ours.sigma_noise) if likelihood == "regression" else None
    best, delta = ours.log_marginal_likelihood(), ours.prior_precision

    def at(value: float) -> float:
        return float(theirs.log_marginal_likelihood(torch.tensor(float(value), dtype=torch.float64), sigma))

    around = max(at(delta * np.exp(step)) for step in np.linspace(-0.2, 0.2, 81))
    return {"evidence at the optimum": digits(best, at(delta)), "optimum (gain of a fine search)": around - at(delta)}


def against_the_command(command: str) -> list[dict]:
    """Processor seconds per draw from Python and from the command, each the best of three."""
    import warnings

    import riemla

    warnings.simplefilter("ignore")
    rows = []
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5))
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(int)
    for hidden in ([10], [40]):
        network = riemla.Network.mlp([5, *hidden, 2])
        network.train(x, y, prior_precision=1.0)
        la = riemla.Laplace(network, "classification", prior_precision=1.0).fit(x, y)
        with tempfile.TemporaryDirectory() as place:
            la.save(Path(place) / "posterior")
            for method, settings in (("riem-la", {"strength": 0.2}), ("lin-riem-la", {"strength": 0.2})):
                here, there = [], []
                for repeat in range(3):
                    begun = time.process_time()
                    la.sample(100, method=method, seed=repeat, **settings)
                    here.append(time.process_time() - begun)
                    arguments = ["sample", f"{place}/posterior", "--method", method, "--strength", "0.2", "--json"]
                    arguments += ["--seed", str(repeat), "--name", f"{method}-{repeat}"]
                    begun = children()
                    subprocess.run([command, *arguments], capture_output=True, text=True, check=True)
                    there.append(children() - begun)
                rows.append({"weights": network.dim, "method": method, "python": min(here) / 100, "command": min(there) / 100})
    return rows


def children() -> float:
    """Processor seconds of finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def overhead() -> list[dict]:
    """Microseconds per call of a function that costs next to nothing, and what it costs alone."""
    import warnings

    import jax
    import jax.numpy as jnp

    import riemla

    warnings.simplefilter("ignore")
    jax.config.update("jax_enable_x64", True)
    jitted = jax.jit(jax.value_and_grad(lambda t: 0.5 * jnp.sum(t * t)))

    def plain(theta):
        return 0.5 * theta @ theta, theta

    def compiled():
        import numba

        @numba.cfunc("float64(intp, CPointer(float64), CPointer(float64))")
        def function(n, theta, gradient):
            total = 0.0
            for i in range(n):
                gradient[i] = theta[i]
                total += 0.5 * theta[i] * theta[i]
            return total

        return function

    rows = []
    for name, function in (("NumPy", plain), ("jitted JAX", jitted), ("numba cfunc", compiled())):
        for dim in (10, 1000):
            theta = np.zeros(dim)
            alone = float("nan")
            if callable(function) and name != "numba cfunc":
                count = 2000
                begun = time.process_time()
                for _ in range(count):
                    float(function(theta)[0])
                alone = (time.process_time() - begun) / count
            posterior = riemla.from_function(function, theta, np.ones(dim))
            begun = time.process_time()
            draws = posterior.sample(300, seed=1, strength=0.1, n_threads=1)
            spent = time.process_time() - begun
            # Every value comes with its gradient here, so that values are all the calls.
            calls = draws.diagnostics["values"].sum() + 2 * len(draws)
            rows.append({"function": name, "dim": dim, "alone": 1e6 * alone, "inside": 1e6 * spent / calls})
    return rows


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def written(found: dict) -> str:
    """The page."""
    agreed = table(
        ["likelihood", "structure, subset", "quantity", "digits"],
        [
            [r["likelihood"], f"{r['structure']}, {r['subset']}", r["quantity"], f"{r['digits']:.1f}" if "gain" not in r["quantity"] else f"{r['digits']:.1e} nats"]
            for r in found["agreement"]
        ],
    )

    def cell(entry, key, form):
        if "failed" in entry:
            return entry["failed"] if key == "fit" else "–"
        return form.format(entry[key])

    sizes = table(
        ["weights", "structure, subset", "fit, s (riemla / laplace-torch)", "evidence, s", "100 predictions, s", "peak memory, MB"],
        [
            [f"{r['weights']}", f"{r['structure']}, {r['subset']}"]
            + [f"{cell(r['riemla'], k, f)} / {cell(r['laplace-torch'], k, f)}" for k, f in (("fit", "{:.3g}"), ("evidence", "{:.2g}"), ("predict", "{:.2g}"), ("memory", "{:.0f}"))]
            for r in found["sizes"]
        ],
    )
    draws = table(
        ["weights", "method", "Python, ms per draw", "command, ms per draw", "ratio"],
        [
            [str(r["weights"]), r["method"], f"{1e3 * r['python']:.3g}", f"{1e3 * r['command']:.3g}", f"{r['python'] / r['command']:.2f}"]
            for r in found["draws"]
        ],
    )
    calls = table(
        ["function", "parameters", "alone, µs", "per evaluation inside a geodesic, µs"],
        [[r["function"], str(r["dim"]), "" if np.isnan(r["alone"]) else f"{r['alone']:.1f}", f"{r['inside']:.1f}"] for r in found["overhead"]],
    )
    return f"""# riemla for Python: agreement, time and memory

Written by `python python/benchmarks/compare.py` on {found['machine']}. {found['versions']}. Numbers of the same measurements:
[python.csv](python.csv).

## Agreement with laplace-torch

The same weights in both, float64, networks of 3 → 8 → outputs with 80 rows. Digits are those of the largest difference relative to
the largest entry; 16 is rounding. The optimum is ours; a search with their evidence around it gains what the line says.
Kronecker factors are not compared: theirs have a block for weights and one for biases of a layer, ours has one for both.

{agreed}

## Time and memory

{ROWS} rows of {INPUTS} inputs, {CLASSES} classes, tanh networks, float64 in both, GGN. Seconds of the processor, all threads
together. Each line is one process per tool; peak memory is what the fit, the evidence and the predictions added. A process that
takes more than {LIMIT} seconds of the clock is given up. laplace-torch runs with its default backend.

{sizes}

{found['remarks']}

## Draws from Python and from the command

100 draws at a given strength, processor time, the best of three runs, both with the same build. The command also starts, reads the
posterior and writes every draw to the disk.

{draws}

## Calls of functions

A function that costs next to nothing, ½θ·θ: what it costs called from Python, and what an evaluation costs inside a
geodesic on one thread (with the arithmetic of the geodesic).

{calls}
"""


REMARKS = """riemla takes all eigenvalues of a full curvature, so that the evidence of any prior and the optimum cost nothing afterwards;
laplace-torch takes a factorisation per evaluation of the evidence.

Where riemla is behind: the last layer of the largest networks, in memory, and with Kronecker factors in time. Its fit takes the gradient
of all weights once, to say how far they are from a minimum, and keeps its own copy of the network; laplace-torch looks at
the last layer alone."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--measure", nargs=4)
    parser.add_argument("--command", default=str(ROOT / "target" / "release" / "riemla"))
    parser.add_argument("--only", default="agreement,sizes,draws,overhead", help="others are kept; '' writes the page again")
    parser.add_argument("--build", default="release build")
    parser.add_argument("--weights", type=int, nargs="*", default=list(HIDDEN), help="of the table of time and memory")
    parser.add_argument("--cases", nargs="*", default=[",".join(case) for case in CASES], help="the same")
    arguments = parser.parse_args()
    if arguments.measure:
        tool, weights, structure, subset = arguments.measure
        return measure(tool, int(weights), structure, subset)
    import torch

    import riemla

    chosen = [(weights, *case.split(",")) for weights in arguments.weights for case in arguments.cases]
    found = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    parts = {
        "agreement": agreement,
        "draws": lambda: against_the_command(arguments.command),
        "overhead": overhead,
        "sizes": lambda: [
            {"weights": weights, "structure": structure, "subset": subset}
            | {tool: measured(tool, weights, structure, subset) for tool in ("riemla", "laplace-torch")}
            for weights, structure, subset in chosen
        ],
    }
    for name in filter(None, arguments.only.split(",")):
        rows = parts[name]()
        if name == "sizes":
            # Some measured again replace those alone.
            key = lambda row: (row["weights"], CASES.index((row["structure"], row["subset"])))  # noqa: E731
            new = {key(row) for row in rows}
            rows = sorted(rows + [row for row in found.get("sizes", []) if key(row) not in new], key=key)
        found[name] = rows
        KEPT.write_text(json.dumps(found, indent=1) + "\n")
        print(name, "measured", flush=True)
    for name in parts:
        found.setdefault(name, [])
    found["machine"] = f"{platform.machine()} with {os.cpu_count()} cores"
    versions = {"riemla": riemla.__version__, "laplace-torch": "", "torch": torch.__version__, "numpy": np.__version__}
    from importlib.metadata import version

    versions["laplace-torch"] = version("laplace-torch")
    found["versions"] = ", ".join(f"{name} {number}" for name, number in versions.items()) + f"; {arguments.build}"
    found["remarks"] = REMARKS
    results = ROOT / "docs" / "results"
    (results / "python.md").write_text(written(found))
    with open(results / "python.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["table", "case", "quantity", "value"])
        for row in found["agreement"]:
            writer.writerow(["agreement", f"{row['likelihood']} {row['structure']} {row['subset']}", row["quantity"], row["digits"]])
        for row in found["sizes"]:
            for tool in ("riemla", "laplace-torch"):
                for name, value in row[tool].items():
                    writer.writerow(["sizes", f"{row['weights']} {row['structure']} {row['subset']}", f"{tool} {name}", value])
        for row in found["draws"]:
            for name in ("python", "command"):
                writer.writerow(["draws", f"{row['weights']} {row['method']}", f"{name} seconds per draw", row[name]])
        for row in found["overhead"]:
            for name in ("alone", "inside"):
                writer.writerow(["calls", f"{row['function']} {row['dim']}", f"{name} microseconds", row[name]])


if __name__ == "__main__":
    main()
