"""Networks of riemla's own: a description, and weights."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import Floats, floats, labels, rows
from ._progress import Watcher, watcher
from ._settings import one_of, positive, whole

__all__ = ["Network"]

ACTIVATIONS = ("tanh", "sigmoid", "softplus", "gelu", "gelu-tanh", "silu", "elu", "relu", "leaky-relu")


#: What the outputs of a network can mean.
LIKELIHOODS = ("classification", "regression", "heteroscedastic", "poisson", "multi-label")


class Network:
    """A network, described by its layers, with its weights.

    Parameters
    ----------
    input : int or (channels, height, width)
        Shape of one input.
    layers : sequence of dict
        The layers as in the files of the command, for example ``{"type": "linear", "outputs": 16}``,
        ``{"type": "activation", "function": "tanh"}``, ``{"type": "conv2d", "channels": 4, "kernel": [3, 3]}``.
    theta : array of shape (K,), optional
        Weights; fresh ones of seed 1 if left out.

    Attributes
    ----------
    theta : ndarray of shape (K,)
        The weights, flat, in PyTorch's order.
    parameters : dict of str to shape
        Names and shapes of the tensors in it.

    Examples
    --------
    >>> import riemla
    >>> net = riemla.Network.mlp([2, 16, 2], "tanh")
    >>> net.dim, list(net.parameters)
    (82, ['0.weight', '0.bias', '2.weight', '2.bias'])
    """

    def __init__(self, input: Any, layers: Sequence[dict[str, Any]], theta: Any = None) -> None:
        if np.ndim(input) == 0:
            shape: Any = whole("input", input, 1)
        else:
            channels, height, width = (whole("input", n, 1) for n in input)
            shape = {"channels": channels, "height": height, "width": width}
        self._set(json.dumps({"input": shape, "layers": list(layers)}), theta)

    def _set(self, spec: str, theta: Any) -> None:
        self._core = _core.Network(spec)
        self.parameters: dict[str, tuple[int, ...]] = {
            name: tuple(shape) for name, shape in self._core.parameters
        }
        if theta is None:
            self.theta: Floats = self._core.initialize(1)
        else:
            self.theta = floats("theta", theta, ndim=1)
            if len(self.theta) != self.dim:
                raise ValueError(f"theta: expected {self.dim} weights, got {len(self.theta)}")

    @classmethod
    def _of(cls, spec: str, theta: Any) -> Network:
        network = cls.__new__(cls)
        network._set(spec, theta)
        return network

    @classmethod
    def mlp(cls, sizes: Sequence[int], activation: str = "tanh", seed: int = 1) -> Network:
        """Linear layers of the given sizes, from input to output, with an activation between them.

        Parameters
        ----------
        sizes : sequence of int
            Inputs, hidden units, outputs.
        activation : {"tanh", "sigmoid", "softplus", "gelu", "gelu-tanh", "silu", "elu", "relu", "leaky-relu"}
            Prefer smooth ones: the metric is built from the gradient of the loss. With a parameter as
            ``"softplus(2)"``.
        seed : int
            Of the initial weights.
        """
        if len(sizes) < 2:
            raise ValueError(f"sizes is {list(sizes)}, but needs at least the number of inputs and of outputs")
        word, _, parameter = str(activation).partition("(")
        function = one_of("activation", word, ACTIVATIONS) + (f"({parameter}" if parameter else "")
        layers: list[dict[str, Any]] = []
        for outputs in sizes[1:]:
            if layers:
                layers.append({"type": "activation", "function": function})
            layers.append({"type": "linear", "outputs": whole("size of a layer", outputs, 1)})
        network = cls(sizes[0], layers)
        network.theta = network._core.initialize(whole("seed", seed))
        return network

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Network:
        """A model directory of ``riemla train`` or ``riemla import``: network and weights."""
        spec, theta, _, _ = _core.read_model(os.fspath(directory))
        return cls._of(spec, theta)

    @property
    def dim(self) -> int:
        """Number of weights K."""
        return self._core.dim

    @property
    def inputs(self) -> int:
        """Numbers per input."""
        return self._core.inputs

    @property
    def outputs(self) -> int:
        """Numbers per output."""
        return self._core.outputs

    @property
    def spec(self) -> dict[str, Any]:
        """The description, as in the files of the command."""
        spec: dict[str, Any] = json.loads(self._core.spec)
        return spec

    def __call__(self, x: Any) -> Floats:
        """Outputs of shape (N, C)."""
        found: Floats = self._core.forward(self.theta[None], rows("inputs", x, self.inputs))[0]
        return found

    def train(
        self,
        X: Any,
        y: Any,
        likelihood: str = "classification",
        *,
        noise_per_output: bool = False,
        sample_weight: Any = None,
        prior_precision: float | None = None,
        iterations: int = 2000,
        seed: int = 1,
        n_threads: int | None = None,
        progress: bool | Watcher | None = None,
    ) -> dict[str, Any]:
        """Train the weights to a minimum, as ``riemla train`` does.

        Adam, then L-BFGS; unless the prior precision is given, weights and prior (and noise) in turn until both settle.

        Parameters
        ----------
        X : array of shape (N, D)
            Inputs.
        y : array of shape (N,) or (N, C)
            Labels counted from 0, real targets, counts, or labels that are 0 or 1.
        likelihood : {"classification", "regression", "heteroscedastic", "poisson", "multi-label"}
            What the outputs mean, as in :class:`Laplace`.
        noise_per_output : bool
            A noise of its own for every output (regression).
        sample_weight : array of shape (N,), optional
            How often each row counts; a row of weight 2 is two equal rows.
        prior_precision : float, optional
            Chosen by the marginal likelihood if left out.
        iterations : int
            Of L-BFGS, at most.
        seed : int
            Of the initial weights and the order of rows.

        Returns
        -------
        dict
            ``prior_precision``, ``sigma_noise`` (regression; a list if every output has its own), ``loss``, ``gradient_norm``, ``notes``, …
        """
        family = one_of("likelihood", likelihood, LIKELIHOODS)
        name = None if family in ("classification", "regression") else family
        if noise_per_output:
            if family != "regression":
                raise ValueError("noise_per_output is for regression, where the noise is not an output or a rate")
            name = "gaussian-per-output"
        x = rows("X", X, self.inputs)
        targets = targets_of(y, family, self.outputs, len(x))
        precision = None if prior_precision is None else positive("prior_precision", prior_precision)
        with watcher(progress) as watch:
            found = _core.train(
                self._core.spec,
                x,
                *targets,
                weights_of(sample_weight),
                None if name is None else json.dumps(name),
                precision,
                whole("iterations", iterations, 1),
                whole("seed", seed),
                n_threads,
                watch,
            )
        self.theta = found.pop("theta")
        likelihood_found = json.loads(found.pop("likelihood"))
        found["prior_precision"] = json.loads(found["prior_precision"])
        if "sigma_noise" in likelihood_found:
            found["sigma_noise"] = likelihood_found["sigma_noise"]
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Network._of, (self._core.spec, self.theta)

    def __repr__(self) -> str:
        kinds = [layer.get("function", layer["type"]) for layer in self.spec["layers"]]
        return f"<Network: {self.inputs} inputs, {' → '.join(kinds)}, {self.outputs} outputs, {self.dim} weights>"


def targets_of(y: Any, likelihood: str, outputs: int, count: int) -> tuple[list[int] | None, Floats | None]:
    """Labels or values of ``count`` rows."""
    if likelihood == "classification":
        found = labels("y", y)
        if len(found) != count:
            raise ValueError(f"y: expected {count} labels (one per row of X), got {len(found)}")
        return found, None
    values = floats("y", y)
    if values.ndim == 1:
        values = values.reshape(-1, 1)
    width = outputs // 2 if likelihood == "heteroscedastic" else outputs
    if values.shape != (count, width):
        raise ValueError(f"y: expected shape ({count}, {width}), got {np.shape(y)}")
    return None, np.ascontiguousarray(values)


def weights_of(sample_weight: Any) -> Floats | None:
    """How often rows count; none if each counts once."""
    return None if sample_weight is None else floats("sample_weight", sample_weight, ndim=1)
