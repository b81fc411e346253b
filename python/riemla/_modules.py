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
    # Entries of the state dict that become neutral because another layer takes over what they do.
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
        nn.Dropout, nn.Dropout2d, nn.BatchNorm1d, nn.BatchNorm2d, *_activations(torch),
    )  # fmt: skip


def _activations(torch: Any) -> dict[type, str]:
    nn = torch.nn
    return {
        nn.Tanh: "tanh",
        nn.Sigmoid: "sigmoid",
        nn.Softplus: "softplus",
        nn.GELU: "gelu",
        nn.SiLU: "silu",
        nn.ReLU: "relu",
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
        plain = getattr(module, "approximate", "none") == "none" and getattr(module, "beta", 1) == 1
        if not plain:
            return problem("only the exact form")
        walk.add({"type": "activation", "function": activation})
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
        return _fold(walk, module, name, problem)
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
        padding = [k // 2 for k in module.kernel_size]
    if module.groups != 1 or _pair(module.dilation) != [1, 1] or module.padding_mode != "zeros":
        return problem("groups, dilation and padding other than zeros are not supported")
    layer = {
        "type": "conv2d",
        "channels": module.out_channels,
        "kernel": _pair(module.kernel_size),
        "stride": _pair(module.stride),
        "padding": _pair(padding),
        "bias": module.bias is not None,
    }
    walk.add(layer, **_own(module, name))
    return True


def _fold(walk: _Walk, module: Any, name: str, problem: Callable[[str], bool]) -> bool:
    """Folds a normalisation, which in evaluation is a fixed scale and shift, into the layer before it."""
    torch = walk.torch
    if not walk.layers or walk.layers[-1]["type"] not in ("linear", "conv2d") or module.running_mean is None:
        return problem("only directly after Linear or Conv2d, with running statistics")
    index = len(walk.layers) - 1
    scale = 1.0 / torch.sqrt(module.running_var + module.eps)
    if module.weight is not None:
        scale = scale * module.weight.detach()
    shift = (module.bias.detach() if module.bias is not None else 0.0) - module.running_mean * scale
    own = {entry.split("|")[0]: i for i, (entry, _) in enumerate(walk.tensors)}
    at = own[f"{index}.weight"]
    entry, weight = walk.tensors[at]
    walk.tensors[at] = (entry, weight * scale.reshape(-1, *[1] * (weight.ndim - 1)))
    if walk.layers[index]["bias"]:
        entry, bias = walk.tensors[own[f"{index}.bias"]]
        walk.tensors[own[f"{index}.bias"]] = (entry, bias * scale + shift)
    elif module.bias is None:
        return problem("without a bias of its own, after a layer without one")
    else:
        # The shift stays where it was: in the normalisation.
        walk.layers[index]["bias"] = True
        walk.tensors.append((f"{index}.bias|{name}.bias", shift))
    neutral = {"running_mean": torch.zeros_like(module.running_mean), "running_var": torch.full_like(module.running_var, 1 - module.eps)}
    if module.weight is not None:
        neutral |= {"weight": torch.ones_like(module.weight), "bias": torch.zeros_like(module.bias)}
    walk.neutral |= {f"{name}.{key}": value.detach() for key, value in neutral.items()}
    walk.add({"type": "identity"})
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


