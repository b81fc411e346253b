"""Any torch model: the curvature from laplace-torch, the loss and its gradient from torch itself."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core
from ._arrays import Floats
from ._modules import loader_arrays
from ._optional import require
from ._progress import Watcher
from .draws import Draws
from .posterior import Parts, Posterior
from .precision import KroneckerPrecision, LowRankPrecision
from .prediction import Prediction

__all__ = ["TorchPosterior", "from_laplace"]

# Rows of one pass through the model.
_ROWS = 2048


class TorchPosterior(Posterior):
    """The posterior of a torch model; made by :func:`from_laplace`."""

    _loss: _TorchLoss

    def predictive_samples(self, x: Any, *, draws: Draws | None = None) -> Floats:
        """Outputs of the model for every draw, of shape (S, N, C): logits or means."""
        chosen = self._require_draws(draws)
        return np.stack([self._loss.outputs(theta, x) for theta in chosen.theta])

    def predict(self, x: Any, *, draws: Draws | None = None) -> Prediction:
        """The average over draws, with all parts of the uncertainty.

        Parameters
        ----------
        x : tensor or whatever the model takes
            Inputs.
        draws : Draws, optional
            The last ones that were sampled if left out.
        """
        outputs = self.predictive_samples(x, draws=draws)
        return Prediction(_core.predict_outputs(outputs, self._loss.sigma_noise))

    def __call__(self, x: Any, *, draws: Draws | None = None) -> Any:
        """Class probabilities, or mean and variance of the function (without the noise)."""
        found = self.predict(x, draws=draws)
        return found.probabilities if found.mean is None else (found.mean, found.epistemic)

    def _require_draws(self, draws: Draws | None) -> Draws:
        chosen = draws or self._draws
        if chosen is None:
            chosen = self.sample()
        return chosen

    def __repr__(self) -> str:
        return f"<TorchPosterior of {self._loss.kind}, {self.dim} weights, {self._loss.rows} rows>"

    def __reduce__(self) -> tuple[Any, ...]:
        structure, arrays = self._core.precision()
        return _restore, (self._loss, self.theta, structure, arrays, self._n_threads, self._draws)


def _restore(
    loss: _TorchLoss, theta: Floats, structure: str, arrays: Any, n_threads: int | None, draws: Draws | None
) -> TorchPosterior:
    posterior = _posterior(loss, theta, Parts(structure, arrays), n_threads, False)
    posterior._draws = draws
    return posterior


class _TorchLoss:
    """Minus the log-posterior of some parameters of a module, the others fixed; also its outputs for new inputs."""

    def __init__(self, module: Any, names: list[str], batches: list[tuple[Any, Any]], la: Any, dtype: Any) -> None:
        torch = require("torch", "torch", "from_laplace()")
        self.torch_dtype = dtype
        self.names = names
        self.batches = batches
        self.classes = str(getattr(la.likelihood, "value", la.likelihood)) == "classification"
        device = next(module.parameters()).device
        self.module = module
        self.factor = float(la._H_factor)
        self.sigma_noise = None if self.classes else float(la.sigma_noise)
        self.prior = la.prior_precision_diag.detach().to(device, dtype)
        self.center = torch.as_tensor(la.prior_mean).detach().to(device, dtype)
        self.rows = sum(len(y) for _, y in batches)
        self.kind = "a classification" if self.classes else "a regression"
        # For the last layer alone: what its inputs are, and the state dict of the whole model.
        self.features: Any = None
        self.state: Any = None
        self._local = threading.local()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        named = dict(self.module.named_parameters())
        return {name: tuple(named[name].shape) for name in self.names}

    def _copy(self) -> Any:
        # Parameters are exchanged in place: every thread needs a module of its own.
        if not hasattr(self._local, "module"):
            self._local.module = copy.deepcopy(self.module)
        return self._local.module

    def _call(self, flat: Any, x: Any) -> Any:
        torch = require("torch", "torch", "from_laplace()")
        start, given = 0, {}
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            given[name] = flat[start : start + size].view(shape)
            start += size
        return torch.func.functional_call(self._copy(), given, (x,))

    def _flat(self, theta: Any) -> Any:
        torch = require("torch", "torch", "from_laplace()")
        return torch.as_tensor(theta).to(device=self.prior.device, dtype=self.torch_dtype)

    def _terms(self, flat: Any) -> Iterator[Any]:
        torch = require("torch", "torch", "from_laplace()")
        for x, y in self.batches:
            outputs = self._call(flat, x)
            if self.classes:
                yield self.factor * torch.nn.functional.cross_entropy(outputs, y, reduction="sum")
            else:
                yield self.factor * 0.5 * (outputs - y.view_as(outputs)).square().sum()
        moved = flat - self.center
        yield 0.5 * (self.prior * moved * moved).sum()

    def value(self, theta: Any) -> float:
        """The loss alone: a forward pass."""
        torch = require("torch", "torch", "from_laplace()")
        with torch.no_grad():
            return float(sum(float(term) for term in self._terms(self._flat(theta))))

    def __call__(self, theta: Any) -> tuple[float, Floats]:
        torch = require("torch", "torch", "from_laplace()")
        flat = self._flat(theta).clone().requires_grad_(True)
        total, gradient = 0.0, torch.zeros_like(flat)
        for term in self._terms(flat):
            gradient += torch.autograd.grad(term, flat)[0]
            total += float(term.detach())
        return total, gradient.to("cpu", torch.float64).numpy()

    def outputs(self, theta: Any, x: Any) -> Floats:
        """Outputs for inputs as the model takes them, of shape (N, C)."""
        torch = require("torch", "torch", "from_laplace()")
        with torch.no_grad():
            x = _moved(torch.as_tensor(x), self.prior.device, self.torch_dtype)
            found = []
            for start in range(0, len(x), _ROWS):
                part = x[start : start + _ROWS]
                if self.features is not None:
                    part = self.features(part)
                found.append(self._call(self._flat(theta), part))
            result: Floats = torch.cat(found).to("cpu", torch.float64).numpy()
            return result

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_local")
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._local = threading.local()


class _Features:
    """Inputs of the last layer."""

    def __init__(self, module: Any, layer: str) -> None:
        self.module, self.layer = module, layer

    def __call__(self, x: Any) -> Any:
        torch = require("torch", "torch", "from_laplace()")
        seen: list[Any] = []
        layer = self.module.get_submodule(self.layer)
        handle = layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach()))
        try:
            with torch.no_grad():
                self.module(x)
        finally:
            handle.remove()
        return seen[-1]


def from_laplace(
    la: Any,
    train_loader: Any,
    *,
    dtype: Any = None,
    n_threads: int | None = None,
    progress: bool | Watcher | None = None,
) -> TorchPosterior:
    """The posterior of any torch model, around the Gaussian of a fitted laplace-torch object.

    Geodesics follow the loss of the torch model itself, with all its branches, residual connections and normalisations,
    on its device.

    Parameters
    ----------
    la : laplace.BaseLaplace
        Fitted: full, Kronecker-factored, diagonal or low rank, of all weights or the last layer. Prior precision, noise
        and temperature are those in force.
    train_loader : iterable of (X, y)
        The data that ``la`` was fitted to.
    dtype : torch.dtype, optional
        Of the loss; float64 if left out, whatever the type of the model. Geodesics need the loss to many digits.
    n_threads : int, optional
        Draws at a time; 1 if left out, since torch has threads of its own.
    progress : bool, optional
        Bars of tqdm.

    Returns
    -------
    TorchPosterior
        Its ``sample`` draws weights, ``draws.state_dicts()`` has them for the model, and calling it predicts.
    """
    torch = require("torch", "torch", "from_laplace()")
    laplace = require("laplace", "torch", "from_laplace()")
    if not isinstance(la, laplace.ParametricLaplace):
        raise TypeError(f"la must be a parametric Laplace object of laplace-torch, not {type(la).__name__}")
    likelihood = str(getattr(la.likelihood, "value", la.likelihood))
    if likelihood not in ("classification", "regression"):
        raise ValueError(f"the likelihood {likelihood!r} is not supported: only classification and regression")
    if getattr(la, "H", None) is None or not getattr(la, "n_data", 0):
        raise RuntimeError("la is not fitted yet: call la.fit(train_loader) first")
    dtype = dtype or torch.float64
    last_layer = isinstance(la, laplace.LLLaplace)
    whole = la.model.model if last_layer else la.model
    module = copy.deepcopy(whole).to(dtype=dtype).eval()
    device = next(module.parameters()).device
    batches = _batches(torch, train_loader, device, dtype, likelihood == "classification")
    rows = sum(len(y) for _, y in batches)
    if rows != la.n_data:
        raise ValueError(f"train_loader has {rows} rows, but la was fitted to {la.n_data}: give the same data")
    if last_layer:
        name = la.model._last_layer_name
        features = _Features(module, name)
        layer = module.get_submodule(name)
        # The hook of laplace-torch is about its own object, and does not pickle.
        for key, hook in list(layer._forward_hooks.items()):
            if "FeatureExtractor" in getattr(hook, "__qualname__", ""):
                del layer._forward_hooks[key]
        batches = [(features(x), y) for x, y in batches]
        names = [own for own, _ in layer.named_parameters()]
        loss = _TorchLoss(layer, names, batches, la, dtype)
        loss.features = features
        prefix = f"{name}."
    else:
        names = [own for own, parameter in whole.named_parameters() if parameter.requires_grad]
        loss = _TorchLoss(module, names, batches, la, dtype)
        prefix = ""
    loss.state = _State(whole.state_dict(), prefix)
    theta = torch.cat([dict(loss.module.named_parameters())[own].detach().ravel() for own in names])
    center = theta.to("cpu", torch.float64).numpy()
    given = la.mean.detach().to("cpu", torch.float64).numpy()
    if given.shape != center.shape or not np.allclose(given, center, rtol=1e-5, atol=1e-6):
        raise ValueError("the weights of the model are not those that la was fitted at: fit it again")
    return _posterior(loss, center, _precision(torch, laplace, la), n_threads or 1, progress)


class _State:
    """The state dict of the trained model, with the names that the parameters have in it."""

    def __init__(self, state: dict[str, Any], prefix: str) -> None:
        self.state = {name: tensor.detach().clone() for name, tensor in state.items()}
        self.prefix = prefix

    def __call__(self) -> dict[str, Any]:
        return dict(self.state)


def _posterior(
    loss: Any, theta: Floats, precision: Any, n_threads: int | None, progress: bool | Watcher | None
) -> TorchPosterior:
    posterior = TorchPosterior(
        loss,
        theta,
        precision,
        value=loss.value,
        parameters={f"{loss.state.prefix}{name}": shape for name, shape in loss.shapes.items()},
        rank=1,
        n_threads=n_threads,
        progress=progress,
        base=loss.state,
    )
    posterior._loss = loss
    return posterior


def _moved(tensor: Any, device: Any, dtype: Any) -> Any:
    return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)


def _batches(torch: Any, loader: Any, device: Any, dtype: Any, classes: bool) -> list[tuple[Any, Any]]:
    inputs, targets = loader_arrays("train_loader", loader)
    x = _moved(torch.cat([torch.as_tensor(batch) for batch in inputs]), device, dtype)
    y = torch.cat([torch.as_tensor(batch) for batch in targets]).to(device)
    y = y.long() if classes else y.to(dtype)
    return list(zip(x.split(_ROWS), y.split(_ROWS)))


def _precision(torch: Any, laplace: Any, la: Any) -> Any:
    def numbers(tensor: Any) -> Floats:
        array: Floats = tensor.detach().to("cpu", torch.float64).numpy()
        return array

    found = la.posterior_precision
    if isinstance(la, laplace.DiagLaplace):
        return numbers(found)
    if isinstance(la, laplace.FullLaplace):
        matrix = numbers(found)
        return (matrix + matrix.T) / 2
    if isinstance(la, laplace.KronLaplace):
        if found.damping:
            raise ValueError("Kronecker factors with damping=True are not supported: fit with damping=False")
        return KroneckerPrecision._from_eigen(list(_kronecker(found, numbers)))
    if isinstance(la, laplace.LowRankLaplace):
        (vectors, values), prior = found
        return LowRankPrecision(numbers(prior), numbers(vectors).T, np.maximum(numbers(values), 0.0))
    raise TypeError(f"the structure of {type(la).__name__} is not supported: full, kron, diag or lowrank")


def _kronecker(found: Any, numbers: Any) -> Iterator[Any]:
    deltas = np.broadcast_to(numbers(found.deltas), (len(found),))
    for values, vectors, delta in zip(found.eigenvalues, found.eigenvectors, deltas):
        factors = [_orthonormal(numbers(v), numbers(q)) for v, q in zip(values, vectors)]
        if len(factors) == 1:
            factors.append((np.ones(1), np.ones((1, 1))))
        b, a = factors
        yield a, b, float(delta)


def _orthonormal(values: Floats, vectors: Floats) -> tuple[Floats, Floats]:
    """Eigenpairs of 32-bit arithmetic, orthonormal to 64 bits, in ascending order."""
    order = np.argsort(values)
    q, r = np.linalg.qr(vectors[:, order])
    return np.maximum(values[order], 0.0), q * np.sign(np.diag(r))
