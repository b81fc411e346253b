"""Laplace approximations of networks, in the vocabulary of laplace-torch."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._arrays import Floats, floats, numpy_of, rows
from ._modules import Converted, convert, loader_arrays
from ._progress import Watcher, watcher
from ._sampling import MAX_WEIGHTS, Request, Sampling
from ._settings import one_of, positive, run_config, whole
from ._tasks import pack
from .draws import Draws
from .exceptions import RiemlaWarning
from .network import LIKELIHOODS, Network, targets_of, weights_of
from .prediction import Prediction

__all__ = ["Laplace", "load"]

_STRUCTURES = {"full": "full", "kron": "kron", "diag": "diagonal", "diagonal": "diagonal", "lowrank": "low-rank"}
_FAMILIES = {
    "gaussian": "regression",
    "gaussian-per-output": "regression",
    "categorical": "classification",
    "bernoulli": "classification",
}
_DEFAULT_DRAWS = {"nuts": 1000, "ensemble": 5}
# Rows on which a converted network is compared with its module.
_COMPARED = 32


class Laplace:
    """A Laplace approximation at the trained weights of a network.

    Parameters
    ----------
    model : torch.nn.Sequential or Network
        A trained model; its outputs are logits or means. What cannot be converted is named; use :func:`from_laplace`
        for such models.
    likelihood : {"classification", "regression", "heteroscedastic", "poisson", "multi-label"}
        What the outputs mean. A single output of a classification is the logit of class 1. Heteroscedastic: the means
        of all targets, then the logarithms of their variances. Poisson: logarithms of the rates of counts. Multi-label:
        logits of labels that are 0 or 1.
    subset_of_weights : {"all", "last_layer"} or list of parameter names
        Which weights are uncertain.
    hessian_structure : {"full", "kron", "diag", "lowrank"}
        How much of the curvature is kept.
    prior_precision : float or sequence of float
        One number, or one per layer with weights.
    sigma_noise : float or sequence of float
        Standard deviation of the noise (regression): one, or one per output.
    curvature : {"ggn", "ef", "hessian"}
        Generalised Gauss-Newton, empirical Fisher or exact Hessian.
    rank : int
        Eigenpairs of the structure "lowrank".
    n_threads : int, optional
        All cores if left out.

    Notes
    -----
    Unlike laplace-torch: losses are sums over the data, never means; all arithmetic is in float64; all weights and the
    full structure are the default; ``optimize_prior_precision`` also chooses the noise.

    Examples
    --------
    >>> import numpy as np, riemla
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)); y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> net = riemla.Network.mlp([2, 8, 2], "tanh")
    >>> _ = net.train(X, y)
    >>> la = riemla.Laplace(net, "classification")
    >>> _ = la.fit(X, y)
    >>> la.optimize_prior_precision()
    >>> draws = la.sample(20, seed=7)
    >>> la(X).shape
    (60, 2)
    """

    def __init__(
        self,
        model: Any,
        likelihood: str,
        subset_of_weights: Any = "all",
        hessian_structure: str = "full",
        *,
        prior_precision: Any = 1.0,
        sigma_noise: Any = 1.0,
        curvature: str = "ggn",
        rank: int = 50,
        n_threads: int | None = None,
    ) -> None:
        self.likelihood = one_of("likelihood", likelihood, LIKELIHOODS)
        structure = one_of("hessian_structure", hessian_structure, tuple(_STRUCTURES))
        self._structure: Any = _STRUCTURES[structure]
        if self._structure == "low-rank":
            self._structure = {"low-rank": {"rank": whole("rank", rank, 1)}}
        self._subset = _subset(subset_of_weights)
        self._curvature = one_of("curvature", curvature, ("ggn", "ef", "hessian"))
        self._prior = _prior(prior_precision)
        self._sigma = _sigma(sigma_noise)
        self._model, self._n_threads = model, n_threads
        self._network: Network | None = model if isinstance(model, Network) else None
        self._names: dict[str, str] = {}
        self._base: Callable[[], dict[str, Any]] | None = None
        self._fitted: _core.Fitted | None = None
        self._draws: Draws | None = None
        self._sampling = Sampling()
        if self._network is None and not _is_module(model):
            raise TypeError(
                f"model must be a torch.nn.Module or a riemla.Network, not {type(model).__name__}; "
                "use riemla.from_function for functions"
            )

    # Fitting

    def fit(
        self, train_loader: Any, y: Any = None, *, sample_weight: Any = None, progress: bool | Watcher | None = None
    ) -> Laplace:
        """Compute the curvature at the trained weights.

        Parameters
        ----------
        train_loader : iterable of (X, y), or array X
            The training data: batches, or all inputs at once with ``y``.
        y : array, optional
            Targets, if the first argument are inputs: labels counted from 0, or real numbers.
        sample_weight : array of shape (N,), optional
            How often each row counts; a row of weight 2 is two equal rows.
        progress : bool, optional
            Bars of tqdm.

        Returns
        -------
        Laplace
            Itself.
        """
        x, targets = _data(train_loader, y)
        if self._network is None or self._names:
            self._convert(x)
        network = self._require_network()
        inputs = rows("X", x, network.inputs)
        kinds = targets_of(targets, self.likelihood, network.outputs, len(inputs))
        with watcher(progress) as watch:
            self._accept(
                _core.Fitted.fit(
                    json.dumps(network.spec),
                    network.theta,
                    self._likelihood_json(),
                    json.dumps(self._prior),
                    inputs,
                    *kinds,
                    weights_of(sample_weight),
                    self._config({"fixed": self._prior}),
                    self._n_threads,
                    watch,
                ),
                stacklevel=2,
            )
        return self

    def _convert(self, x: Floats) -> None:
        converted: Converted = convert(self._model, floats("X", x[:_COMPARED]))
        self._network, self._names, self._base = converted.network, converted.names, converted.base

    def _accept(self, fitted: _core.Fitted, stacklevel: int) -> None:
        self._fitted, self._draws = fitted, None
        for text in fitted.warnings:
            warnings.warn(text, RiemlaWarning, stacklevel=stacklevel + 1)

    def _config(self, prior: Any, refit: bool = False) -> str:
        subset = self._subset
        if isinstance(subset, dict):
            ours = {name: own for own, name in self._names.items()}
            subset = {"parameters": [ours.get(name, name) for name in subset["parameters"]]}
        return json.dumps(
            {
                "curvature": self._curvature,
                "structure": self._structure,
                "subset": subset,
                "prior": prior,
                "refit": {"max_rounds": 30, "tolerance": 1e-3} if refit else None,
            }
        )

    def _likelihood_json(self) -> str:
        if self.likelihood == "regression":
            kind = "gaussian-per-output" if isinstance(self._sigma, list) else "gaussian"
            return json.dumps({"type": kind, "sigma_noise": self._sigma})
        if self.likelihood != "classification":
            return json.dumps({"type": self.likelihood})
        return json.dumps({"type": "bernoulli" if self._require_network().outputs == 1 else "categorical"})

    def optimize_prior_precision(
        self,
        method: str = "marglik",
        *,
        prior_structure: str = "scalar",
        refit: bool = False,
        progress: bool | Watcher | None = None,
    ) -> None:
        """Choose the prior precision (and, in regression, the noise) by the marginal likelihood.

        Parameters
        ----------
        method : {"marglik"}
            The marginal likelihood of the training data.
        prior_structure : {"scalar", "layerwise"}
            One number, or one per layer with weights.
        refit : bool
            Train the weights again under the new prior, in turn until both settle.
        """
        one_of("method", method, ("marglik",))
        structure = one_of("prior_structure", prior_structure, ("scalar", "layerwise"))
        choice = "optimize" if structure == "scalar" else "optimize-per-layer"
        with watcher(progress) as watch:
            self._accept(self._again(choice, refit, watch), stacklevel=2)
        fitted = self._require_fit()
        self._prior = json.loads(fitted.prior_precision)
        self._sigma = json.loads(fitted.likelihood).get("sigma_noise", self._sigma)

    def _again(self, prior: Any, refit: bool, watch: Watcher | None) -> _core.Fitted:
        fitted = self._require_fit()
        return fitted.refit(
            self._likelihood_json(), json.dumps(self._prior), self._config(prior, refit), self._n_threads, watch
        )

    def log_marginal_likelihood(self, prior_precision: Any = None, sigma_noise: Any = None) -> float:
        """The Laplace approximation of the log marginal likelihood.

        Parameters
        ----------
        prior_precision, sigma_noise : optional
            Those in force if left out. Others are set, as in laplace-torch.
        """
        if prior_precision is not None or sigma_noise is not None:
            self._prior = self._prior if prior_precision is None else _prior(prior_precision)
            self._sigma = self._sigma if sigma_noise is None else _sigma(sigma_noise)
            self._accept(self._again({"fixed": self._prior}, False, None), stacklevel=2)
        found = self._require_fit().log_marginal_likelihood
        if found is None:
            raise ValueError("there is no marginal likelihood for a prior precision of 0: give one above 0")
        return found

    # What was fitted

    @property
    def prior_precision(self) -> Any:
        """The prior precision in force: a float, or one per layer."""
        return self._prior

    @property
    def sigma_noise(self) -> Any:
        """The standard deviation of the noise in force (regression): a float, or one per output."""
        return self._sigma

    @property
    def mean(self) -> Floats:
        """The centre of the Gaussian: the trained weights, flat."""
        return self._require_fit().theta

    @property
    def n_params(self) -> int:
        """Number of weights."""
        return self._require_network().dim

    @property
    def n_uncertain(self) -> int:
        """Number of uncertain weights."""
        return sum(end - start for start, end in self._require_fit().uncertain)

    @property
    def gradient_norm(self) -> float:
        """Norm of the gradient of the loss at the weights: not small means that they are no minimum."""
        return self._require_fit().gradient_norm

    @property
    def log_det_posterior_precision(self) -> float:
        """log det P of the uncertain weights."""
        return self._require_fit().log_det

    @property
    def posterior_precision(self) -> Floats:
        """The dense precision of the uncertain weights (structures "full" and "diag")."""
        structure, arrays = self._require_fit().precision()
        named = dict(arrays)
        if "cholesky" in named:
            lower = np.tril(named["cholesky"])
            dense: Floats = lower @ lower.T
            return dense
        if "diagonal" in named:
            return np.diag(named["diagonal"])
        raise ValueError(f"the structure {json.loads(structure)} is not kept as one matrix")

    # Draws

    def sample(
        self,
        n_samples: int | None = None,
        *,
        method: str = "riem-la",
        seed: int = 1,
        metric: str | None = None,
        strength: str | float | None = None,
        tolerance: float | None = None,
        max_steps: int | None = None,
        batch_size: int | str | None = None,
        batch_design: str | None = None,
        batch_length: str | float | None = None,
        polish: int | str | None = None,
        arithmetic: str | None = None,
        seconds: float | None = None,
        store: str | os.PathLike[str] | None = None,
        name: str | None = None,
        max_weights: int = MAX_WEIGHTS,
        executor: Any = None,
        threads_per_worker: int = 1,
        progress: bool | Watcher | None = None,
        **options: Any,
    ) -> Draws:
        """Draw weights; predictions use the last draws.

        Parameters
        ----------
        n_samples : int, optional
            100; 1000 of nuts, 5 of an ensemble.
        method : {"riem-la", "lin-riem-la", "la", "lin-la", "nuts", "swag", "ensemble"}
            ``riem-la`` follows geodesics of the loss; ``la`` draws from the Gaussian; ``lin-`` predicts with the
            network linearised at the trained weights. To compare with: ``nuts`` runs Markov chains, ``swag`` takes the
            moments of stochastic gradient descent, ``ensemble`` trains again from fresh weights.
        seed : int
            The same seed gives the same bits, on any number of threads and from the command.
        metric : {"auto", "preconditioned", "loss", "fisher"}, optional
            Of the loss relative to the Gaussian, the paper's, or the Fisher metric (small networks); "auto" (the default)
            is the Fisher metric for models without hidden layers and for last layers, else the first.
        strength : {"auto", "virial", "loss-rise", "held-out"} or float, optional
            Of the metric: a rule that finds it, or a number (smaller lets draws go further). "held-out" needs held-out
            rows, which posteriors have that the command made (:func:`riemla.load`).
        tolerance, max_steps : optional
            Of the integrator of geodesics.
        batch_size : int or "auto", optional
            Rows of a fresh batch per geodesic, all rows if left out; ``"auto"``: as many as hold 90 % of the curvature
            of the loss. Of swag rows per step.
        batch_design : {"uniform", "leverage"}, optional
            ``"uniform"`` (the default): all rows are drawn at random, as in the paper. ``"leverage"``: rows
            with a larger share in the curvature of the loss are drawn more often and count less; ``"leverage=0.75"``
            follows these shares by three quarters (one half if not given); the rest of the probability is the same for
            all rows.
        batch_length : {"auto", "full"} or float, optional
            How far draws on batches go. ``"auto"`` (the default): shortened towards the trained weights by one factor, such
            that their virial ratio on all rows is 1; ``"full"``: to the ends of their geodesics, as in the paper; or the
            factor, at most 1. ``draws.summary["length"]`` is the factor.
        polish : int or "auto", optional
            Continue every draw by a Markov chain (Hamiltonian, with Metropolis tests) of about this many gradients on all
            rows, which brings it closer to the exact posterior; "auto" takes as many as it takes until the loss of
            pilot chains no longer changes. ``draws.summary["polish"]`` and ``draws.warnings`` say whether that was enough.
            None is 100 for riem-la (0 in batches and for other methods), 0 is geodesics alone.
        arithmetic : {"double", "single"}, optional
            Of the matrix products in evaluations of the loss. ``"single"`` (32 bits, for linear layers with at least 32
            inputs and outputs) is faster for wide networks; weights, sums, geodesics and predictions are double in both
            cases. The default is ``"double"``.
        seconds : float, optional
            Stop after this time and keep what is finished.
        store : path, optional
            A posterior directory, as of :meth:`save`; it is made if it is not there. Each draw is kept in it as soon as it
            is finished, the same call continues after a crash, and the command ``riemla`` can use it.
        name : str, optional
            Name of the set of draws in ``store``; that of the method if left out.
        max_weights : int
            Of nuts: refuse more uncertain weights than this.
        executor : optional
            Anything with ``submit``: a pool of ``concurrent.futures`` or ``mpi4py.futures``, of a Dask client its
            ``get_executor()``, loky. Its workers take the draws, with the same bits; not of nuts, swag and ensemble.
        threads_per_worker : int
            Draws that a worker takes at a time.
        progress : bool, optional
            Bars of tqdm: where somebody is watching if left out.
        **options
            Settings of nuts (``chains``, ``warmup``), swag (``learning_rate``, ``epochs``, ``rank``) and ensemble
            (``iterations``).

        Returns
        -------
        Draws

        Raises
        ------
        WorkersLost
            If workers of the executor died. The same call takes the draws that are missing.
        """
        fitted = self._require_fit()
        config = run_config(
            method,
            metric=metric,
            strength=strength,
            tolerance=tolerance,
            max_steps=max_steps,
            batch_size=batch_size,
            batch_design=batch_design,
            batch_length=batch_length,
            polish=polish,
            arithmetic=arithmetic,
            **options,
        )
        count = _DEFAULT_DRAWS.get(json.loads(config)["method"], 100) if n_samples is None else n_samples
        found = self._sampling(
            fitted,
            config,
            count,
            seed,
            threads=self._n_threads,
            pack=lambda: pack(_core.Fitted.from_files, (fitted.to_files(),)),
            executor=executor,
            threads_per_worker=threads_per_worker,
            seconds=seconds,
            store=store,
            name=name,
            max_weights=max_weights,
            progress=progress,
        )
        self._draws = self._made(found)
        self._draws._warn(stacklevel=2)
        return self._draws

    def draws(self, directory: str | os.PathLike[str], name: str = "riem-la") -> Draws:
        """Read a set of draws of this posterior from a directory of the command; predictions use them from now on."""
        self._draws = self._made(self._require_fit().read_draws(os.fspath(directory), name))
        return self._draws

    def _made(self, found: Any) -> Draws:
        shapes = {self._names.get(name, name): shape for name, shape in self._require_network().parameters.items()}
        return Draws(found, shapes, base=self._base)

    # Predictions

    def __call__(
        self,
        x: Any,
        pred_type: str = "nn",
        link_approx: str | None = None,
        n_samples: int = 100,
        *,
        draws: Draws | None = None,
    ) -> Any:
        """Predict.

        Parameters
        ----------
        x : array of shape (N, ...)
            Inputs.
        pred_type : {"nn", "glm"}
            ``nn`` averages over draws of the weights: ``draws``, else the last ones that were sampled, else 100 fresh
            ones of riem-la. ``glm`` is the network linearised at the trained weights, with the Gaussian.
        link_approx : {"probit", "mc"}, optional
            Of ``glm`` for classes: the probit approximation (the default), or an average over ``n_samples`` draws.
        n_samples : int
            Draws of ``glm`` with ``mc``.
        draws : Draws, optional
            To average over.

        Returns
        -------
        ndarray of shape (N, C), or (mean, variance)
            Probabilities of classes or labels; or mean and variance of the function, each of shape (N, C), without the noise
            (as in laplace-torch; :meth:`predict` has both).
        """
        found = self._predict(x, pred_type, link_approx, n_samples, draws)
        if found.mean is None:
            return found.probabilities
        return found.mean, found.epistemic

    def predict(
        self,
        x: Any,
        pred_type: str = "nn",
        link_approx: str | None = None,
        n_samples: int = 100,
        *,
        draws: Draws | None = None,
    ) -> Prediction:
        """As calling it, with all parts of the uncertainty."""
        return self._predict(x, pred_type, link_approx, n_samples, draws)

    def _predict(self, x: Any, pred_type: str, link: str | None, n_samples: int, draws: Draws | None) -> Prediction:
        fitted = self._require_fit()
        kind = one_of("pred_type", pred_type, ("nn", "glm"))
        link = one_of("link_approx", link or ("mc" if kind == "nn" else "probit"), ("probit", "mc"))
        inputs = rows("x", x, self._require_network().inputs)
        has_closed_form = self.likelihood in ("regression", "heteroscedastic", "poisson")
        if kind == "glm" and (link == "probit" or has_closed_form):
            return Prediction(fitted.predict_closed_form(inputs, self._n_threads))
        if kind == "glm":
            theta = self._gaussian_draws(n_samples)
            return Prediction(fitted.predict(theta, True, inputs, self._n_threads))
        if link != "mc":
            raise ValueError("link_approx 'probit' goes with pred_type 'glm'; the network itself is averaged over draws")
        chosen = self._require_draws(draws)
        return Prediction(fitted.predict(chosen.theta, chosen.is_linearized, inputs, self._n_threads))

    def predictive_samples(self, x: Any, *, draws: Draws | None = None) -> Floats:
        """Outputs of every draw, of shape (S, N, C): probabilities, rates, or values without noise."""
        chosen = self._require_draws(draws)
        inputs = rows("x", x, self._require_network().inputs)
        outputs = self._require_fit().outputs(chosen.theta, chosen.is_linearized, inputs, self._n_threads)
        if self.likelihood == "regression":
            return outputs
        if self.likelihood == "heteroscedastic":
            return outputs[..., : outputs.shape[-1] // 2]
        if self.likelihood == "poisson":
            rates: Floats = np.exp(outputs)
            return rates
        if self.likelihood == "multi-label":
            yes: Floats = np.exp(-np.logaddexp(0.0, -outputs))
            return yes
        if outputs.shape[-1] == 1:
            one = np.exp(-np.logaddexp(0.0, -outputs))
            return np.concatenate([1.0 - one, one], axis=-1)
        powers = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
        probabilities: Floats = powers / powers.sum(axis=-1, keepdims=True)
        return probabilities

    def functional_moments(self, x: Any) -> tuple[Floats, Floats]:
        """Mean and variance of the outputs of the linearised network, each of shape (N, C)."""
        inputs = rows("x", x, self._require_network().inputs)
        return self._require_fit().moments(inputs, self._n_threads)

    def _gaussian_draws(self, count: int) -> Floats:
        count = whole("n_samples", count, 1, 1_000_000)
        found = self._require_fit().sample(Request(run_config("lin-la"), count, 1, self._n_threads))
        theta: Floats = found["theta"]
        return theta

    def _require_draws(self, draws: Draws | None) -> Draws:
        chosen = draws or self._draws
        if chosen is None:
            chosen = self.sample()
        if chosen.theta.shape[1] != self.n_params:
            raise ValueError(f"draws have {chosen.theta.shape[1]} weights, but the network has {self.n_params}")
        return chosen

    # Files

    def save(self, directory: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a posterior directory, which the command ``riemla`` reads too.

        Parameters
        ----------
        directory : path
            To be made.
        overwrite : bool
            Replace a posterior that is there, its draws included; other files are never replaced.
        """
        self._require_fit().save(os.fspath(directory), overwrite)

    def _restore(self, fitted: _core.Fitted) -> None:
        config = json.loads(fitted.config)
        likelihood = json.loads(fitted.likelihood)
        self.likelihood = _FAMILIES.get(likelihood["type"], likelihood["type"])
        self._structure, self._subset, self._curvature = config["structure"], config["subset"], config["curvature"]
        self._prior = json.loads(fitted.prior_precision)
        self._sigma = likelihood.get("sigma_noise", 1.0)
        self._network = Network._of(fitted.network, fitted.theta)
        self._model, self._fitted, self._draws = self._network, fitted, None
        self._n_threads, self._names, self._base = None, {}, None
        self._sampling = Sampling()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        fitted = state.pop("_fitted")
        state["files"] = None if fitted is None else fitted.to_files()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.pop("files")
        self.__dict__.update(state)
        self._fitted = None if files is None else _core.Fitted.from_files(files)

    # Checks

    def _require_fit(self) -> _core.Fitted:
        if self._fitted is None:
            raise RuntimeError("not fitted yet: call fit(train_loader) or fit(X, y) first")
        return self._fitted

    def _require_network(self) -> Network:
        if self._network is None:
            raise RuntimeError("not fitted yet: call fit(train_loader) or fit(X, y) first")
        return self._network

    def __repr__(self) -> str:
        if self._fitted is None:
            return f"<Laplace: {self.likelihood}, not fitted>"
        structure = self._structure if isinstance(self._structure, str) else next(iter(self._structure))
        return (
            f"<Laplace: {self.likelihood}, {structure}, {self.n_uncertain} of {self.n_params} weights uncertain, "
            f"prior precision {self._prior}, {self._fitted.rows} rows>"
        )


def load(directory: str | os.PathLike[str]) -> Laplace:
    """Read a posterior directory of :meth:`Laplace.save` or of ``riemla fit``.

    Parameters
    ----------
    directory : path
        The directory. Its sets of draws are read by :meth:`Laplace.draws`.

    Notes
    -----
    A posterior that the command fitted to a table takes encoded inputs (as ``riemla`` makes them from the columns), and
    predicts in the units of the target.
    """
    la = Laplace.__new__(Laplace)
    la._restore(_core.Fitted.load(os.fspath(directory)))
    return la


def _is_module(model: Any) -> bool:
    import sys

    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _data(first: Any, y: Any) -> tuple[Floats, Any]:
    if y is not None:
        return floats("X", first), y
    if hasattr(first, "shape") or isinstance(first, (str, bytes)):
        raise TypeError("give targets as well: fit(X, y); or a loader of batches (X, y)")
    inputs, targets = loader_arrays("train_loader", first)
    x = np.concatenate([floats("X", batch) for batch in inputs])
    return x, np.concatenate([np.atleast_1d(numpy_of("y", batch)) for batch in targets])


def _subset(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return {"parameters": [str(name) for name in value]}
    return one_of("subset_of_weights", value, ("all", "last-layer"))


def _sigma(sigma_noise: Any) -> Any:
    """One standard deviation, or a list of one per output."""
    if np.ndim(sigma_noise) == 0:
        return positive("sigma_noise", sigma_noise)
    return [positive("sigma_noise", sigma) for sigma in floats("sigma_noise", sigma_noise, ndim=1)]


def _prior(value: Any) -> Any:
    array = floats("prior_precision", value)
    if (array < 0).any():
        raise ValueError(f"prior_precision is {value}, but must be finite and at least 0")
    return float(array.reshape(())) if array.size == 1 else [float(v) for v in array.ravel()]
