"""Draws as ArviZ has them, in both of its major versions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ._optional import require

if TYPE_CHECKING:
    from .draws import Draws

# The names that ArviZ gives to what samplers report.
_NAMES = {"diverging": "diverging", "acceptance": "acceptance_rate", "tree_depth": "tree_depth", "gradients": "n_steps"}


def to_arviz(draws: Draws, **kwargs: Any) -> Any:
    """A ``DataTree`` of ArviZ 1, or ``InferenceData`` before."""
    arviz = require("arviz", "arviz", "to_arviz()")
    chains = int(draws.config.get("chains", 1)) if draws.method == "nuts" else 1
    length = len(draws) // chains

    def by_chain(values: Any) -> Any:
        # Draw i is of chain i mod C; all chains get the same number of draws.
        kept = np.asarray(values)[: chains * length]
        return np.ascontiguousarray(np.swapaxes(kept.reshape(length, chains, *kept.shape[1:]), 0, 1))

    posterior = {name: by_chain(draws[name]) for name in draws.keys()}
    stats = {_NAMES.get(name, name): by_chain(_plain(column)) for name, column in draws.diagnostics.items()}
    stats.pop("chain", None)
    groups: dict[str, Any] = {"posterior": posterior}
    if stats:
        groups["sample_stats"] = stats
    attributes = {
        "inference_library": "riemla",
        "inference_library_version": _version(),
        "method": draws.method,
        "seed": draws.seed,
        "config": json.dumps(draws.config),
        "warnings": "\n".join(draws.warnings),
    }
    if int(arviz.__version__.split(".")[0]) >= 1:
        tree = arviz.from_dict(groups, **kwargs)
        tree["posterior"].attrs.update(attributes)
        return tree
    data = arviz.from_dict(**groups, **kwargs)
    data.posterior.attrs.update(attributes)
    return data


def _plain(column: Any) -> Any:
    """Words as numbers where they are: ArviZ stores numbers."""
    words = np.asarray(column)
    if words.dtype.kind not in "US":
        return words
    if set(words) <= {"true", "false"}:
        return words == "true"
    return words.astype("U")


def _version() -> str:
    from ._core import VERSION

    return VERSION
