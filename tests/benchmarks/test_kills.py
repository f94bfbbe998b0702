"""A few kills at random moments; `benchmarks/kills.py` alone does fifty of each job."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the cli extra")
pytest.importorskip("skops", reason="the command line needs the cli extra")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
kills = pytest.importorskip("kills")


@pytest.mark.parametrize("job", kills.JOBS)
def test_nothing_is_lost_and_nothing_wrong_is_accepted(job):
    if job == "dask":
        pytest.importorskip("distributed", reason="needs the dask extra")
    tally = kills.rounds_of(job, rounds=2, seed=1, reps=1000)
    assert tally.clean, tally.line()
    assert tally.kills == 2
