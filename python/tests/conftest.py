"""What tests have in common. With the variable CI set nothing is skipped: what is missing is a failure."""

from __future__ import annotations

import os
from pathlib import Path

# Before SciPy is imported: scikit-learn else skips two of its checks.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

import riemla  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def pytest_terminal_summary(terminalreporter):
    """Says what was not tested, and what to install."""
    skipped = terminalreporter.stats.get("skipped", [])
    place = os.environ.get("RIEMLA_SKIPPED")
    if skipped and place:
        with open(place, "a") as file:
            file.writelines(f"python: {report.nodeid}: {report.longrepr[2]}\n" for report in skipped)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be skipped: {report.longrepr[2]}"


@pytest.fixture(scope="session")
def command():
    """The command `riemla`."""
    named = os.environ.get("RIEMLA_COMMAND")
    places = [Path(named)] if named else [ROOT / "target" / kind / "riemla" for kind in ("debug", "release")]
    for place in places:
        if place.is_file():
            return str(place)
    pytest.skip("the command is not built: cargo build -p riemla-cli")


@pytest.fixture(scope="session")
def moons():
    """Two noisy half circles."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, np.pi, size=60)
    y = np.arange(60) % 2
    x = np.where(y == 0, np.cos(angle), 1 - np.cos(angle))
    z = np.where(y == 0, np.sin(angle), 0.5 - np.sin(angle))
    return np.stack([x, z], axis=1) + rng.normal(scale=0.15, size=(60, 2)), y


@pytest.fixture(scope="session")
def waves():
    """A noisy sine with a gap."""
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(-2, -0.5, 25), rng.uniform(0.8, 2, 25)])
    return x[:, None], (np.sin(2 * x) + rng.normal(scale=0.1, size=50))[:, None]


@pytest.fixture(scope="session")
def trained_moons(moons):
    network = riemla.Network.mlp([2, 8, 2], "tanh")
    network.train(*moons, prior_precision=0.3)
    return network


@pytest.fixture(scope="session")
def trained_waves(waves):
    network = riemla.Network.mlp([1, 10, 1], "tanh")
    found = network.train(*waves, "regression")
    return network, found
