"""What riemla raises and warns of besides the exceptions of Python."""

from __future__ import annotations

__all__ = ["OutsideDomain", "RiemlaWarning", "WorkersLost"]


class OutsideDomain(ValueError):
    """Raise this in a function for a point where it is not defined.

    A geodesic that meets such a point takes smaller steps, and is redrawn if it cannot get past it. Any other
    exception ends the run and comes out as itself. Returning ``nan`` or ``inf`` means the same.

    Examples
    --------
    >>> import numpy as np, riemla
    >>> def gamma(theta):
    ...     if theta[0] <= 0:
    ...         raise riemla.OutsideDomain("a rate is above 0")
    ...     return 9 * theta[0] - 9 * np.log(theta[0]), 9 - 9 / theta
    >>> posterior = riemla.from_function(gamma, np.array([1.0]))
    >>> bool((posterior.sample(50, seed=1).theta > 0).all())
    True
    """

    is_recoverable = True


class RiemlaWarning(UserWarning):
    """Something about a fit or a set of draws that one should know before trusting it."""


class WorkersLost(RuntimeError):
    """The workers of an executor died or never answered, also when asked again.

    Draws that came back are kept, in the directory ``store=`` or else in the posterior: the same call takes the rest.
    """
