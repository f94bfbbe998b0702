"""Chunks, seeds and files: the same numbers whatever happens on the way."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="results are stored as Parquet")

from counterpoise.exceptions import StoreError
from counterpoise.experiments.plan import BATCH, Chunk, Plan
from counterpoise.experiments.run import run_chunk, run_plan
from counterpoise.experiments.store import Store, one_run

# Two chunks at each of two gammas; small, and the last batch is cut.
PLAN = Plan(("synthetic",), 5000 + 130, gammas=(0.6, 1.0), seed=3)
SMALL = Plan(("synthetic", "example"), 250, gammas=(0.7,), seed=3)

KILLED = """
import os, signal, sys
from counterpoise.experiments.plan import Plan
from counterpoise.experiments.run import run_plan
from counterpoise.experiments.store import Store

if __name__ == "__main__":
    plan = Plan(("synthetic",), 5130, gammas=(0.6, 1.0), seed=3)
    done = []

    def progress(chunk):
        done.append(chunk)
        if len(done) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    run_plan(plan, Store(sys.argv[1], plan), jobs=1, progress=progress)
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """An uninterrupted run in this process."""
    store = Store(tmp_path_factory.mktemp("whole"), PLAN)
    run_plan(PLAN, store)
    store.finish()
    return store


def test_chunks_cover_every_repetition_once():
    chunks = PLAN.chunks()
    assert len({chunk.name for chunk in chunks}) == len(chunks) == 4
    for gamma in PLAN.gammas:
        own = [c for c in chunks if c.gamma == gamma]
        covered = np.concatenate([np.arange(c.start, c.start + c.repetitions) for c in own])
        assert np.array_equal(covered, np.arange(5130))


def test_streams_depend_on_seed_problem_gamma_and_batch_only():
    def first(problem="synthetic", gamma=0.6, start=0, seed=3):
        stream, _ = next(iter(Chunk(problem, gamma, start, 200, seed).batches()))
        return tuple(stream.generate_state(4))

    assert first() == first("kmm")  # the same data sets, other weights
    others = [first("ozone"), first(gamma=0.7), first(start=BATCH), first(seed=4)]
    assert len({first(), *others}) == 5


def test_a_chunk_is_a_slice_of_the_whole_whatever_its_size():
    whole = run_chunk(PLAN, Chunk("synthetic", 0.6, 0, 450, 3))
    part = run_chunk(PLAN, Chunk("synthetic", 0.6, 200, 230, 3))
    for key, values in part.items():
        assert np.array_equal(values, whole[key][200:430]), key


def test_order_and_number_of_processes_do_not_matter(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(Plan, "chunks", reversed_chunks(Plan.chunks))
    shuffled = Store(tmp_path / "two", PLAN)
    run_plan(PLAN, shuffled, jobs=2)
    monkeypatch.undo()
    whole = (finished.directory / "results.parquet").read_bytes()
    assert Store(tmp_path / "two", PLAN, resume=True).finish().read_bytes() == whole


def reversed_chunks(chunks):
    return lambda plan: chunks(plan)[::-1]


def test_killed_in_the_middle_and_resumed_gives_the_same_file(finished, tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    done = subprocess.run([sys.executable, script, tmp_path / "out"], check=False)
    assert done.returncode == -9
    # What a kill in the middle of writing leaves behind.
    (tmp_path / "out" / "chunks" / f".{PLAN.chunks()[2].name}.parquet.tmp").write_bytes(b"PAR1")
    store = Store(tmp_path / "out", PLAN, resume=True)
    assert [store.has(chunk) for chunk in PLAN.chunks()] == [True, True, False, False]
    computed = []
    run_plan(PLAN, store, progress=computed.append)
    assert computed == PLAN.chunks()[2:]
    whole = (finished.directory / "results.parquet").read_bytes()
    assert store.finish().read_bytes() == whole


def test_two_runs_that_write_the_same_chunk_at_once_do_not_meet(finished, tmp_path, monkeypatch):
    """The second run writes the chunk while the first one is still writing it."""
    chunk = PLAN.chunks()[1]
    results = finished.read(chunk.problem, chunk.gamma)
    results = {k: v[chunk.start :] for k, v in results.items() if k != "repetition"}
    first, second = Store(tmp_path, PLAN), Store(tmp_path, PLAN, resume=True)
    flush, pending = os.fsync, [second]

    def race(handle):
        if pending:
            pending.pop().write(chunk, results)
        flush(handle)

    monkeypatch.setattr(os, "fsync", race)
    first.write(chunk, results)
    (name,) = [path.name for path in (tmp_path / "chunks").iterdir()]
    whole = finished.directory / "chunks" / name
    assert (tmp_path / "chunks" / name).read_bytes() == whole.read_bytes()


def test_every_flipped_bit_that_changes_a_value_is_noticed(finished, tmp_path, rng):
    """Whatever is accepted after a flip has the values that were written."""
    shutil.copytree(finished.directory, tmp_path / "out")
    chunk = PLAN.chunks()[0]
    path = tmp_path / "out" / "chunks" / f"{chunk.name}.parquet"
    content = path.read_bytes()
    want = finished.read(chunk.problem, chunk.gamma)
    refused = 0
    for place in rng.integers(len(content), size=60):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:
            got = Store(tmp_path / "out", PLAN, resume=True).read(chunk.problem, chunk.gamma)
        except StoreError as error:
            refused += f"{path.name} is damaged" in str(error)
            continue
        assert list(got) == list(want)
        for name, values in want.items():
            np.testing.assert_array_equal(got[name], values)
    assert refused > 40


def test_a_second_run_is_refused_and_a_killed_one_is_cleaned_up(tmp_path):
    with one_run(tmp_path / "out"):
        Store(tmp_path / "out", PLAN)
        with pytest.raises(StoreError, match="written by another run"), one_run(tmp_path / "out"):
            pass
    left = [tmp_path / "out" / "chunks" / ".a.tmp", tmp_path / "out" / ".results.parquet.1.tmp"]
    for path in left:
        path.write_bytes(b"half")
    with one_run(tmp_path / "out"):
        assert not [path for path in left if path.exists()]


def test_links_to_other_places_are_not_written_through(tmp_path):
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (out / "chunks").symlink_to(outside)
    with pytest.raises(StoreError, match="chunks is one"):
        Store(out, PLAN)
    (out / "chunks").unlink()
    store = Store(out, PLAN)
    (out / "figures").symlink_to(outside)
    with pytest.raises(StoreError, match="figures is one"):
        store.save("figures/a.svg", b"x")
    assert list(outside.iterdir()) == []


def test_another_configuration_is_refused_with_what_differs(finished):
    other = replace(PLAN, seed=4, gammas=(0.5, 1.0))
    with pytest.raises(
        StoreError, match=r"gammas is \[0.6, 1.0\], not \[0.5, 1.0\]; seed is 3, not 4"
    ):
        Store(finished.directory, other, resume=True)


def test_another_version_is_refused(finished, tmp_path):
    manifest = json.loads((finished.directory / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"version": "0.0.1"}))
    with pytest.raises(StoreError, match=r"version is '0.0.1', not"):
        Store(tmp_path, PLAN, resume=True)


def test_results_are_not_overwritten_without_resume(finished):
    before = (finished.directory / "results.parquet").read_bytes()
    with pytest.raises(StoreError, match="Pass --resume"):
        Store(finished.directory, PLAN)
    assert (finished.directory / "results.parquet").read_bytes() == before


@pytest.mark.parametrize("damage", ["truncated", "empty", "other rows"])
def test_a_damaged_chunk_is_named_and_nothing_is_changed(tmp_path, damage):
    plan = Plan(("example",), 400)
    store = Store(tmp_path, plan)
    run_plan(plan, store)
    first, second = (tmp_path / "chunks" / f"{chunk.name}.parquet" for chunk in plan.chunks())
    content = first.read_bytes()
    if damage == "other rows":
        short = run_chunk(plan, Chunk("example", 1.0, 0, 10, 0))
        store.write(replace(plan.chunks()[0], repetitions=10), short)
    else:
        first.write_bytes(content[: len(content) // 2] if damage == "truncated" else b"")
    before = first.read_bytes(), second.read_bytes()
    with pytest.raises(StoreError, match=rf"{first.name} is damaged.*Delete it and run again"):
        Store(tmp_path, plan, resume=True)
    assert (first.read_bytes(), second.read_bytes()) == before
    first.unlink()
    store = Store(tmp_path, plan, resume=True)
    run_plan(plan, store)
    assert first.read_bytes() == content


def test_results_hold_every_repetition_with_nulls_where_a_problem_has_no_such_column(tmp_path):
    import pyarrow.parquet as pq

    store = Store(tmp_path, SMALL)
    run_plan(SMALL, store)
    table = pq.read_table(store.finish()).to_pandas()
    assert table.groupby(["problem", "gamma"]).size().to_dict() == {
        ("example", 1.0): 250,
        ("example", 1.25): 250,
        ("synthetic", 0.7): 250,
    }
    synthetic = table[table.problem == "synthetic"]
    assert synthetic["risk_weighted"].notna().all()
    assert synthetic["beta_known_25"].isna().all()
    assert synthetic["repetition"].tolist() == list(range(250))


def test_a_full_disk_is_a_clear_error(tmp_path, monkeypatch):
    plan = Plan(("example",), 200)
    store = Store(tmp_path, plan)
    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(StoreError, match=r"`out` must be .*No space left on device.*--resume"):
        run_plan(plan, store)
    assert list((tmp_path / "chunks").iterdir()) == []


def no_space(handle):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repetitions": 0}, "`reps` must be an integer at least 1; got 0"),
        ({"gammas": (0.5, -1.0)}, "`gamma` must be a number .* got -1.0"),
        ({"gammas": (float("nan"),)}, "`gamma` must be a number .* got nan"),
        ({"problems": ("magic",)}, "`problem` must be one of"),
        ({"protocol": "mine"}, "`protocol` must be one of 'paper', 'released'; got 'mine'"),
        ({"seed": -1}, "`seed` must be an integer at least 0"),
        ({"device": "tpu"}, "`device` must be one of 'cpu', 'cuda'"),
        ({"gammas": ()}, "must not be empty"),
    ],
)
def test_a_plan_refuses_what_it_cannot_run(options, message):
    with pytest.raises(ValueError, match=message):
        Plan(**options)
