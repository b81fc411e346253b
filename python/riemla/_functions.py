"""Functions of different libraries as functions of NumPy arrays."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._arrays import floats
from ._optional import is_tensor
from .exceptions import OutsideDomain, RiemlaWarning

_SIGNATURE = "(int64, float64*, float64*) -> float64"


@dataclass
class Call:
    """What the library calls: a Python function, or a compiled one by its address."""

    value_and_grad: Callable[..., Any]
    value: Callable[..., Any] | None
    address: int | None


def adapt(function: Callable[..., Any], value: Callable[..., Any] | None, theta: Any) -> Call:
    """A function as the library calls it, tried once at ``theta``."""
    if hasattr(function, "address") and hasattr(function, "_sig"):
        return _compiled(function, value)
    if not callable(function):
        raise TypeError(f"value_and_grad must be callable, not {type(function).__name__}")
    if value is not None and not callable(value):
        raise TypeError(f"value must be callable, not {type(value).__name__}")
    if is_tensor(theta):
        call = Call(_of_tensors(function, theta), _of_tensors(value, theta) if value else None, None)
    else:
        call = Call(function, value, None)
    _try(call.value_and_grad, floats("theta", theta, ndim=1))
    return call


def _compiled(function: Any, value: Callable[..., Any] | None) -> Call:
    found = str(function._sig)
    if found != _SIGNATURE:
        raise TypeError(
            f"the compiled function has the signature {found}, but must have {_SIGNATURE}: "
            "numba.cfunc('float64(intp, CPointer(float64), CPointer(float64))')"
        )
    if value is not None:
        raise TypeError("value does not go with a compiled function")
    return Call(function, None, int(function.address))


def _of_tensors(function: Callable[..., Any], like: Any) -> Callable[..., Any]:
    """Hands over tensors of the caller's type and device."""
    import torch

    def plain(result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(plain(part) for part in result)
        if is_tensor(result):
            result = result.detach()
            return float(result) if result.ndim == 0 else result.to("cpu", torch.float64).numpy()
        return result

    def call(theta: Any) -> Any:
        return plain(function(torch.from_numpy(theta).to(device=like.device, dtype=like.dtype)))

    return call


def _try(function: Callable[..., Any], theta: Any) -> None:
    """Mistakes that would else show only in the middle of a run."""
    try:
        result = function(np.array(theta))
    except OutsideDomain as error:
        raise ValueError(f"theta is outside of the domain of the function: {error}") from error
    parts = result if isinstance(result, tuple) else ()
    if len(parts) == 2 and all(np.ndim(part) == 0 or np.size(part) == 1 for part in parts[:1]):
        number = float(np.asarray(parts[0]).reshape(()))
        if not math.isfinite(number):
            raise ValueError(f"the function is {number} at theta, but must be finite there")
    if any(getattr(part, "dtype", None) == np.float32 for part in parts):
        warnings.warn(
            "the function returns 32-bit floats: geodesics need the loss to about 1e-10 of its size; use float64 "
            "(JAX: jax.config.update('jax_enable_x64', True); torch: theta.double())",
            RiemlaWarning,
            stacklevel=6,
        )
