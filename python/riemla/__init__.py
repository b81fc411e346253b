"""riemla: from a trained neural network to a Bayesian one.

A Laplace approximation at the trained weights gives a Gaussian of directions; each is carried along a geodesic of a
Riemannian metric built from the loss, so that drawn weights stay where the loss is low (Bergamin et al., NeurIPS 2023).

===========================  ======================================================================
:class:`Laplace`             of a ``torch.nn.Sequential`` or a :class:`Network` of riemla's own
:func:`from_laplace`         of any torch model, with a fitted laplace-torch object
:func:`from_function`        of any function with a gradient: NumPy, torch, JAX, numba
:class:`RiemlaClassifier`,   estimators of scikit-learn
:class:`RiemlaRegressor`
:func:`load`                 of a directory that the command ``riemla`` or :meth:`Laplace.save` wrote
===========================  ======================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._core import VERSION as __version__
from .draws import Draws
from .exceptions import OutsideDomain, RiemlaWarning, WorkersLost
from .laplace import Laplace, load
from .network import Network
from .posterior import Posterior, from_function
from .precision import KroneckerPrecision, LowRankPrecision
from .prediction import Prediction

if TYPE_CHECKING:
    from .estimators import RiemlaClassifier, RiemlaRegressor
    from .torch_posterior import TorchPosterior, from_laplace

# What needs other packages is imported when it is first used.
_LAZY = {
    "RiemlaClassifier": "estimators",
    "RiemlaRegressor": "estimators",
    "TorchPosterior": "torch_posterior",
    "from_laplace": "torch_posterior",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module 'riemla' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_LAZY))


__all__ = [
    "Draws",
    "KroneckerPrecision",
    "Laplace",
    "LowRankPrecision",
    "Network",
    "OutsideDomain",
    "Posterior",
    "Prediction",
    "RiemlaClassifier",
    "RiemlaRegressor",
    "RiemlaWarning",
    "TorchPosterior",
    "WorkersLost",
    "__version__",
    "from_function",
    "from_laplace",
    "load",
]
