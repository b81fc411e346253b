"""Posteriors of any function with a gradient."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _core
from ._arrays import Floats, floats
from ._functions import adapt
from ._progress import Watcher, watcher
from ._sampling import MAX_WEIGHTS, Sampling
from ._settings import run_config, whole
from ._tasks import pack
from .draws import Draws, Shapes
from .precision import parts_of

__all__ = ["Posterior", "from_function"]

_METHODS = ("riem-la", "la", "map", "nuts")


class Posterior:
    """A function with a Gaussian at its minimum, from which draws are carried along geodesics.

    Made by :func:`from_function` and :func:`from_laplace`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        theta: Any,
        precision: Any,
        *,
        value: Callable[..., Any] | None,
        parameters: Shapes,
        rank: int,
        n_threads: int | None,
        progress: bool | Watcher | None,
        base: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        self._function, self._value, self._like = function, value, theta
        self._parameters, self._base, self._n_threads = parameters, base, n_threads
        self._draws: Draws | None = None
        self._sampling = Sampling()
        center = floats("theta", theta, ndim=1)
        call = adapt(function, value, theta)
        structure, arrays = parts_of(precision)
        with watcher(progress) as watch:
            self._core = _core.Function(
                call.value_and_grad, call.value, call.address, center, structure, arrays, rank, n_threads, watch
            )

    @property
    def dim(self) -> int:
        """Number of parameters K."""
        return self._core.dim

    @property
    def theta(self) -> Floats:
        """The centre of the Gaussian."""
        return self._core.theta

    @property
    def log_det_precision(self) -> float:
        """log det P of the Gaussian."""
        return self._core.log_det

    def value_and_grad(self, theta: Any) -> tuple[float, Floats]:
        """The function itself, as riemla sees it."""
        return self._core.value_and_gradient(floats("theta", theta, ndim=1))

    def sample(
        self,
        n_samples: int = 100,
        *,
        method: str = "riem-la",
        seed: int = 1,
        metric: str | None = None,
        strength: str | float | None = None,
        tolerance: float | None = None,
        max_steps: int | None = None,
        polish: int | str | None = None,
        seconds: float | None = None,
        store: str | os.PathLike[str] | None = None,
        executor: Any = None,
        threads_per_worker: int = 1,
        max_weights: int = MAX_WEIGHTS,
        n_threads: int | None = None,
        progress: bool | Watcher | None = None,
        **options: Any,
    ) -> Draws:
        """Draw from the posterior.

        Parameters
        ----------
        n_samples : int
            Number of draws.
        method : {"riem-la", "la", "map", "nuts"}
            ``riem-la`` follows geodesics of the loss, ``la`` draws from the Gaussian. ``nuts`` runs Markov chains to compare
            with; they need about 1000 draws.
        seed : int
            The same seed gives the same draws, on any number of threads.
        metric : {"preconditioned", "loss"}, optional
            Of the loss relative to the Gaussian (the default), or the paper's.
        strength : {"auto", "virial", "loss-rise"} or float, optional
            Of the metric: a rule that finds it, or a number (smaller lets draws go further).
        tolerance, max_steps : optional
            Of the integrator of geodesics; 1e-5 and 100000.
        polish : int or "auto", optional
            Continue every draw by a Markov chain (Hamiltonian, with Metropolis tests) of about this many gradients of the
            function, which brings it closer to the exact posterior; "auto" takes as many as it takes until the loss of
            pilot chains no longer changes. ``draws.summary["polish"]`` and ``draws.warnings`` say whether that was enough.
            None is 100 for riem-la (0 in batches and for other methods), 0 is geodesics alone.
        seconds : float, optional
            Stop after this time and keep what is finished.
        store : path, optional
            A directory in which each draw is kept as soon as it is finished. The same call continues after a
            crash, Ctrl-C or the end of its time.
        executor : optional
            Anything with ``submit``: a pool of ``concurrent.futures`` or ``mpi4py.futures``, of a Dask client its
            ``get_executor()``, loky. Its workers take the draws, with the same bits. The function must pickle, if
            cloudpickle is installed by that.
        threads_per_worker : int
            Draws that a worker takes at a time; libraries with threads of their own (torch, BLAS) are given as many.
        max_weights : int
            Of nuts: refuse more parameters than this.
        n_threads : int, optional
            As when the posterior was made if left out: all cores, for :func:`from_laplace` one.
        progress : bool, optional
            Bars of tqdm: where somebody is watching if left out.
        **options
            Settings of nuts (``chains``, ``warmup``).

        Returns
        -------
        Draws

        Notes
        -----
        Ctrl-C ends the run and returns the finished draws (``draws.stopped``); ``KeyboardInterrupt`` is raised if
        there are none. An exception of the function ends the run and comes out as itself. :class:`WorkersLost` is raised
        if workers of the executor died; the same call takes the draws that are missing.
        """
        config = run_config(
            method,
            metric=metric,
            strength=strength,
            tolerance=tolerance,
            max_steps=max_steps,
            polish=polish,
            methods=_METHODS,
            **options,
        )
        found = self._sampling(
            self._core,
            config,
            n_samples,
            seed,
            threads=self._n_threads if n_threads is None else n_threads,
            pack=lambda: pack(_core_of, (self._function, self._value, self._like, *self._core.precision())),
            executor=executor,
            threads_per_worker=threads_per_worker,
            seconds=seconds,
            store=store,
            max_weights=max_weights,
            progress=progress,
        )
        self._draws = Draws(found, self._parameters, base=self._base)
        self._draws._warn(stacklevel=2)
        return self._draws

    def __repr__(self) -> str:
        return f"<Posterior of a function of {self.dim} parameters>"

    def __reduce__(self) -> tuple[Any, ...]:
        structure, arrays = self._core.precision()
        state = (self._function, self._value, self._like, structure, arrays, dict(self._parameters), self._base)
        return _restore, state


class Parts:
    """A precision that was taken apart."""

    def __init__(self, structure: str, arrays: list[tuple[str, Floats]]) -> None:
        self._structure, self._arrays = structure, arrays

    def _parts(self) -> tuple[str, list[tuple[str, Floats]]]:
        return self._structure, self._arrays


def _core_of(function: Any, value: Any, theta: Any, structure: str, arrays: Any) -> _core.Function:
    """What a worker takes draws from."""
    call = adapt(function, value, theta)
    center = floats("theta", theta, ndim=1)
    return _core.Function(call.value_and_grad, call.value, call.address, center, structure, arrays, 1, 1, None)


def _restore(
    function: Any, value: Any, theta: Any, structure: str, arrays: Any, parameters: Shapes, base: Any
) -> Posterior:
    return Posterior(
        function,
        theta,
        Parts(structure, arrays),
        value=value,
        parameters=parameters,
        rank=1,
        n_threads=None,
        progress=False,
        base=base,
    )


def _shapes(parameters: Mapping[str, Any] | None, dim: int) -> Shapes:
    if parameters is None:
        return {"theta": (dim,)}
    shapes = {str(name): tuple(int(n) for n in np.atleast_1d(shape)) if shape != () else () for name, shape in parameters.items()}
    total = sum(int(np.prod(shape)) for shape in shapes.values())
    if total != dim:
        raise ValueError(f"parameters have {total} numbers together, but theta has {dim}")
    return shapes


def from_function(
    value_and_grad: Callable[..., Any],
    theta: Any,
    precision: Any = None,
    *,
    value: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    rank: int = 100,
    n_threads: int | None = None,
    progress: bool | Watcher | None = None,
) -> Posterior:
    """A posterior of any function with a gradient.

    Parameters
    ----------
    value_and_grad : callable
        ``value_and_grad(theta) -> (value, gradient)``: minus the log-density of the posterior, up to a constant, and
        its gradient of shape (K,). NumPy, ``jax.jit(jax.value_and_grad(f))``, a torch function (if ``theta`` is a
        tensor; ``torch.func.grad_and_value(f)`` is accepted too), or a numba ``cfunc`` with the signature
        ``float64(intp, CPointer(float64), CPointer(float64))`` for (K, theta, gradient), which runs without the
        interpreter's lock. It is called from several threads. ``nan``, ``inf`` or :class:`OutsideDomain` mean
        "outside of the domain"; any other exception ends the run and comes out as itself.
    theta : array of shape (K,)
        A minimum of the function.
    precision : array of shape (K, K) or (K,), LowRankPrecision, KroneckerPrecision, optional
        Of the Gaussian at ``theta``. If left out, the Hessian there: by differences of the gradient up to 2000
        parameters, beyond by its largest eigenpairs.
    value : callable, optional
        ``value(theta)`` alone, where that is cheaper.
    parameters : dict of str to shape, optional
        Names and shapes of the parameters, in order, for ``draws[name]``.
    rank : int
        Eigenpairs of the Hessian beyond 2000 parameters.
    n_threads, progress : optional
        As in :meth:`Posterior.sample`.

    Returns
    -------
    Posterior

    Examples
    --------
    A banana-shaped density, which no Gaussian covers:

    >>> import numpy as np, riemla
    >>> def banana(theta):
    ...     x, y = theta
    ...     d = y - x * x
    ...     return 0.5 * x * x + 8 * d * d, np.array([x - 32 * x * d, 16 * d])
    >>> posterior = riemla.from_function(banana, np.zeros(2))
    >>> draws = posterior.sample(200, seed=1, metric="loss")
    >>> bool(draws.theta[:, 1].mean() > 0.2)  # 1 for exact draws, 0 for the Gaussian
    True
    >>> round(draws.summary["virial_ratio"])  # 1 for exact draws, 56 for the Gaussian
    1
    """
    center = floats("theta", theta, ndim=1)
    return Posterior(
        value_and_grad,
        theta,
        precision,
        value=value,
        parameters=_shapes(parameters, len(center)),
        rank=whole("rank", rank, 1),
        n_threads=n_threads,
        progress=progress,
    )
