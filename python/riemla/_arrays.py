"""Arrays of any library as NumPy arrays of 64-bit floats, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._optional import is_tensor

Floats = NDArray[np.float64]


def numpy_of(what: str, value: Any) -> NDArray[Any]:
    """A NumPy array of whatever holds numbers: arrays, tensors on any device, frames, lists."""
    if is_tensor(value):
        value = value.detach().to("cpu")
        # NumPy has no bfloat16.
        value = value.double() if value.is_floating_point() else value
        value = value.numpy()
    if hasattr(value, "toarray"):
        raise TypeError(f"{what}: sparse arrays are not supported; call toarray() first")
    try:
        array = np.asarray(value)
    except Exception as error:
        raise ValueError(f"{what} cannot be read as an array: {error}") from error
    if np.iscomplexobj(array):
        raise ValueError(f"{what}: complex numbers are not supported")
    return array


def floats(what: str, value: Any, *, ndim: int | None = None) -> Floats:
    """An array of 64-bit floats, all finite; converted without loss of what was there."""
    array = numpy_of(what, value)
    if array.dtype != np.float64:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} must hold numbers, not {array.dtype}: {error}") from error
    if not array.dtype.isnative:
        array = array.astype(np.float64)
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{what}: expected {ndim} dimensions, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{what} is empty: shape {array.shape}")
    if not np.isfinite(array).all():
        where = np.unravel_index(int(np.argmin(np.isfinite(array))), array.shape)
        place = ", ".join(str(int(i)) for i in where)
        raise ValueError(f"{what}: entry [{place}] is {array[where]}; remove or impute such entries first")
    return array


def rows(what: str, value: Any, width: int | None = None) -> Floats:
    """Inputs with one sample per row; images and the like are flattened row by row."""
    array = floats(what, value)
    if array.ndim == 1 and width == 1:
        array = array.reshape(-1, 1)
    if array.ndim < 2:
        raise ValueError(f"{what}: expected one row per sample, got shape {array.shape}; use reshape(1, -1) for one")
    flat = array.reshape(array.shape[0], -1)
    if width is not None and flat.shape[1] != width:
        raise ValueError(f"{what}: expected {width} numbers per row, got {flat.shape[1]} (shape {array.shape})")
    return np.ascontiguousarray(flat)


def labels(what: str, value: Any) -> list[int]:
    """Class labels counted from 0."""
    array = numpy_of(what, value)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what}: expected one label per row, got shape {array.shape}")
    if array.dtype.kind in "iub":
        return [int(label) for label in array]
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.round(array)).all():
        return [int(label) for label in array]
    raise ValueError(
        f"{what}: class labels must be whole numbers counted from 0, not {array.dtype}; "
        "np.unique(y, return_inverse=True) makes such labels, and RiemlaClassifier takes any"
    )
