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

from ._core import VERSION as __version__
from .draws import Draws
from .exceptions import OutsideDomain, RiemlaWarning
from .laplace import Laplace, load
from .network import Network
from .posterior import Posterior, from_function
from .precision import KroneckerPrecision, LowRankPrecision
from .prediction import Prediction

__all__ = [
    "Draws",
    "KroneckerPrecision",
    "Laplace",
    "LowRankPrecision",
    "Network",
    "OutsideDomain",
    "Posterior",
    "Prediction",
    "RiemlaWarning",
    "__version__",
    "from_function",
    "load",
]
