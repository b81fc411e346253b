"""Temperatures of predictions: against scikit-learn's, and laws."""

from __future__ import annotations

import numpy as np
import pytest

import riemla
from riemla.prediction import Prediction


def average(rows: int, classes: int, seed: int, spread: float = 1.0) -> tuple[Prediction, np.ndarray]:
    """An average that is less sure than its labels, which follow its probabilities squared."""
    rng = np.random.default_rng(seed)
    outputs = spread * rng.normal(size=(5, rows, classes))
    found = Prediction(riemla._core.predict_outputs(outputs, None))
    sharp = found.probabilities**2 / (found.probabilities**2).sum(axis=1, keepdims=True)
    return found, np.array([rng.choice(classes, p=p) for p in sharp])


def test_it_is_the_temperature_of_scikit_learn():
    calibration = pytest.importorskip("sklearn.calibration")
    frozen = pytest.importorskip("sklearn.frozen")
    base = pytest.importorskip("sklearn.base")
    found, y = average(400, 3, 1)

    class Known(base.ClassifierMixin, base.BaseEstimator):
        def fit(self, x, y):
            self.classes_ = np.arange(3)
            return self

        def predict(self, x):
            return self.predict_proba(x).argmax(axis=1)

        def predict_proba(self, x):
            return found.probabilities[x[:, 0].astype(int)]

    x = np.arange(400.0)[:, None]
    theirs = calibration.CalibratedClassifierCV(frozen.FrozenEstimator(Known().fit(None, None)), method="temperature", ensemble=False)
    theirs.fit(x, y)
    best = found.fit_temperature(y, careful=False)
    assert best < found.fit_temperature(y) < 1 and best < 0.7
    ours = found.at_temperature(best)
    assert np.abs(ours.probabilities - theirs.predict_proba(x)).max() < 1e-4


def test_parts_add_up_and_one_changes_nothing():
    found, _ = average(50, 4, 2)
    same = found.at_temperature(1.0)
    assert np.allclose(same.probabilities, found.probabilities, atol=1e-15)
    sharp = found.at_temperature(0.5)
    assert np.allclose(sharp.total, sharp.aleatoric + sharp.epistemic)
    assert np.allclose(sharp.epistemic / sharp.total, found.epistemic / found.total)
    assert (sharp.total < found.total).all()


def test_chance_alone_moves_nothing_unless_asked():
    found, _ = average(60, 3, 3)
    rng = np.random.default_rng(4)
    y = np.array([rng.choice(3, p=p) for p in found.probabilities])
    assert found.fit_temperature(y) == 1.0
    assert found.fit_temperature(y, careful=False) != 1.0


def test_numbers_are_scaled_by_their_error():
    rng = np.random.default_rng(5)
    outputs = rng.normal(size=(4, 80, 1))
    found = Prediction(riemla._core.predict_outputs(outputs, 0.5))
    y = found.mean + 3.0 * found.std * rng.normal(size=(80, 1))
    temperature = found.fit_temperature(y, careful=False)
    assert 1 < found.fit_temperature(y) < temperature
    assert temperature == pytest.approx(np.sqrt((((y - found.mean) / found.std) ** 2).mean()))
    assert np.allclose(found.at_temperature(temperature).std, temperature * found.std)


def test_mistakes_say_what_to_do():
    found, y = average(20, 3, 6)
    with pytest.raises(ValueError, match="expected 20 labels"):
        found.fit_temperature(y[:5])
    with pytest.raises(ValueError, match="below 3"):
        found.fit_temperature(np.full(20, 3))
    with pytest.raises(ValueError, match="above 0"):
        found.at_temperature(0.0)
