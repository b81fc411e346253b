"""Draws by the workers of an executor.

An executor is anything with ``submit``: pools of ``concurrent.futures``, ``mpi4py.futures``, Dask, loky. Safety does not
rest on it: a draw depends on the seed and its number alone, so whatever is lost is asked for again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import queue
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ._tasks import Answer, Task, home, work
from .exceptions import WorkersLost

# What is lost is submitted again so many times.
_RETRIES = 2
# Tasks per worker that are handed out: one is worked on, one is waiting.
_AHEAD = 2
# A task shall take about so many seconds...
_TASK_SECONDS = 1.0
# ... and be no more than this share of what is left for each worker, so that all end at about the same time...
_SHARE = 4
# ... and its answer no larger than this.
_TASK_BYTES = 16 << 20
# How long the dispatcher waits before it lets the library look for Ctrl-C.
_SLICE = 0.1
# Ctrl-C in a terminal reaches the workers too, and may break a pool before it is noticed here.
_GRACE = 0.5


def chunk_size(left: int, workers: int, dim: int, seconds: float | None) -> int:
    """Draws of the next task: one while nothing is known about their cost, and toward the end."""
    if seconds is None:
        return 1
    share = left // (_SHARE * workers)
    affordable = int(_TASK_SECONDS / max(seconds, 1e-9))
    return max(1, min(share, affordable, _TASK_BYTES // (8 * dim)))


def workers_of(executor: Any) -> int:
    """How many workers an executor has, as far as it can be found out."""
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "nthreads"):
        return max(1, sum(int(count) for count in client.nthreads().values()))
    for name in ("num_workers", "_max_workers", "max_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return os.cpu_count() or 1


@dataclass
class _Chunk:
    indices: list[int]
    attempt: int = 0
    ships: bool = False


class WorkerTraceback(Exception):
    """Where an exception was raised in a worker; the cause of the exception itself."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Dispatcher:
    """Hands out the draws that a run misses.

    ``kept`` has the records that came back in a run without a directory, so that a run after a lost executor begins with
    them.
    """

    def __init__(
        self, executor: Any, payload: bytes, asked: int, seed: int, threads: int, kept: dict[Any, Any] | None
    ) -> None:
        self.executor, self.payload, self.asked, self.seed, self.threads = executor, payload, asked, seed, threads
        self.checksum = hashlib.sha256(payload).hexdigest()
        self.kept = kept

    def __call__(self, config: str, indices: list[int]) -> Iterator[tuple[list[bytes], list[str]]]:
        """Lists of records and of failures as they arrive, empty ones from time to time."""
        kept: dict[int, bytes] = {}
        if self.kept is not None:
            key = (self.checksum, config, self.seed)
            if key not in self.kept:
                self.kept.clear()
            kept = self.kept.setdefault(key, {})
        known = [kept[index] for index in indices if index in kept]
        if known:
            yield known, []
        missing = [index for index in indices if index not in kept]
        if missing:
            with tempfile.NamedTemporaryFile(prefix="riemla-", suffix=".posterior") as place:
                place.write(self.payload)
                place.flush()
                for answer in _Round(self, config, missing, place.name).answers():
                    if self.kept is not None:
                        kept.update(answer.records)
                    yield [record for _, record in answer.records], [text for _, text in answer.failed]
        if self.kept is not None:
            self.kept.clear()


class _Round:
    """Draws handed out, until all are back or lost."""

    def __init__(self, dispatcher: Dispatcher, config: str, missing: list[int], path: str) -> None:
        self.dispatcher, self.config, self.missing, self.path = dispatcher, config, missing, path
        self.workers = workers_of(dispatcher.executor)
        self.position, self.tasks = 0, 0
        self.pending: dict[Any, _Chunk] = {}
        self.again: list[_Chunk] = []
        self.finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.lost = 0
        self.broken = False
        self.trouble: BaseException | None = None
        self.drawn, self.spent, self.dim = 0, 0.0, 1

    def answers(self) -> Iterator[Answer]:
        try:
            self._hand_out()
            while self.pending:
                try:
                    future = self.finished.get(timeout=_SLICE)
                except queue.Empty:
                    yield Answer()
                else:
                    yield self._received(future)
                    self._hand_out()
            left = self.lost + sum(len(chunk.indices) for chunk in self.again) + len(self.missing) - self.position
            if left:
                begun = time.monotonic()
                while time.monotonic() < begun + _GRACE:
                    time.sleep(_SLICE)
                    yield Answer()
                asked = self.dispatcher.asked
                raise WorkersLost(_lost(self.trouble, asked - left, asked)) from self.trouble
        finally:
            for future in self.pending:
                future.cancel()

    def _hand_out(self) -> None:
        while not self.broken and len(self.pending) < _AHEAD * self.workers:
            chunk = self._next()
            if chunk is None:
                return
            try:
                self._submit(chunk)
            except Exception as error:  # whatever engines say when they are broken or closed
                self.again.append(chunk)
                self.broken, self.trouble = True, error

    def _next(self) -> _Chunk | None:
        if self.again:
            return self.again.pop()
        left = len(self.missing) - self.position
        if left == 0:
            return None
        mean = self.spent / self.drawn if self.drawn else None
        size = chunk_size(left, self.workers, self.dim, mean)
        self.position += size
        return _Chunk(self.missing[self.position - size : self.position])

    def _submit(self, chunk: _Chunk) -> None:
        by = self.dispatcher
        payload = by.payload if chunk.ships else None
        self.tasks += 1
        task = Task(
            by.checksum, self.path, payload, self.config, by.seed, chunk.indices, by.threads, home(), self.tasks
        )
        future = by.executor.submit(work, task)
        self.pending[future] = chunk
        future.add_done_callback(self.finished.put)

    def _received(self, future: Any) -> Answer:
        """What a task brought; what it did not bring is handed out again, twice."""
        chunk = self.pending.pop(future)
        try:
            answer: Answer = future.result()
        except BaseException as error:  # also of a task that was cancelled, or interrupted in its worker
            answer, self.trouble = Answer(), error
        if answer.exception is not None:
            raise pickle.loads(answer.exception) from WorkerTraceback(answer.trace)
        if answer.needs_posterior and not chunk.ships:
            self.again.append(_Chunk(chunk.indices, chunk.attempt, ships=True))
            return answer
        here = {index for index, _ in answer.records} | {index for index, _ in answer.failed}
        self.drawn, self.spent = self.drawn + len(here), self.spent + answer.seconds
        self.dim = max([self.dim, *(len(record) // 8 for _, record in answer.records)])
        rest = [index for index in chunk.indices if index not in here]
        if rest and chunk.attempt < _RETRIES:
            self.again.append(_Chunk(rest, chunk.attempt + 1, chunk.ships))
        else:
            self.lost += len(rest)
        return answer


def _lost(trouble: BaseException | None, kept: int, asked: int) -> str:
    why = "workers answered with nothing" if trouble is None else f"{type(trouble).__name__}: {trouble}"
    words = [f"the executor lost its workers ({why.strip()})"]
    name = type(trouble).__name__
    if "Broken" in name or "Terminated" in name:
        words.append(
            "a worker ended without a word: killed, out of memory, or the script lacks `if __name__ == \"__main__\":`; "
            "such a pool takes no more work, so make a new one"
        )
    words.append(f"{kept} of {asked} draws are kept; call again with the same arguments to take the rest")
    return "; ".join(words)
