"""Chunks on a Dask cluster of separate processes: the same bits, whatever dies."""

import os
import signal
import socket
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="results are stored as Parquet")
pytest.importorskip("distributed", reason="the cluster needs the dask extra")
pytest.importorskip("typer", reason="the command line needs the cli extra")

import dask
import distributed
from typer.testing import CliRunner

from counterpoise._cluster import connect
from counterpoise.cli.app import app
from counterpoise.experiments import plan as plan_module
from counterpoise.experiments import run, run_plan
from counterpoise.experiments.plan import Plan
from counterpoise.experiments.run import run_chunk
from counterpoise.experiments.store import Store

PLAN = Plan(("example",), 1450, seed=3)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Eight chunks for each gamma, the last one cut."""
    monkeypatch.setitem(plan_module._BATCHES, "example", 1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a run without Dask, whatever its chunks."""
    store = Store(tmp_path_factory.mktemp("whole"), PLAN)
    run_plan(PLAN, store)
    return store.finish().read_bytes()


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def results(directory, client, progress=None):
    store = Store(directory, PLAN)
    run_plan(PLAN, store, client=client, progress=progress)
    return store.finish().read_bytes()


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", "example", *map(str, arguments)])


def test_one_worker_and_a_running_scheduler_give_the_bits_of_no_dask(
    cluster, whole, tmp_path, monkeypatch
):
    monkeypatch.setattr("counterpoise.present.reproduction.draw_figures", lambda *args: ())
    for options in (["local", "--jobs", 1], [cluster.scheduler_address]):
        out = tmp_path / str(len(options))
        done = reproduce("--reps", 1450, "--seed", 3, "--out", out, "--dask", *options)
        assert done.exit_code == 0, done.output
        assert (out / "results.parquet").read_bytes() == whole


def test_workers_killed_in_the_middle_lose_nothing(cluster, client, whole, tmp_path):
    stored, killed = [], []

    def progress(chunk):
        stored.append(chunk.name)
        if len(stored) in (2, 7):
            worker = cluster.workers[len(killed)]
            killed.append(worker.pid)
            os.kill(worker.pid, signal.SIGKILL)

    assert results(tmp_path, client, progress) == whole
    assert len(killed) == 2
    assert sorted(stored) == sorted(chunk.name for chunk in PLAN.chunks())
    assert len(stored) == 16
    client.wait_for_workers(2)  # the nannies start new ones
    assert not {worker.pid for worker in cluster.workers.values()} & set(killed)


def test_a_run_on_dask_is_resumed_without_it(client, whole, tmp_path):
    def stop(chunk):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        results(tmp_path, client, stop)
    store = Store(tmp_path, PLAN, resume=True)
    assert sum(store.has(chunk) for chunk in PLAN.chunks()) == 1
    run_plan(PLAN, store)
    assert store.finish().read_bytes() == whole


def test_ozone_data_travels_once_and_comes_back_the_same(client):
    plan = Plan(("ozone",), 30, gammas=(0.5, 0.7))
    rng = np.random.default_rng(0)
    label = np.where(np.arange(200) % 2, 1.0, -1.0)
    data = SimpleNamespace(X=rng.normal(size=(200, 12)), y=label, day=np.arange(200.0))
    computed = dict(run.dask_results(plan, plan.chunks(), client, data))
    assert set(computed) == set(plan.chunks())
    for chunk, values in computed.items():
        for key, want in run_chunk(plan, chunk, data).items():
            assert np.array_equal(values[key], want), key


def test_a_worker_of_another_version_is_refused_and_finished_chunks_stay(
    client, tmp_path, monkeypatch
):
    store = Store(tmp_path, PLAN)
    monkeypatch.setattr(run, "__version__", "0.0.1")
    with pytest.raises(RuntimeError, match=r"chunk example-.* this run is counterpoise 0\.0\.1"):
        run_plan(PLAN, store, client=client)
    assert not any(store.has(chunk) for chunk in PLAN.chunks())


def test_a_chunk_that_fails_is_named(client):
    plan = Plan(("ozone",), 20, gammas=(0.5,))
    with pytest.raises(RuntimeError, match=r"chunk ozone-0.5-00000000 failed: `ozone` is missing"):
        list(run.dask_results(plan, plan.chunks(), client))


def test_the_scheduler_dies_in_the_middle(tmp_path):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
    worker = [address, "--nthreads", "1", "--death-timeout", "5"]
    processes = []
    for name, options in (("scheduler", ["--host", address]), ("worker", worker)):
        script = f"from distributed.cli.dask_{name} import main; main()"
        command = [sys.executable, "-c", script, *options, "--no-dashboard"]
        processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
    store = Store(tmp_path, PLAN)
    message = r"(scheduler is lost|chunk example-.* failed).*--resume"
    try:
        with (
            connect(address) as client,
            pytest.raises((ConnectionError, RuntimeError), match=message),
        ):
            run_plan(PLAN, store, client=client, progress=lambda chunk: processes[0].kill())
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert 1 <= sum(store.has(chunk) for chunk in PLAN.chunks()) < 16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dask", "tcp://127.0.0.1:1"], "Start one with `dask scheduler`"),
        (["--dask", "nonsense"], "`--dask` must be `local` or the address"),
        (["--dask", "tcp://127.0.0.1:1", "--jobs", "2"], "`--jobs` counts processes"),
    ],
)
def test_an_unreachable_scheduler_is_one_line_exit_code_2_and_no_directory(
    tmp_path, options, message
):
    with dask.config.set({"counterpoise.connect-timeout": 0.5}):
        done = reproduce("--out", tmp_path / "out", *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_scheduler_without_workers_is_a_clear_error():
    empty = distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0")
    with (
        empty as cluster,
        dask.config.set({"counterpoise.connect-timeout": 0.2}),
        pytest.raises(ValueError, match=r"has no workers after 0.2 s.*dask worker tcp://"),
        connect(cluster.scheduler_address),
    ):
        pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r'Install "counterpoise\[dask\]"'), connect("local"):
        pass
