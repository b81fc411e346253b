"""The package itself: stubs, types, examples in docstrings and pages."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys

import pytest
from conftest import ROOT

import riemla

MODULES = sorted(module.name for module in pkgutil.iter_modules(riemla.__path__) if module.name != "_core")


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_examples_of_docstrings_run(name):
    if name == "estimators":
        pytest.importorskip("sklearn", reason="pip install 'riemla[sklearn]'")
    module = importlib.import_module(f"riemla.{name}")
    result = doctest.testmod(module)
    assert result.failed == 0


def test_everything_public_has_a_docstring():
    for name in riemla.__all__:
        if name != "__version__":
            assert getattr(riemla, name).__doc__, name
    assert set(riemla.__all__) <= set(dir(riemla))
    with pytest.raises(AttributeError, match="has no attribute 'Laplacian'"):
        riemla.Laplacian


def test_the_stubs_are_those_of_the_extension():
    pytest.importorskip("mypy", reason="pip install mypy")
    result = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "riemla._core"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert result.returncode == 0, result.stdout


def test_the_package_is_typed():
    pytest.importorskip("mypy", reason="pip install mypy")
    environment = os.environ | {"MYPYPATH": ""}
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "python/riemla"], capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )
    assert result.returncode == 0, result.stdout
