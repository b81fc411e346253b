"""Modules of torch as networks of riemla: by walking them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._arrays import Floats
from ._optional import require
from .network import Network

# Relative difference of outputs that passes as rounding of 64-bit arithmetic.
_AGREEMENT = 1e-8
_ADVICE = (
    "use riemla.from_laplace(laplace.Laplace(model, ...).fit(loader), loader) or riemla.from_function for models that "
    "riemla has no layers for"
)


@dataclass
class Converted:
    """A network with the names that its parameters have in the module."""

    network: Network
    names: dict[str, str]
    base: Callable[[], dict[str, Any]]


@dataclass
class _Walk:
    torch: Any
    layers: list[dict[str, Any]] = field(default_factory=list)
    tensors: list[tuple[str, Any]] = field(default_factory=list)
    # Entries of the state dict that become neutral because parameters take over what they do.
    neutral: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, layer: dict[str, Any], **tensors: tuple[str, Any]) -> None:
        for kind, (name, tensor) in tensors.items():
            self.tensors.append((f"{len(self.layers)}.{kind}|{name}", tensor.detach().to("cpu", self.torch.float64)))
        self.layers.append(layer)


def convert(module: Any, example: Floats) -> Converted:
    """The network of a module, compared with it on some inputs of shape (N, ...)."""
    torch = require("torch", "torch", "a torch module")
    model = copy.deepcopy(module).to("cpu", torch.float64).eval()
    walk = _Walk(torch)
    x = torch.from_numpy(np.ascontiguousarray(example))
    with torch.no_grad():
        _walk(walk, model, "", x)
    if walk.problems:
        listed = "; ".join(walk.problems)
        raise TypeError(f"these parts of the model cannot be converted: {listed}; {_ADVICE}")
    names = dict(entry.split("|") for entry, _ in walk.tensors)
    theta = np.concatenate([tensor.numpy().ravel() for _, tensor in walk.tensors] or [np.zeros(0)])
    shape = example.shape[1:]
    network = Network(shape[0] if len(shape) == 1 else shape, walk.layers, theta)
    _compare(network, model, x)
    return Converted(network, names, _Base({**module.state_dict(), **walk.neutral}))


class _Base:
    """The state dict of the trained module; a class, so that it pickles."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = {name: tensor.detach().clone() for name, tensor in state.items()}

    def __call__(self) -> dict[str, Any]:
        return dict(self.state)


def _compare(network: Network, model: Any, x: Any) -> None:
    torch = require("torch", "torch", "a torch module")
    with torch.no_grad():
        expected = model(x).reshape(len(x), -1).numpy()
    found = network(x.reshape(len(x), -1).numpy())
    scale = 1.0 + np.abs(expected).max()
    if found.shape != expected.shape or np.abs(found - expected).max() > _AGREEMENT * scale:
        raise TypeError(
            "the converted network does not give the outputs of the model: its forward pass does more than its layers "
            f"show; {_ADVICE}"
        )


def _walk(walk: _Walk, module: Any, name: str, x: Any) -> Any:
    """Adds the layers of a module; returns its output."""
    nn = walk.torch.nn
    prefix = f"{name}." if name else ""
    if isinstance(module, nn.Sequential):
        for child, part in module.named_children():
            if walk.problems:
                # Shapes beyond are unknown; the kinds of layers are still looked at.
                _name_kinds(walk, part, f"{prefix}{child}")
            else:
                x = _walk(walk, part, f"{prefix}{child}", x)
        return x
    return module(x) if _layer(walk, module, name, x) else x


def _name_kinds(walk: _Walk, module: Any, name: str) -> None:
    parts = dict(module.named_modules(prefix=name)) if isinstance(module, walk.torch.nn.Sequential) else {name: module}
    for place, part in parts.items():
        if not isinstance(part, _known(walk.torch)):
            walk.problems.append(f"{type(part).__name__} at {place!r}")


def _known(torch: Any) -> tuple[type, ...]:
    nn = torch.nn
    return (
        nn.Sequential, nn.Linear, nn.Conv2d, nn.AvgPool2d, nn.MaxPool2d, nn.AdaptiveAvgPool2d, nn.Flatten, nn.Identity,
        nn.Dropout, nn.Dropout2d, nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm, *_activations(torch),
    )  # fmt: skip


def _activations(torch: Any) -> dict[type, Callable[[Any], str]]:
    """The words that riemla has for them."""
    nn = torch.nn
    return {
        nn.Tanh: lambda _: "tanh",
        nn.Sigmoid: lambda _: "sigmoid",
        nn.Softplus: lambda module: f"softplus({float(module.beta)!r})",
        nn.GELU: lambda module: "gelu" if module.approximate == "none" else "gelu-tanh",
        nn.SiLU: lambda _: "silu",
        nn.ReLU: lambda _: "relu",
        nn.LeakyReLU: lambda module: f"leaky-relu({float(module.negative_slope)!r})",
        nn.ELU: lambda module: f"elu({float(module.alpha)!r})",
    }


def _layer(walk: _Walk, module: Any, name: str, x: Any) -> bool:
    """Adds one layer; false, with the problem noted, if there is none for it."""
    nn = walk.torch.nn
    kind = type(module)

    def problem(text: str) -> bool:
        walk.problems.append(f"{kind.__name__} at {name!r} ({text})" if text else f"{kind.__name__} at {name!r}")
        return False

    activation = _activations(walk.torch).get(kind)
    if activation is not None:
        walk.add({"type": "activation", "function": activation(module)})
    elif kind in (nn.Identity, nn.Dropout, nn.Dropout2d):
        walk.add({"type": "identity"})
    elif kind is nn.Flatten:
        if module.start_dim != 1 or module.end_dim != -1:
            return problem("only start_dim=1, end_dim=-1")
        walk.add({"type": "flatten"} if x.ndim > 2 else {"type": "identity"})
    elif kind is nn.Linear:
        if x.ndim != 2:
            return problem(f"on inputs of shape {tuple(x.shape[1:])}; add a Flatten")
        walk.add({"type": "linear", "outputs": module.out_features, "bias": module.bias is not None}, **_own(module, name))
    elif kind is nn.Conv2d:
        return _conv2d(walk, module, name, problem)
    elif kind in (nn.AvgPool2d, nn.MaxPool2d):
        if _pair(module.padding) != [0, 0] or module.ceil_mode or _pair(getattr(module, "dilation", 1)) != [1, 1]:
            return problem("padding, ceil_mode and dilation are not supported")
        pool = "average-pool" if kind is nn.AvgPool2d else "max-pool"
        walk.add({"type": pool, "kernel": _pair(module.kernel_size), "stride": _pair(module.stride or module.kernel_size)})
    elif kind is nn.AdaptiveAvgPool2d:
        sizes = [out or size for out, size in zip(_pair(module.output_size), x.shape[-2:])]
        if any(size % out for out, size in zip(sizes, x.shape[-2:])):
            return problem(f"{tuple(x.shape[-2:])} cannot be divided evenly")
        kernel = [int(size) // out for out, size in zip(sizes, x.shape[-2:])]
        walk.add({"type": "average-pool", "kernel": kernel, "stride": kernel})
    elif kind in (nn.BatchNorm1d, nn.BatchNorm2d):
        return _scale(walk, module, name, problem)
    elif kind is nn.LayerNorm:
        return _layer_norm(walk, module, name, x, problem)
    else:
        last = kind in (nn.Softmax, nn.LogSoftmax, nn.Softmax2d)
        return problem("leave it out: riemla applies the softmax itself" if last else "")
    return True


def _own(module: Any, name: str) -> dict[str, Any]:
    prefix = f"{name}." if name else ""
    tensors = {"weight": (f"{prefix}weight", module.weight)}
    if module.bias is not None:
        tensors["bias"] = (f"{prefix}bias", module.bias)
    return tensors


def _pair(value: Any) -> list[Any]:
    return [int(v) if v is not None else None for v in value] if isinstance(value, (tuple, list)) else [value, value]


def _conv2d(walk: _Walk, module: Any, name: str, problem: Callable[[str], bool]) -> bool:
    padding = module.padding
    if padding == "valid":
        padding = 0
    elif padding == "same":
        if any(k % 2 == 0 for k in module.kernel_size) or _pair(module.stride) != [1, 1]:
            return problem("padding='same' with an even kernel or a stride")
        padding = [d * (k // 2) for d, k in zip(_pair(module.dilation), module.kernel_size)]
    if module.padding_mode != "zeros":
        return problem("padding other than zeros is not supported")
    layer = {
        "type": "conv2d",
        "channels": module.out_channels,
        "kernel": _pair(module.kernel_size),
        "stride": _pair(module.stride),
        "padding": _pair(padding),
        "dilation": _pair(module.dilation),
        "groups": module.groups,
        "bias": module.bias is not None,
    }
    walk.add(layer, **_own(module, name))
    return True


def _scale(walk: _Walk, module: Any, name: str, problem: Callable[[str], bool]) -> bool:
    """A normalisation over batches, which in evaluation is a fixed factor and shift."""
    torch = walk.torch
    if module.running_mean is None or module.weight is None:
        return problem("only with running statistics and weights of its own")
    factor = module.weight.detach() / torch.sqrt(module.running_var + module.eps)
    shift = module.bias.detach() - module.running_mean * factor
    walk.add({"type": "scale"}, weight=(f"{name}.weight", factor), bias=(f"{name}.bias", shift))
    # In a state dict the statistics become those of no change: their part is in factor and shift.
    walk.neutral[f"{name}.running_mean"] = torch.zeros_like(module.running_mean)
    walk.neutral[f"{name}.running_var"] = torch.full_like(module.running_var, 1 - module.eps)
    return True


def _layer_norm(walk: _Walk, module: Any, name: str, x: Any, problem: Callable[[str], bool]) -> bool:
    if tuple(module.normalized_shape) != tuple(x.shape[1:]):
        return problem(f"over {tuple(module.normalized_shape)} of {tuple(x.shape[1:])}; only over the whole sample")
    affine = module.weight is not None
    if affine and module.bias is None:
        return problem("with factors but without shifts")
    layer = {"type": "layer-norm", "epsilon": module.eps, "affine": affine}
    walk.add(layer, **(_own(module, name) if affine else {}))
    return True


def loader_arrays(what: str, loader: Any) -> tuple[list[Any], list[Any]]:
    """All batches (X, y) of a loader."""
    inputs, targets = [], []
    for batch in loader:
        if not isinstance(batch, (tuple, list)) or len(batch) != 2:
            kind = type(batch).__name__
            raise TypeError(f"{what}: expected batches (X, y), got {kind}; give arrays as fit(X, y)")
        inputs.append(batch[0])
        targets.append(batch[1])
    if not inputs:
        raise ValueError(f"{what} has no batches")
    return inputs, targets


