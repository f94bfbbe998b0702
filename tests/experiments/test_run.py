"""Chunks, seeds and files: the same numbers whatever happens on the way."""

import json
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
CHUNKS = PLAN.chunks()

KILLED = """
import os, signal, sys
from counterpoise.experiments.plan import Plan
from counterpoise.experiments.run import run_plan
from counterpoise.experiments.store import Store

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


@pytest.fixture
def copy(finished, tmp_path):
    """A directory with the same results."""
    return shutil.copytree(finished.directory, tmp_path / "copy")


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
    monkeypatch.setattr(Plan, "chunks", lambda plan: CHUNKS[::-1])
    run_plan(PLAN, Store(tmp_path, PLAN), jobs=2)
    monkeypatch.undo()
    whole = (finished.directory / "results.parquet").read_bytes()
    assert Store(tmp_path, PLAN, resume=True).finish().read_bytes() == whole


def test_killed_in_the_middle_and_resumed_gives_the_same_file(finished, tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "out"], check=False)
    assert done.returncode == -9
    # What a kill in the middle of writing leaves behind.
    (tmp_path / "out" / "chunks" / f".{CHUNKS[2].name}.parquet.tmp").write_bytes(b"PAR1")
    store = Store(tmp_path / "out", PLAN, resume=True)
    assert [store.has(chunk) for chunk in CHUNKS] == [True, True, False, False]
    computed = []
    run_plan(PLAN, store, progress=computed.append)
    assert computed == CHUNKS[2:]
    whole = (finished.directory / "results.parquet").read_bytes()
    assert store.finish().read_bytes() == whole


def test_every_flipped_bit_that_changes_a_value_is_noticed(finished, copy, rng):
    """Whatever is accepted after a flip has the values that were written."""
    path = copy / "chunks" / f"{CHUNKS[0].name}.parquet"
    content, want = path.read_bytes(), finished.read("synthetic", 0.6)
    refused = 0
    for place in rng.integers(len(content), size=60):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:
            got = Store(copy, PLAN, resume=True).read("synthetic", 0.6)
        except StoreError as error:
            refused += f"{path.name} is damaged" in str(error)
            continue
        assert list(got) == list(want)
        for name, values in want.items():
            np.testing.assert_array_equal(got[name], values)
    assert refused > 40


@pytest.mark.parametrize("damage", ["empty", "other rows", "folder"])
def test_a_damaged_chunk_is_named_and_only_that_is_computed_again(copy, damage):
    path = copy / "chunks" / f"{CHUNKS[1].name}.parquet"
    content = path.read_bytes()
    if damage == "other rows":
        short = {name: values[:10] for name, values in run_chunk(PLAN, CHUNKS[1]).items()}
        Store(copy, PLAN, resume=True).write(replace(CHUNKS[1], repetitions=10), short)
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(b"")
    with pytest.raises(StoreError, match=rf"{path.name} is damaged.*Delete it and run again"):
        Store(copy, PLAN, resume=True)
    path.rmdir() if damage == "folder" else path.unlink()
    computed = []
    run_plan(PLAN, Store(copy, PLAN, resume=True), progress=computed.append)
    assert computed == [CHUNKS[1]]
    assert path.read_bytes() == content


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


def test_results_of_another_run_are_refused_with_what_differs(copy):
    other = replace(PLAN, seed=4, gammas=(0.5, 1.0))
    message = r"gammas is \[0.6, 1.0\], not \[0.5, 1.0\]; seed is 3, not 4"
    with pytest.raises(StoreError, match=message):
        Store(copy, other, resume=True)
    with pytest.raises(StoreError, match="Pass --resume"):
        Store(copy, PLAN)
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps(manifest | {"version": "0.0.1"}))
    with pytest.raises(StoreError, match=r"version is '0.0.1', not"):
        Store(copy, PLAN, resume=True)
    (copy / "manifest.json").write_text("[]")
    with pytest.raises(StoreError, match="not a manifest"):
        Store(copy, PLAN, resume=True)


def test_results_hold_every_repetition_with_nulls_where_a_problem_has_no_such_column(tmp_path):
    import pyarrow.parquet as pq

    plan = Plan(("synthetic", "example"), 250, gammas=(0.7,), seed=3)
    store = Store(tmp_path, plan)
    run_plan(plan, store)
    table = pq.read_table(store.finish()).to_pandas()
    sizes = {("example", 1.0): 250, ("example", 1.25): 250, ("synthetic", 0.7): 250}
    assert table.groupby(["problem", "gamma"]).size().to_dict() == sizes
    synthetic = table[table.problem == "synthetic"]
    assert synthetic["risk_weighted"].notna().all()
    assert synthetic["beta_known_25"].isna().all()
    assert synthetic["repetition"].tolist() == list(range(250))
