"""What is asked of a sampling, in one list for all kinds of posteriors."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._progress import Watcher, watcher
from ._settings import positive, whole
from ._workers import Dispatcher

# Of nuts: refused beyond.
MAX_WEIGHTS = 2000


@dataclass
class Request:
    """Read by the extension module, attribute by attribute."""

    config: str
    samples: int
    seed: int
    threads: int | None
    seconds: float | None = None
    store: str | None = None
    name: str | None = None
    most_weights: int = MAX_WEIGHTS
    watcher: Watcher | None = None
    elsewhere: Dispatcher | None = None


class Sampling:
    """Samplings of one posterior; remembers what a lost executor left in memory."""

    def __init__(self) -> None:
        self._kept: dict[Any, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Sampling, ()

    def __call__(
        self,
        core: Any,
        config: str,
        n_samples: Any,
        seed: Any,
        *,
        threads: int | None,
        pack: Callable[[], bytes],
        executor: Any = None,
        threads_per_worker: Any = 1,
        seconds: Any = None,
        store: str | os.PathLike[str] | None = None,
        name: str | None = None,
        max_weights: Any = MAX_WEIGHTS,
        progress: bool | Watcher | None = None,
    ) -> dict[str, Any]:
        """Checks the arguments of a user and samples."""
        request = Request(
            config,
            whole("n_samples", n_samples, 1, 1_000_000),
            whole("seed", seed),
            threads,
            None if seconds is None else positive("seconds", seconds),
            None if store is None else os.fspath(store),
            name,
            whole("max_weights", max_weights),
        )
        per_worker = whole("threads_per_worker", threads_per_worker, 1)
        if executor is not None:
            if not callable(getattr(executor, "submit", None)):
                raise TypeError(
                    f"executor must have a method submit, as pools of concurrent.futures have, not {type(executor).__name__}"
                    "; of a Dask client take client.get_executor()"
                )
            # With a directory the draws are kept there.
            kept = self._kept if store is None else None
            request.elsewhere = Dispatcher(executor, pack(), request.samples, request.seed, per_worker, kept)
        with watcher(progress) as request.watcher:
            found: dict[str, Any] = core.sample(request)
        return found
