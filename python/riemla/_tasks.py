"""What is asked of a worker of an executor, and how it answers.

A worker keeps the posteriors that it has loaded, by their checksum.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


def home() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


@dataclass
class Task:
    """What a worker is asked for."""

    checksum: str
    path: str
    payload: bytes | None
    config: str
    seed: int
    indices: list[int]
    threads: int
    home: tuple[str, int]
    # Engines that remember results by their arguments shall not answer with a failure of before.
    attempt: int = 0


@dataclass
class Answer:
    """What comes back: draws; or an exception; or nothing, because the posterior could not be read."""

    records: list[tuple[int, bytes]] = field(default_factory=list)
    failed: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0
    needs_posterior: bool = False
    exception: bytes | None = None
    trace: str = ""


def pack(make: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """A recipe for a posterior, for other processes."""
    try:
        import cloudpickle as pickler
    except ImportError:
        pickler = pickle
    try:
        packed: bytes = pickler.dumps((make, arguments))
        return packed
    except Exception as error:
        remedy = "define the function at the top level of a module" + (
            ", or pip install cloudpickle" if pickler is pickle else ""
        )
        raise TypeError(f"the posterior cannot be sent to other processes: {error}; {remedy}") from error


class _Latest:
    """The last few things by a name; making one takes long."""

    def __init__(self, limit: int) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._known: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            self._known.move_to_end(key)
            while len(self._known) > self._limit:
                self._known.popitem(last=False)
            return self._known[key]

    def forget(self, key: Any) -> None:
        with self._lock:
            self._known.pop(key, None)


_POSTERIORS = _Latest(2)
_DRAWERS = _Latest(2)


class _NotThere(Exception):
    """The posterior is neither known here nor in the file nor in the task."""


def work(task: Task) -> Answer:
    """Takes the draws of a task."""
    key = (task.checksum, task.config)
    try:
        drawer = _DRAWERS.get(key, lambda: _POSTERIORS.get(task.checksum, lambda: _load(task)).drawer(task.config))
        begun = time.monotonic()
        records, failed = drawer.take(task.seed, task.indices, task.threads)
        return Answer(records, failed, time.monotonic() - begun)
    except _NotThere:
        return Answer(needs_posterior=True)
    except Exception as error:
        # A function that failed once stays so.
        _DRAWERS.forget(key)
        return Answer(exception=_packed(error), trace=traceback.format_exc())


def _load(task: Task) -> Any:
    payload = task.payload
    if payload is None:
        try:
            with open(task.path, "rb") as file:
                payload = file.read()
        except OSError as error:
            raise _NotThere from error
    if hashlib.sha256(payload).hexdigest() != task.checksum:
        raise _NotThere
    make, arguments = pickle.loads(payload)
    posterior = make(*arguments)
    if task.home != home():
        _limit_threads(task.threads)
    return posterior


def _limit_threads(count: int) -> None:
    """Libraries that a function of the user calls have threads of their own."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return
    threadpool_limits(count)


def _packed(error: Exception) -> bytes:
    """An exception for the parent; in words if it does not come back as itself."""
    try:
        packed = pickle.dumps(error)
        pickle.loads(packed)
        return packed
    except Exception:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
