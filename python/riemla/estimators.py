"""Estimators of scikit-learn: a network is trained, and draws of its weights predict."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from ._arrays import Floats
from ._optional import require
from ._settings import positive, whole
from .exceptions import RiemlaWarning
from .laplace import Laplace
from .network import Network

require("sklearn", "sklearn", "RiemlaClassifier and RiemlaRegressor")

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # noqa: E402
from sklearn.utils import check_random_state  # noqa: E402
from sklearn.utils.class_weight import compute_sample_weight  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data  # noqa: E402

__all__ = ["RiemlaClassifier", "RiemlaRegressor"]

# Beyond so many weights the full curvature is too large: Kronecker factors.
_FULL = 2000
# Of targets with deviation 1. Without noise the posterior is a point, and geodesics towards it do not end.
_LEAST_NOISE = 1e-3


def _counted(x: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """The rows that count, with their weights; none if each counts once."""
    if sample_weight is None:
        return x, y, None
    weights = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
    counts = weights > 0
    return x[counts], y[counts], weights[counts]


def _moments(x: Floats, sample_weight: Any) -> tuple[Floats, Floats]:
    """Mean and deviation of every column."""
    mean = np.average(x, axis=0, weights=sample_weight)
    return mean, np.sqrt(np.average((x - mean) ** 2, axis=0, weights=sample_weight))


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share."""

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (50,),
        activation: str = "tanh",
        *,
        method: str = "riem-la",
        n_draws: int = 100,
        hessian_structure: str = "auto",
        subset_of_weights: str = "all",
        prior_precision: float | None = None,
        max_iter: int = 2000,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.method = method
        self.n_draws = n_draws
        self.hessian_structure = hessian_structure
        self.subset_of_weights = subset_of_weights
        self.prior_precision = prior_precision
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, x: Floats, targets: Any, sample_weight: Any, likelihood: str, outputs: int) -> None:
        """Standardises the inputs, trains, fits the Gaussian and draws."""
        # In one order: sums over rows and columns round differently.
        x = np.ascontiguousarray(x, dtype=np.float64)
        self.mean_, scale = _moments(x, sample_weight)
        # A column that does not vary stays what it is: nothing can be learned from it.
        self.scale_ = np.where(scale > 1e-12 * np.maximum(1.0, np.abs(self.mean_)), scale, 1.0)
        inputs = self._inputs(x)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        sizes = [x.shape[1], *np.atleast_1d(self.hidden_layer_sizes).tolist(), outputs]
        network = Network.mlp([n for n in sizes if n is not None], self.activation)
        precision = None if self.prior_precision is None else positive("prior_precision", self.prior_precision)
        progress = None if self.verbose else False
        found = network.train(
            inputs,
            targets,
            likelihood,
            sample_weight=sample_weight,
            prior_precision=precision,
            iterations=whole("max_iter", self.max_iter, 1),
            seed=seed,
            n_threads=self._threads(),
            progress=progress,
        )
        structure = self.hessian_structure
        if structure == "auto":
            structure = "full" if network.dim <= _FULL else "kron"
        with warnings.catch_warnings():
            warnings.simplefilter("default" if self.verbose else "ignore", RiemlaWarning)
            self.laplace_ = Laplace(
                network,
                likelihood,
                self.subset_of_weights,
                structure,
                prior_precision=found["prior_precision"],
                sigma_noise=max(found.get("sigma_noise", 1.0), _LEAST_NOISE),
                n_threads=self._threads(),
            ).fit(inputs, targets, sample_weight=sample_weight, progress=progress)
            self.draws_ = self.laplace_.sample(
                whole("n_draws", self.n_draws, 1), method=self.method, seed=seed, progress=progress
            )
        self.network_ = network
        self.prior_precision_ = found["prior_precision"]
        self.log_marginal_likelihood_ = self.laplace_.log_marginal_likelihood()
        self.n_iter_ = found["evaluations"]
        self.notes_ = found["notes"] + self.draws_.warnings

    def _threads(self) -> int | None:
        return None if self.n_jobs is None or self.n_jobs < 1 else int(self.n_jobs)

    def _inputs(self, x: Any) -> Floats:
        inputs: Floats = (np.asarray(x, dtype=np.float64) - self.mean_) / self.scale_
        return inputs

    def _predict(self, X: Any) -> Any:
        check_is_fitted(self)
        x = validate_data(self, X, reset=False, dtype=np.float64)
        return self.laplace_.predict(self._inputs(x), draws=self.draws_)


class RiemlaClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A neural network for classes whose probabilities know what it does not know.

    The network is trained to a minimum, weights and prior precision in turn; draws of the weights along geodesics of the
    loss then predict together.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int
        Units of the hidden layers.
    activation : {"tanh", "sigmoid", "softplus", "gelu", "silu", "elu", "relu", …}
        Between the layers.
    method : {"riem-la", "lin-riem-la", "la", "lin-la", "ensemble", "swag"}
        How weights are drawn; as in :meth:`Laplace.sample`.
    n_draws : int
        Number of draws.
    hessian_structure : {"auto", "full", "kron", "diag", "lowrank"}
        Of the Gaussian; "auto" is "full" up to 2000 weights and "kron" beyond.
    subset_of_weights : {"all", "last_layer"}
        Which weights are uncertain.
    prior_precision : float, optional
        Chosen by the marginal likelihood if left out.
    class_weight : dict or "balanced", optional
        How much a row of each class counts; "balanced" gives every class the same weight in all. Multiplies ``sample_weight``.
    max_iter : int
        Iterations of the last stage of training, at most.
    n_jobs : int, optional
        Threads; all cores if left out.
    verbose : bool
        Show progress and warnings.
    random_state : int, RandomState or None
        Seed of initial weights and draws.

    Attributes
    ----------
    classes_ : ndarray
        The classes, as they were given.
    laplace_ : Laplace
        The fitted posterior of the standardised inputs.
    draws_ : Draws
        The draws that predict.
    prior_precision_, log_marginal_likelihood_ : float
        Chosen prior and its evidence.
    notes_ : list of str
        What one should know before trusting the draws.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import riemla
    >>> X, y = load_iris(return_X_y=True)
    >>> model = riemla.RiemlaClassifier(hidden_layer_sizes=(5,), n_draws=20, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> sorted(model.uncertainty(X))
    ['aleatoric', 'epistemic', 'total']
    """

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (50,),
        activation: str = "tanh",
        *,
        method: str = "riem-la",
        n_draws: int = 100,
        hessian_structure: str = "auto",
        subset_of_weights: str = "all",
        prior_precision: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        max_iter: int = 2000,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            activation,
            method=method,
            n_draws=n_draws,
            hessian_structure=hessian_structure,
            subset_of_weights=subset_of_weights,
            prior_precision=prior_precision,
            max_iter=max_iter,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RiemlaClassifier:
        """Train on X of shape (N, D) and labels y of any kind; a row of weight 2 is two equal rows."""
        x, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        if self.class_weight is not None:
            of_rows = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
            sample_weight = of_rows * compute_sample_weight(self.class_weight, y)
        x, y, sample_weight = _counted(x, y, sample_weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"RiemlaClassifier needs at least 2 classes, got 1 class: {self.classes_[0]!r}")
        self._fit(x, codes, sample_weight, "classification", len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, averaged over the draws, in the order of ``classes_``."""
        probabilities: Floats = self._predict(X).probabilities
        return probabilities

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def uncertainty(self, X: Any) -> dict[str, Floats]:
        """Entropy of each row in nats and its two parts.

        Returns
        -------
        dict
            ``total``, ``aleatoric`` (noise in the labels) and ``epistemic`` (unknown weights: large where there were no
            data).
        """
        found = self._predict(X)
        return {"total": found.total, "aleatoric": found.aleatoric, "epistemic": found.epistemic}


class RiemlaRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A neural network for numbers whose intervals widen where there were no data.

    As :class:`RiemlaClassifier`; targets are standardised inside, and the noise is chosen with the prior: at least a
    thousandth of the deviation of the targets.

    Parameters
    ----------
    hidden_layer_sizes, activation, method, n_draws, hessian_structure, subset_of_weights
        As in :class:`RiemlaClassifier`.
    prior_precision, max_iter, n_jobs, verbose, random_state
        As in :class:`RiemlaClassifier`.

    Attributes
    ----------
    laplace_, draws_, prior_precision_, log_marginal_likelihood_, notes_
        As in :class:`RiemlaClassifier`.
    sigma_noise_ : float or ndarray
        Standard deviation of the noise, in the units of the target.

    Examples
    --------
    >>> import numpy as np, riemla
    >>> x = np.linspace(-2, 2, 40)[:, None]
    >>> y = np.sin(x[:, 0]) + np.random.default_rng(0).normal(scale=0.1, size=40)
    >>> model = riemla.RiemlaRegressor(hidden_layer_sizes=(5,), n_draws=20, random_state=0).fit(x, y)
    >>> mean, std = model.predict([[0.5], [9.0]], return_std=True)
    >>> bool(std[1] > std[0])
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RiemlaRegressor:
        """Train on X of shape (N, D) and targets y of shape (N,) or (N, C); a row of weight 2 is two equal rows."""
        x, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        x, y, sample_weight = _counted(x, np.asarray(y, dtype=np.float64), sample_weight)
        self._single = y.ndim == 1
        values = y.reshape(len(y), -1)
        self.target_mean_, scale = _moments(values, sample_weight)
        self.target_scale_ = np.where(scale > 0, scale, 1.0)
        targets = (values - self.target_mean_) / self.target_scale_
        self._fit(x, targets, sample_weight, "regression", values.shape[1])
        noise = self.laplace_.sigma_noise * self.target_scale_
        self.sigma_noise_ = float(noise[0]) if self._single else noise
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _shaped(self, values: Floats) -> Floats:
        return values[:, 0] if self._single else values

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Means of each row, with ``return_std`` also the standard deviations of new observations."""
        found = self._predict(X)
        mean = self._shaped(found.mean * self.target_scale_ + self.target_mean_)
        if not return_std:
            return mean
        return mean, self._shaped(found.std * self.target_scale_)

    def predict_interval(self, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of intervals that hold a new observation with probability ``level``."""
        if not 0 < level < 1:
            raise ValueError(f"level is {level}, but must be above 0 and below 1")
        mean, std = self.predict(X, return_std=True)
        width = NormalDist().inv_cdf(0.5 + level / 2) * std
        return mean - width, mean + width

    def uncertainty(self, X: Any) -> dict[str, Floats]:
        """Variance of each row and its two parts, in squared units of the target.

        Returns
        -------
        dict
            ``total``, ``aleatoric`` (the noise) and ``epistemic`` (unknown weights: large where there were no data).
        """
        found = self._predict(X)
        parts = {"total": found.total, "aleatoric": found.aleatoric, "epistemic": found.epistemic}
        return {name: self._shaped(part * self.target_scale_**2) for name, part in parts.items()}
