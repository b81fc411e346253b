"""Kills at random moments: a short run of python/benchmarks/kills.py, which counts them for docs/reliability.md."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from conftest import ROOT

PATH = ROOT / "python" / "benchmarks" / "kills.py"


@pytest.fixture
def kills(monkeypatch):
    spec = importlib.util.spec_from_file_location("kills", PATH)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "kills", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_kills_at_random_moments_lose_nothing_and_double_nothing(kills, command, tmp_path):
    trial = kills.Trial(tmp_path, command, seed=2)
    trial.run(12, kinds=("shard", "merge", "shard", "parent", "worker", "shard"))
    assert sum(trial.kills.values()) == 12 and sum(trial.new.values()) > 0


def test_what_is_lost_or_there_twice_is_noticed(kills, tmp_path):
    frame = lambda index: (  # noqa: E731
        lambda json: b"\xd7draw\xe2\x0d\x0a" + (4 + len(json)).to_bytes(4, "little") + bytes(4)
        + len(json).to_bytes(4, "little") + json
    )(b'{"index":%d}' % index)
    log = tmp_path / "draws.log"
    head = b"RIEMLOG1" + bytes(8)
    kept = kills.Kept(tmp_path)
    log.write_bytes(head + frame(0) + frame(3))
    assert kept.look() == 2 and kept.known == {0, 3}
    log.write_bytes(head + frame(0) + frame(3) + frame(0))
    with pytest.raises(AssertionError, match="draws.log"):
        kept.look()
    log.write_bytes(head + frame(3))
    with pytest.raises(AssertionError, match=r"lost the draws \[0\]"):
        kept.look()
