"""Precisions of large Gaussians: a Kronecker product per block, or a few directions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import Floats, floats

__all__ = ["KroneckerPrecision", "LowRankPrecision"]

Arrays = list[tuple[str, Floats]]


class LowRankPrecision:
    """P = diag(d) + Uᵀ diag(γ) U, with few rows of U.

    Parameters
    ----------
    diagonal : array of shape (K,)
        d, above 0.
    vectors : array of shape (r, K)
        U; any rows, not necessarily orthogonal.
    values : array of shape (r,), optional
        γ, at least 0; 1 if left out.

    Examples
    --------
    >>> import numpy as np, riemla
    >>> P = riemla.LowRankPrecision(np.ones(1000), np.ones((1, 1000)))
    >>> posterior = riemla.from_function(lambda t: (0.5 * (t @ t + t.sum() ** 2), t + t.sum()), np.zeros(1000), P)
    >>> posterior.dim
    1000
    """

    def __init__(self, diagonal: Any, vectors: Any, values: Any = None) -> None:
        d = floats("diagonal", diagonal, ndim=1)
        u = floats("vectors", vectors, ndim=2)
        gamma = np.ones(len(u)) if values is None else floats("values", values, ndim=1)
        if u.shape[1] != len(d) or len(gamma) != len(u):
            raise ValueError(
                f"vectors must have shape ({len(gamma)}, {len(d)}) for these values and diagonal, not {u.shape}"
            )
        if not (d > 0).all():
            raise ValueError(f"diagonal: entry [{int(np.argmin(d))}] is {d.min()}, but must be above 0")
        if not (gamma >= 0).all():
            raise ValueError(f"values: entry [{int(np.argmin(gamma))}] is {gamma.min()}, but must be at least 0")
        self.dim = len(d)
        self._root = np.sqrt(d)
        # diag(root)(I + V' diag(g) V)diag(root) with orthonormal rows V, by a thin singular value decomposition.
        scaled = np.sqrt(gamma)[:, None] * u / self._root
        _, singular, vectors = np.linalg.svd(scaled, full_matrices=False)
        order = np.argsort(singular**2)[::-1]
        self._values, self._vectors = singular[order] ** 2, vectors[order]

    def _parts(self) -> tuple[str, Arrays]:
        structure = json.dumps({"low-rank": {"rank": len(self._values)}})
        return structure, [
            ("root", self._root),
            ("vectors", np.ascontiguousarray(self._vectors)),
            ("values", self._values),
        ]

    def __repr__(self) -> str:
        return f"LowRankPrecision(dim={self.dim}, rank={len(self._values)})"


class KroneckerPrecision:
    """A block per tensor of weights: P = B ⊗ A + δI.

    Parameters
    ----------
    blocks : sequence of (B, A) or of B alone
        For a tensor of shape (outputs, inputs), B is outputs × outputs and A is inputs × inputs, both symmetric and
        positive semi-definite; for a vector (a bias) B alone. The blocks are in the order of the parameters.
    prior_precision : float or sequence of float
        δ, one for all blocks or one each.

    Examples
    --------
    >>> import numpy as np, riemla
    >>> P = riemla.KroneckerPrecision([(np.eye(2), np.diag([1.0, 2.0, 3.0])), np.eye(2)], prior_precision=0.5)
    >>> P.dim
    8
    """

    def __init__(self, blocks: Sequence[Any], prior_precision: Any = 0.0) -> None:
        deltas = np.broadcast_to(np.asarray(prior_precision, dtype=np.float64), (len(blocks),))
        self._arrays: Arrays = []
        self.dim = 0
        for i, (block, delta) in enumerate(zip(blocks, deltas)):
            pair = block if isinstance(block, (tuple, list)) else (block,)
            if len(pair) not in (1, 2):
                raise ValueError(f"block {i}: expected (B, A) or B, got {len(pair)} matrices")
            b = _eigen(f"B of block {i}", pair[0])
            a = _eigen(f"A of block {i}", pair[1]) if len(pair) == 2 else (np.ones(1), np.ones((1, 1)))
            self._add(i, a, b, float(delta))

    @classmethod
    def _from_eigen(cls, blocks: Sequence[tuple[Any, Any, float]]) -> KroneckerPrecision:
        """From (values, vectors in columns) of A and B, and δ."""
        made = cls([])
        for i, (a, b, delta) in enumerate(blocks):
            made._add(i, a, b, delta)
        return made

    def _add(self, i: int, a: Any, b: Any, delta: float) -> None:
        for name, (values, vectors) in (("a", a), ("b", b)):
            self._arrays.append((f"block.{i}.{name}.values", np.ascontiguousarray(values)))
            self._arrays.append((f"block.{i}.{name}.vectors", np.ascontiguousarray(vectors.T)))
        for name, number in (("bias", 0.0), ("scale", 1.0), ("prior_precision", delta)):
            self._arrays.append((f"block.{i}.{name}", np.array([number])))
        self.dim += len(a[0]) * len(b[0])

    def _parts(self) -> tuple[str, Arrays]:
        return json.dumps("kron"), self._arrays

    def __repr__(self) -> str:
        return f"KroneckerPrecision(dim={self.dim}, blocks={len(self._arrays) // 7})"


def _eigen(what: str, matrix: Any) -> tuple[Floats, Floats]:
    m = floats(what, matrix, ndim=2)
    if m.shape[0] != m.shape[1] or not np.allclose(m, m.T, rtol=1e-5, atol=1e-5 * np.abs(m).max()):
        raise ValueError(f"{what} must be square and symmetric, not of shape {m.shape}")
    values, vectors = np.linalg.eigh((m + m.T) / 2)
    if values[0] < -1e-6 * max(values[-1], 0.0) or values[-1] <= 0:
        raise ValueError(f"{what} must be positive semi-definite, but has the eigenvalue {values[0]:.3e}")
    return np.maximum(values, 0.0), vectors


def parts_of(precision: Any) -> tuple[str | None, Arrays | None]:
    """Structure and arrays that the library understands; none for a precision that is to be found."""
    if precision is None:
        return None, None
    if hasattr(precision, "_parts"):
        structure, arrays = precision._parts()
        return structure, arrays
    array = floats("precision", precision)
    if array.ndim not in (1, 2):
        raise ValueError(f"precision: expected shape (K, K) or (K,), got {array.shape}")
    return None, [("precision", array)]
