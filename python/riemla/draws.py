"""Draws from a posterior."""

from __future__ import annotations

import html
import json
import math
import warnings as _warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ._arrays import Floats
from .exceptions import RiemlaWarning

__all__ = ["Draws"]

Shapes = Mapping[str, "tuple[int, ...]"]


class Draws:
    """Draws of the weights with what is known about each.

    Made by ``sample``; not by hand.

    Attributes
    ----------
    theta : ndarray of shape (S, K)
        The weights, one draw per row, in the order of the parameters.
    index : ndarray of shape (S,)
        Number of each draw: draw ``i`` of a seed is the same whenever it is taken.
    diagnostics : dict of ndarray
        What happened to each draw; for geodesics ``status``, ``gradients``, ``speed_drift``, ``loss_end``, …
    summary : dict
        Numbers about all draws: ``virial_ratio`` (1 for exact draws), ``strength``, ``loss_rise``, …
    warnings : list of str
        What one should know before trusting the draws, and what to do about it.
    method, seed, config
        How they were made.
    stopped : bool
        Whether Ctrl-C ended the run before all draws were taken.

    Examples
    --------
    >>> import numpy as np, riemla
    >>> posterior = riemla.from_function(lambda t: (0.5 * t @ t, t), np.zeros(3), np.eye(3),
    ...                                  parameters={"a": (), "b": (2,)})
    >>> draws = posterior.sample(30, seed=1)
    >>> draws.theta.shape, draws["b"].shape
    ((30, 3), (30, 2))
    """

    def __init__(
        self,
        found: Mapping[str, Any],
        parameters: Shapes,
        *,
        base: Callable[[], dict[str, Any]] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.theta: Floats = found["theta"]
        self.index = np.asarray(found["index"], dtype=np.int64)
        self.diagnostics = {name: np.asarray(column) for name, column in found["diagnostics"].items()}
        self.summary: dict[str, Any] = json.loads(found.get("summary", "{}"))
        self.warnings: list[str] = list(found.get("warnings", ()))
        self.config: dict[str, Any] = json.loads(found["config"])
        self.method: str = self.config["method"]
        self.seed: int = found["seed"]
        self.asked: int = found["asked"]
        self.stopped: bool = found.get("stopped", False)
        self.out_of_time: bool = found.get("out_of_time", False)
        self.seconds: float = found.get("seconds", math.nan)
        self.parameters: dict[str, tuple[int, ...]] = {name: tuple(shape) for name, shape in parameters.items()}
        self._base = base
        # Names in the caller's model, where they differ.
        self._names = dict(names or {})
        if (self.stopped or self.out_of_time) and len(self) < self.asked:
            why = "interrupted" if self.stopped else "the time was over"
            self.warnings.insert(0, f"{why}: {len(self)} of {self.asked} draws were finished and are kept")

    @property
    def is_linearized(self) -> bool:
        """Whether predictions with these draws use the network linearised at the trained weights."""
        return self.method.startswith("lin-")

    def __len__(self) -> int:
        return len(self.theta)

    def keys(self) -> Iterator[str]:
        """Names of the parameters."""
        return iter(self.parameters)

    def __contains__(self, name: object) -> bool:
        return name in self.parameters

    def __getitem__(self, name: str) -> Floats:
        """All draws of one parameter, as a view of shape (S, \\*shape)."""
        start = 0
        for known, shape in self.parameters.items():
            size = math.prod(shape)
            if known == name:
                return self.theta[:, start : start + size].reshape(len(self), *shape)
            start += size
        raise KeyError(f"no parameter {name!r}; there are {', '.join(map(repr, self.parameters))}")

    def state_dicts(self, dtype: Any = None) -> Iterator[dict[str, Any]]:
        """One state dict of torch tensors per draw, for ``load_state_dict``.

        Parameters
        ----------
        dtype : torch.dtype, optional
            Of the tensors; that of the model, or float64 if there is none.

        Yields
        ------
        dict
            Parameter names to tensors. Weights that are not uncertain have their trained values.
        """
        from ._optional import require

        torch = require("torch", "torch", "state_dicts()")
        for i in range(len(self)):
            state = dict(self._base()) if self._base is not None else {}
            for name in self.parameters:
                key = self._names.get(name, name)
                value = torch.from_numpy(np.array(self[name][i]))
                old = state.get(key)
                kind = dtype or (old.dtype if old is not None else torch.float64)
                state[key] = value.to(dtype=kind, device=old.device if old is not None else None)
            yield state

    def to_arviz(self, **kwargs: Any) -> Any:
        """The draws as ArviZ has them: a ``DataTree`` (ArviZ 1 and later) or ``InferenceData`` (before).

        Draws of chains (``nuts``) come as chains, all others as one chain. Numbers about each draw are in the
        group ``sample_stats``, settings and warnings in the attributes of ``posterior``.

        Parameters
        ----------
        **kwargs
            Handed on to ``arviz.from_dict``.
        """
        from ._arviz import to_arviz

        return to_arviz(self, **kwargs)

    def __repr__(self) -> str:
        count = f"{len(self)} of {self.asked}" if len(self) < self.asked else str(len(self))
        warned = f", {len(self.warnings)} warnings" if self.warnings else ""
        return f"<Draws: {count} of {self.method}, {self.theta.shape[1]} weights, seed {self.seed}{warned}>"

    def _repr_html_(self) -> str:
        numbers = {"draws": len(self), "weights": self.theta.shape[1], "method": self.method, "seed": self.seed}
        numbers |= {name: value for name, value in self.summary.items() if isinstance(value, (int, float))}
        lines = "".join(
            f"<tr><th style='text-align:left'>{html.escape(str(name))}</th><td>"
            f"{html.escape(f'{value:.4g}' if isinstance(value, float) else str(value))}</td></tr>"
            for name, value in numbers.items()
        )
        warned = "".join(f"<li>{html.escape(text)}</li>" for text in self.warnings)
        return f"<table>{lines}</table>" + (f"<b>Warnings</b><ul>{warned}</ul>" if warned else "")

    def _warn(self, stacklevel: int) -> None:
        for text in self.warnings:
            _warnings.warn(text, RiemlaWarning, stacklevel=stacklevel + 1)
