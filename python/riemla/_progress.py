"""Progress bars for long calls: in a terminal, in a notebook, or not at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._optional import require

Watcher = Callable[[str, str, int], None]
# Bars of calls that are over sooner are never seen.
_DELAY = 0.5


class _Bars:
    """Turns events of the library into bars of tqdm."""

    def __init__(self, tqdm: Any) -> None:
        self.tqdm = tqdm
        self.bar: Any = None

    def __call__(self, event: str, text: str, number: int) -> None:
        if event == "begin":
            self.close()
            self.bar = self.tqdm(total=number or None, desc=text, delay=_DELAY, leave=False, dynamic_ncols=True)
        elif event == "step" and self.bar is not None:
            self.bar.update(number)
        elif event == "estimate" and self.bar is not None:
            self.bar.set_postfix_str(text)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = None


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None and "ipykernel" in sys.modules


@contextmanager
def watcher(progress: bool | Watcher | None) -> Iterator[Watcher | None]:
    """What a long call reports to.

    ``None`` shows bars where somebody is watching and tqdm is installed, ``True`` always, ``False`` never. A
    function is called with (event, text, number).
    """
    if progress is False:
        yield None
        return
    if callable(progress):
        yield progress
        return
    watched = sys.stderr is not None and sys.stderr.isatty() or _in_notebook()
    if progress is None and not watched:
        yield None
        return
    try:
        tqdm = require("tqdm.auto", "progress", "progress=True").tqdm
    except ImportError:
        if progress:
            raise
        yield None
        return
    bars = _Bars(tqdm)
    try:
        yield bars
    finally:
        bars.close()
