"""One kill of one job, late in its work: the script works, and nothing is lost.

`python benchmarks/kills.py` does fifty kills of each job, `python benchmarks/kills.py --rounds 5
reproduce dask` a few of some.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the cli extra")
pytest.importorskip("skops", reason="the command line needs the cli extra")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
kills = pytest.importorskip("kills")


def test_nothing_is_lost_and_nothing_wrong_is_accepted(monkeypatch):
    quick = ("--label", "y", "--param", "alpha=1,10", "--quiet")
    monkeypatch.setattr(kills, "SELECT", quick)
    # The first kill of this seed comes after 84 % of the usual time.
    tally = kills.rounds_of("select", rounds=1, seed=0)
    assert tally.clean, tally.line()
    assert tally.kills == 1
