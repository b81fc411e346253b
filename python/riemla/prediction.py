"""Predictions with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

from . import _core
from ._arrays import Floats
from .network import targets_of

__all__ = ["Prediction"]


class Prediction:
    """What a posterior says about some inputs.

    Attributes
    ----------
    probabilities : ndarray of shape (N, C), or None
        Probabilities of classes, or that labels are 1; None for numbers and counts.
    mean : ndarray of shape (N, C), or None
        Means, of counts their rates; None for classes and labels.
    total, aleatoric, epistemic : ndarray
        Uncertainty and its two parts: noise of the data, and unknown weights, which more data would remove. Entropies
        in nats, one per row (of labels, one per label; the parts are None in closed form), or variances, one per target.
    """

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.probabilities: Floats | None = found.get("probabilities")
        self.mean: Floats | None = found.get("mean")
        self.total: Floats = found["total"]
        self.aleatoric: Floats | None = found["aleatoric"]
        self.epistemic: Floats | None = found["epistemic"]
        self._counts = bool(found.get("counts", False))

    @property
    def std(self) -> Floats:
        """Standard deviation of a new observation, noise included (numbers and counts)."""
        if self.mean is None:
            raise AttributeError("classes have no standard deviation: use total, aleatoric and epistemic")
        std: Floats = np.sqrt(self.total)
        return std

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of intervals that hold a new observation with probability ``level`` (numbers and counts).

        Those of counts are whole numbers: quantiles of a Poisson variable whose rate is gamma distributed with the mean and
        variance of the draws.
        """
        if not 0 < level < 1:
            raise ValueError(f"level is {level}, but must be above 0 and below 1")
        if self.mean is None:
            raise AttributeError("classes have no intervals: use probabilities")
        if self._counts and self.epistemic is not None:
            return _core.count_intervals(self.mean, self.epistemic, level)
        width = NormalDist().inv_cdf(0.5 + level / 2) * self.std
        return self.mean - width, self.mean + width

    def fit_temperature(self, y: Any, *, careful: bool = True) -> float:
        """The temperature that makes these predictions as confident as the targets ``y`` warrant.

        Fit it to rows that played no part in training, and predict new rows ``at_temperature``. The average over draws is
        scaled, not every draw: probabilities become p^(1/T), normalised; standard deviations are multiplied by T.

        Parameters
        ----------
        y : array-like
            Class labels 0, 1, …, or labels or numbers in the shape of ``probabilities`` or ``mean``.
        careful : bool, default=True
            The temperature closest to 1 that ``y`` does not reject (likelihood ratio test at 1 %), instead of the best:
            overconfidence costs more than underconfidence. Have at least 50 rows, some of them misclassified.

        Returns
        -------
        float
            Below 1 where predictions are underconfident, above 1 where they are overconfident.
        """
        kind = "classification" if self.total.ndim == 1 else "values"
        shape = self.total.shape if self.probabilities is None else self.probabilities.shape
        best, closest = _core.fit_temperature(self._arrays(), *targets_of(y, kind, shape[1], shape[0]))
        return closest if careful else best

    def at_temperature(self, temperature: float) -> Prediction:
        """The same prediction, more confident (``temperature`` below 1) or less (above 1); see :meth:`fit_temperature`.

        The two parts of the uncertainty keep their shares.
        """
        return Prediction(_core.at_temperature(self._arrays(), float(temperature)))

    def _arrays(self) -> dict[str, Any]:
        names = ("probabilities", "mean", "total", "aleatoric", "epistemic")
        arrays: dict[str, Any] = {name: getattr(self, name) for name in names}
        return {**arrays, "counts": self._counts}

    def __repr__(self) -> str:
        if self.probabilities is not None:
            rows, classes = self.probabilities.shape
            return f"<Prediction: {rows} rows, {classes} classes>"
        rows, outputs = self.total.shape
        return f"<Prediction: {rows} rows, {outputs} outputs>"
