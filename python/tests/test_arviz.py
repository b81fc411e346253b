"""Draws in ArviZ."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

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


@pytest.mark.parametrize("major", [0, 1])
def test_the_other_major_version(major):
    """The tests of this file with the other version of the real ArviZ, which .ci/run puts into target/arviz."""
    place = ROOT / "target" / "arviz" / str(major)
    if int(arviz.__version__.split(".")[0]) == major:
        return
    if not place.is_dir():
        pytest.skip(f"ArviZ {major} is not installed beside {arviz.__version__}: see .ci/run")
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "not other_major"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")]), "ARVIZ_MAJOR": str(major)},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert found.returncode == 0, found.stdout


def test_the_version_is_the_one_that_was_asked_for():
    wanted = os.environ.get("ARVIZ_MAJOR")
    assert wanted is None or arviz.__version__.split(".")[0] == wanted
    data = riemla.from_function(lambda t: (0.5 * t @ t, t), np.zeros(2), np.eye(2)).sample(20, seed=1).to_arviz()
    kind = "InferenceData" if arviz.__version__.startswith("0.") else "DataTree"
    assert type(data).__name__ == kind
