"""Writes docs/results/cluster.md and .csv: what draws cost on several workers, measured here and computed for 100.

Run: python python/benchmarks/cluster.py [--command target/release/riemla] (needs dask; the machine to itself).
"""

from __future__ import annotations

import argparse
import csv
import heapq
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import riemla
from riemla import _core, _tasks, _workers

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
SEED, STRENGTH = 3, 1.0
HIDDEN, ROWS = 32, 400


def fitted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 4))
    y = (x[:, 0] * x[:, 1] + 0.3 * rng.normal(size=ROWS) > 0).astype(int)
    network = riemla.Network.mlp([4, HIDDEN, 2], "tanh")
    network.train(x, y, prior_precision=1.0)
    return riemla.Laplace(network, "classification", n_threads=1).fit(x, y)


def seconds(call) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def shards(command: str, place: Path, count: int, of: int) -> float:
    """Wall-clock time of as many processes, and of the command that merges their draws."""
    base = [command, "sample", str(place), "--samples", str(count), "--seed", str(SEED), "--strength", str(STRENGTH), "-q"]

    def run():
        parts = [
            subprocess.Popen([*base, "--threads", "1", "--shard", f"{k}/{of}"], stdout=subprocess.DEVNULL)
            for k in range(1, of + 1)
        ]
        assert [part.wait() for part in parts] == [0] * of
        subprocess.run([*base, "--threads", "1"], check=True, stdout=subprocess.DEVNULL)

    return seconds(run)


def measured(la, command: str, count: int) -> list[dict]:
    rows = []

    def add(engine: str, workers: int, time_taken: float) -> None:
        rows.append({"engine": engine, "workers": workers, "seconds": time_taken})

    sample = lambda **more: la.sample(count, seed=SEED, strength=STRENGTH, **more)  # noqa: E731
    sample()
    add("threads of one process", 1, seconds(sample))
    la._n_threads = 2
    add("threads of one process", 2, seconds(sample))
    la._n_threads = 1
    for workers in (1, 2):
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            # Processes that run, as in a pool that has been used; they import riemla with their first task.
            list(pool.map(abs, range(4 * workers)))
            add("spawn pool", workers, seconds(lambda: sample(executor=pool)))
    from distributed import Client, LocalCluster

    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        add("Dask, local cluster", 2, seconds(lambda: sample(executor=client.get_executor())))
    for of in (1, 2):
        with tempfile.TemporaryDirectory() as place:
            la.save(Path(place) / "posterior")
            add("shards of the command, and the merge", of, shards(command, Path(place) / "posterior", count, of))
    one = rows[0]["seconds"]
    for row in rows:
        row["efficiency"] = one / row["workers"] / row["seconds"]
    return rows


def dynamic(costs: np.ndarray, workers: int, dim: int) -> float:
    """When the last worker of an executor ends: tasks are cut as `_workers` cuts them."""
    free = [0.0] * workers
    position, done, spent = 0, 0, 0.0
    while position < len(costs):
        # What is known when a task is handed out: one task per worker is under way, one is waiting.
        known = spent / done if position >= 2 * workers else None
        size = _workers.chunk_size(len(costs) - position, workers, dim, known)
        part = costs[position : position + size]
        position += size
        done, spent = done + size, spent + part.sum()
        heapq.heappush(free, heapq.heappop(free) + part.sum())
    return max(free)


def static(costs: np.ndarray, workers: int) -> float:
    """When the last shard ends: shard k takes the draws k, k + N, …"""
    return max(costs[k::workers].sum() for k in range(workers))


def on_paper(la, per_draw: float, search: float, workers: int) -> list[dict]:
    """From the gradients that the draws took here."""
    draws = la.sample(1000, seed=SEED, strength=STRENGTH)
    gradients = draws.diagnostics["gradients"]
    rng = np.random.default_rng(1)
    rows = []
    for scale in (1.0, 100.0):
        for count in (1000, 10000):
            costs = rng.choice(gradients, count) * (scale * per_draw / gradients.mean())
            ideal = costs.sum() / workers
            for name, time_taken in (
                ("executor", dynamic(costs, workers, la.n_params)),
                ("shards", static(costs, workers)),
            ):
                rows.append(
                    {
                        "way": name,
                        "seconds per draw": scale * per_draw,
                        "draws": count,
                        "ideal": ideal,
                        "seconds": time_taken,
                        "efficiency": ideal / time_taken,
                        "search": scale * search,
                        "with the search": ideal / (time_taken + scale * search),
                    }
                )
    return rows


def page(found: dict) -> str:
    lines = [
        "# What draws cost on several workers\n",
        f"Written by `python python/benchmarks/cluster.py`; do not edit. {found['machine']}.\n",
        f"{found['draws']} draws of `riem-la` at a fixed strength, a network of {found['weights']} weights on {ROWS} rows, "
        f"{found['per_draw'] * 1e3:.1f} ms per draw. Seconds of the clock; efficiency is the time of one thread over workers × time. "
        "The time of an executor includes sending the posterior and importing riemla in new processes, that of shards "
        "starting the command and merging the logs.\n",
        "| engine | workers | seconds | efficiency |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {row['engine']} | {row['workers']} | {row['seconds']:.2f} | {100 * row['efficiency']:.0f} % |"
        for row in found["measured"]
    ]
    lines += [
        "\n## On paper: 100 workers\n",
        f"Computed from costs drawn from the gradients of 1000 draws (from {found['least']} to {found['most']}, mean {found['mean']:.0f}: the "
        "longest draw takes "
        f"{found['most'] / found['mean']:.1f} times the mean), with tasks cut as `executor=` cuts them, for draws as fast as "
        "here and 100 times slower. The search for the strength is the serial part: it took "
        f"{found['search']:.1f} s here on one thread ({found['search'] / found['per_draw']:.0f} draws' time), and uses the "
        "cores of one machine. Latency of the network is not counted.\n",
        "| way | seconds per draw | draws | seconds, if divided evenly | seconds | efficiency | with the search |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['way']} | {row['seconds per draw']:.3g} | {row['draws']} | {row['ideal']:.3g} | {row['seconds']:.3g} | "
        f"{100 * row['efficiency']:.0f} % | {100 * row['with the search']:.0f} % |"
        for row in found["paper"]
    ]
    lines += [
        "\nBytes: the posterior of this network takes "
        f"{found['payload'] / 1e3:.0f} kB, once per worker that does not see the file of the parent (100 workers: "
        f"{found['payload'] / 1e4:.1f} MB); a draw comes back in {found['record']} bytes, 8 per weight and "
        f"{found['record'] - 8 * found['weights']} about it."
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default=str(ROOT / "target" / "release" / "riemla"))
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--build", default="release build")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    la = fitted()
    rows = measured(la, given.command, given.draws)
    per_draw = rows[0]["seconds"] / given.draws
    search = seconds(lambda: la.sample(1, seed=SEED)) - seconds(lambda: la.sample(1, seed=SEED, strength=STRENGTH))
    gradients = la.sample(1000, seed=SEED, strength=STRENGTH).diagnostics["gradients"]
    records, _ = la._fitted.drawer(config(la)).take(SEED, [0], 1)
    found = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, riemla {riemla.__version__}, {given.build}",
        "draws": given.draws,
        "weights": la.n_params,
        "per_draw": per_draw,
        "measured": rows,
        "paper": on_paper(la, per_draw, search, 100),
        "search": search,
        "least": int(gradients.min()),
        "most": int(gradients.max()),
        "mean": float(gradients.mean()),
        "payload": len(_tasks.pack(_core.Fitted.from_files, (la._fitted.to_files(),))),
        "record": len(records[0][1]),
    }
    (RESULTS / "cluster.md").write_text(page(found))
    with open(RESULTS / "cluster.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["engine", "workers", "seconds", "efficiency"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(page(found))


def config(la) -> str:
    from riemla._settings import run_config

    return run_config("riem-la", strength=STRENGTH)


if __name__ == "__main__":
    sys.exit(main())
