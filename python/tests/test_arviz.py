"""Draws in ArviZ."""

from __future__ import annotations

import numpy as np
import pytest

import riemla

arviz = pytest.importorskip("arviz", reason="pip install 'riemla[arviz]'")


def group(data, name):
    return data[name] if hasattr(data, "children") else getattr(data, name)


def test_draws_by_name_with_statistics_and_attributes():
    posterior = riemla.from_function(lambda t: (0.5 * t @ t, t), np.zeros(3), np.eye(3), parameters={"a": (), "b": (2,)})
    draws = posterior.sample(40, seed=1)
    data = draws.to_arviz()
    found = group(data, "posterior")
    assert found["b"].shape == (1, 40, 2) and np.array_equal(found["b"].values[0], draws["b"])
    assert np.array_equal(group(data, "sample_stats")["loss_end"].values[0], draws.diagnostics["loss_end"])
    assert found.attrs["method"] == "riem-la" and found.attrs["seed"] == 1
    assert list(arviz.summary(data).index) == ["a", "b[0]", "b[1]"]


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_chains_stay_chains(moons, trained_moons):
    la = riemla.Laplace(trained_moons, "classification", "last_layer", prior_precision=0.3).fit(*moons)
    draws = la.sample(41, method="nuts", chains=2, warmup=100)
    data = draws.to_arviz()
    values = group(data, "posterior")["2.bias"].values
    assert values.shape == (2, 20, 2)
    assert np.array_equal(values[1, 3], draws["2.bias"][7])
    assert group(data, "sample_stats")["diverging"].dtype == bool


def test_both_major_versions_are_spoken(monkeypatch):
    draws = riemla.from_function(lambda t: (0.5 * t @ t, t), np.zeros(2), np.eye(2)).sample(20, seed=1)
    seen = []

    class Group:
        def __init__(self):
            self.attrs = {}

    class New:
        __version__ = "1.2.0"

        @staticmethod
        def from_dict(data, **kwargs):
            seen.append(("new", sorted(data), kwargs))
            return {"posterior": Group()}

    class Old:
        __version__ = "0.20.0"

        @staticmethod
        def from_dict(posterior=None, sample_stats=None, **kwargs):
            seen.append(("old", sorted(posterior), kwargs))
            return type("InferenceData", (), {"posterior": Group()})()

    import sys

    for module in (New, Old):
        monkeypatch.setitem(sys.modules, "arviz", module)
        draws.to_arviz(coords={})
    assert seen == [("new", ["posterior", "sample_stats"], {"coords": {}}), ("old", ["theta"], {"coords": {}})]
