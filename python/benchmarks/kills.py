"""Kills processes that share draws at random moments and looks at what is left; writes a section of docs/reliability.md.

Run: python python/benchmarks/kills.py --kills 60 --write [--command target/debug/riemla]. A short run is part of the tests.

Shards of the command, the command that merges them, parents of a spawn pool and its workers, and workers of Dask are ended
with SIGKILL. After every kill the logs are read: draws that were there before are there still, and none is there twice.
At the end the draws are completed and compared, bit by bit, with those of one thread that nobody killed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import riemla

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"
MARK = "<!-- kills: written by python/benchmarks/kills.py -->\n"
# Draws that are compared at the end; processes are asked for more than they can take before they are killed.
COMPARED, ENDLESS = 150, 100_000
SEED = 5
KINDS = ("shard", "merge", "parent", "worker", "dask")
NAMES = {
    "shard": "shards of the command (`--shard`)",
    "merge": "the command while it merges and draws",
    "parent": "parents of a spawn pool (`executor=`, `store=`)",
    "worker": "workers of a spawn pool",
    "dask": "workers of a Dask cluster, which starts others",
}


def slow_banana(theta):
    time.sleep(0.0003)
    x, y = theta
    d = y - x * x
    return 0.5 * x * x + 8 * d * d, np.array([x - 32 * x * d, 16 * d])


def posterior():
    return riemla.from_function(slow_banana, np.zeros(2), n_threads=1)


def in_pool(engine: str, store: str) -> None:
    """What the parent of a pool does until it is killed or its workers are."""
    if engine == "dask":
        import dask
        from distributed import Client, LocalCluster

        dask.config.set({"temporary-directory": str(Path(store).parent), "distributed.scheduler.allowed-failures": 100})
        with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
            print(json.dumps(pids), flush=True)
            posterior().sample(ENDLESS, seed=SEED, strength=1.0, executor=client.get_executor(), store=store, seconds=4.0)
            print("ended", flush=True)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(abs, range(4)))
        print(json.dumps(list(pool._processes)), flush=True)
        try:
            posterior().sample(ENDLESS, seed=SEED, strength=1.0, executor=pool, store=store)
        except riemla.WorkersLost as error:
            print(f"lost: {error}", flush=True)


def indices(log: Path) -> list[int]:
    """Numbers of the complete draws of a log, as docs/formats.md describes it."""
    data = log.read_bytes()
    if len(data) < 16:
        return []
    at = 16 + struct.unpack_from("<I", data, 8)[0]
    found = []
    while at + 16 <= len(data):
        assert data[at : at + 8] == b"\xd7draw\xe2\x0d\x0a", f"{log} is damaged at {at}"
        (size,) = struct.unpack_from("<I", data, at + 8)
        if at + 16 + size > len(data):
            break
        (length,) = struct.unpack_from("<I", data, at + 16)
        found.append(json.loads(data[at + 20 : at + 20 + length])["index"])
        at += 16 + size
    return found


class Kept:
    """The draws of a set, looked at after every kill."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.known = directory, set()

    def look(self) -> int:
        """How many draws are new; fails if one is lost or there twice in a log."""
        now = set()
        for log in sorted(self.directory.glob("draws*.log")):
            found = Counter(indices(log))
            assert not (twice := [index for index, count in found.items() if count > 1]), (log, twice)
            now |= set(found)
        finished = self.directory / "samples.jsonl"
        if finished.exists():
            now |= {json.loads(line)["index"] for line in finished.read_text().splitlines()}
        assert not (lost := self.known - now), f"{self.directory} lost the draws {sorted(lost)}"
        new, self.known = len(now) - len(self.known), now
        return new


class Trial:
    """All that is killed, in one directory."""

    def __init__(self, place: Path, command: str, seed: int) -> None:
        self.place, self.command, self.random = place, command, random.Random(seed)
        rng = np.random.default_rng(1)
        x = rng.normal(size=(200, 2))
        y = (x[:, 0] * x[:, 1] > 0).astype(int)
        network = riemla.Network.mlp([2, 16, 2], "tanh")
        network.train(x, y, prior_precision=0.3)
        self.la = riemla.Laplace(network, "classification", n_threads=1).fit(x, y)
        self.la.save(place / "posterior")
        self.shards = Kept(place / "posterior" / "samples" / "riem-la")
        self.pool = Kept(place / "pool")
        self.kills: Counter[str] = Counter()
        self.new: Counter[str] = Counter()

    def arguments(self, count: int, *more: str) -> list[str]:
        base = [self.command, "sample", str(self.place / "posterior"), "--samples", str(count), "--seed", str(SEED)]
        return [*base, "--strength", "1", "--threads", "1", "-q", *more]

    def pause(self, most: float) -> None:
        time.sleep(self.random.uniform(0.0, most))

    def kill_command(self, kind: str) -> None:
        of = self.random.choice([2, 3, 4])
        more = ("--shard", f"{self.random.randint(1, of)}/{of}") if kind == "shard" else ()
        child = subprocess.Popen(self.arguments(ENDLESS, *more), stdout=subprocess.DEVNULL)
        self.pause(0.6)
        child.kill()
        child.wait()
        self.count(kind, self.shards)

    def kill_in_pool(self, kind: str) -> None:
        engine = "dask" if kind == "dask" else "spawn"
        child = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--in-pool", engine, str(self.pool.directory)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            workers = json.loads(child.stdout.readline())
            self.pause(1.5)
            if kind == "parent":
                child.kill()
            else:
                os.kill(self.random.choice(workers), signal.SIGKILL)
                output = child.communicate(timeout=120)[0]
                said = "ended" if kind == "dask" else rf"lost: .*Broken.*\d+ of {ENDLESS} draws are kept; call again"
                assert re.search(said, output), output
        finally:
            # Workers that outlive their parent.
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()
        self.count(kind, self.pool)

    def count(self, kind: str, kept: Kept) -> None:
        self.kills[kind] += 1
        self.new[kind] += kept.look()

    def run(self, kills: int, kinds: tuple[str, ...] = KINDS) -> None:
        for number in range(kills):
            kind = kinds[number % len(kinds)]
            (self.kill_command if kind in ("shard", "merge") else self.kill_in_pool)(kind)
        self.finish(kinds)

    def finish(self, kinds: tuple[str, ...]) -> None:
        """Completes both sets, and compares them with draws of one thread."""
        if {"shard", "merge"} & set(kinds):
            subprocess.run(self.arguments(COMPARED), check=True, stdout=subprocess.DEVNULL)
            self.shards.look()
            same(self.la.draws(self.place / "posterior"), self.la.sample(COMPARED, seed=SEED, strength=1.0))
        if {"parent", "worker", "dask"} & set(kinds):
            found = posterior().sample(COMPARED, seed=SEED, strength=1.0, store=self.pool.directory)
            self.pool.look()
            same(found, posterior().sample(COMPARED, seed=SEED, strength=1.0))


def same(found, expected) -> None:
    first = found.index < COMPARED
    assert np.array_equal(found.index[first], expected.index), "not the same draws"
    assert np.array_equal(found.theta[first], expected.theta), "not the same bits"


def section(trial: Trial, seed: int) -> str:
    lines = [
        MARK,
        "## Kills\n",
        f"Written by `python python/benchmarks/kills.py --kills {sum(trial.kills.values())} --seed {seed} --write`; do not edit.\n",
        "Processes that share draws were killed with SIGKILL at random moments, one after the other in the same two",
        "directories. After every kill the logs were read. The run fails if a draw is lost, if a draw is there twice, or if",
        f"a log is damaged. At the end the first {COMPARED} draws were completed and compared, bit by bit, with the draws of one",
        "thread that was not killed. A short run is part of the tests.\n",
        "| what was killed | kills | draws kept from these runs | lost | twice |",
        "|---|---:|---:|---:|---:|",
    ]
    for kind in KINDS:
        if trial.kills[kind]:
            lines.append(f"| {NAMES[kind]} | {trial.kills[kind]} | {trial.new[kind]} | 0 | 0 |")
    lines.append(f"| all | {sum(trial.kills.values())} | {sum(trial.new.values())} | 0 | 0 |")
    lines.append("\nThe completed draws have the same bits as those of one thread.")
    return "\n".join(lines) + "\n"


def write(text: str) -> None:
    page = PAGE.read_text()
    head = page.split(MARK)[0].rstrip("\n")
    PAGE.write_text(f"{head}\n\n{text}")


def main() -> None:
    if sys.argv[1:2] == ["--in-pool"]:
        return in_pool(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default=str(ROOT / "target" / "debug" / "riemla"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Path(place), given.command, given.seed)
        trial.run(given.kills)
    text = section(trial, given.seed)
    print(text)
    if given.write:
        write(text)


if __name__ == "__main__":
    main()
