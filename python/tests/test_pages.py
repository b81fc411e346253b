"""The Python lines of the pages, and the examples, run."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))
# What each page and example needs.
NEEDS = {
    "two_moons": ("torch", "matplotlib"),
    "regression_gap": ("matplotlib",),
    "ood_digits": ("torch", "matplotlib"),
    "residual_network": ("torch", "laplace", "matplotlib"),
    "jax_equinox": ("jax", "equinox", "scipy", "matplotlib"),
    "hierarchical": ("matplotlib",),
    "README.md": ("torch",),
    "docs/python.md": ("torch", "laplace", "jax", "sklearn", "arviz"),
    "docs/cluster.md": ("distributed",),
}


def require(name):
    for package in NEEDS[name]:
        pytest.importorskip(package, reason=f"pip install {package}")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, tmp_path):
    require(path.stem)
    arguments = ["picture.png"] if "matplotlib" in NEEDS[path.stem] else []
    environment = {"RIEMLA_DATA_DIR": str(ROOT.parent / "shared" / "data")} | os.environ
    result = subprocess.run(
        [sys.executable, "-W", "ignore", path, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout and (not arguments or (tmp_path / "picture.png").stat().st_size > 5000)


def own_model():
    """What a reader of the README has: a trained model and its data."""
    import torch

    torch.manual_seed(0)
    x = torch.randn(40, 2)
    y = (x[:, 0] > 0).long()
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    return {"model": model, "train_loader": [(x, y)], "x": x}


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/cluster.md"])
@pytest.mark.filterwarnings("ignore")
def test_the_lines_of_pages_run(page, tmp_path, monkeypatch):
    require(page)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.M | re.S)
    assert blocks
    names: dict = {"__name__": "page"} | (own_model() if page == "README.md" else {})
    for block in blocks:
        exec(compile(block, page, "exec"), names)
