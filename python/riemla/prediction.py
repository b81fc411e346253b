"""Predictions with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

from ._arrays import Floats

__all__ = ["Prediction"]


class Prediction:
    """What a posterior says about some inputs.

    Attributes
    ----------
    probabilities : ndarray of shape (N, C), or None
        Class probabilities; None in regression.
    mean : ndarray of shape (N, C), or None
        Means; None in classification.
    total, aleatoric, epistemic : ndarray
        Uncertainty and its two parts: noise of the data, and unknown weights, which more data would remove. Entropies
        in nats, one per row (classification; the parts are None in closed form), or variances, one per output.
    """

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.probabilities: Floats | None = found.get("probabilities")
        self.mean: Floats | None = found.get("mean")
        self.total: Floats = found["total"]
        self.aleatoric: Floats | None = found["aleatoric"]
        self.epistemic: Floats | None = found["epistemic"]

    @property
    def std(self) -> Floats:
        """Standard deviation of a new observation, noise included (regression)."""
        if self.mean is None:
            raise AttributeError("classes have no standard deviation: use total, aleatoric and epistemic")
        std: Floats = np.sqrt(self.total)
        return std

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of intervals that hold a new observation with probability ``level`` (regression)."""
        if not 0 < level < 1:
            raise ValueError(f"level is {level}, but must be above 0 and below 1")
        if self.mean is None:
            raise AttributeError("classes have no intervals: use probabilities")
        width = NormalDist().inv_cdf(0.5 + level / 2) * self.std
        return self.mean - width, self.mean + width

    def __repr__(self) -> str:
        if self.probabilities is not None:
            rows, classes = self.probabilities.shape
            return f"<Prediction: {rows} rows, {classes} classes>"
        rows, outputs = self.total.shape
        return f"<Prediction: {rows} rows, {outputs} outputs>"
