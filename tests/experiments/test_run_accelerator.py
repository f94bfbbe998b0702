"""Drawing and analysing on another device; the CPU stands for it where there is no other."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="devices other than the CPU need PyTorch")

import torch

from counterpoise import _linalg
from counterpoise._random import TorchGenerator
from counterpoise.experiments import engine, run_accelerator
from counterpoise.experiments.engine import analyse
from counterpoise.experiments.plan import Chunk, Plan
from counterpoise.experiments.problems import make_problem
from counterpoise.experiments.protocols import PROTOCOLS
from counterpoise.experiments.run import run_chunk
from counterpoise.experiments.run_accelerator import Portions, accelerator_results, joined, portion
from counterpoise.weights import _kernels, kliep

# PyTorch on the CPU stands for the device.
PLAN = Plan(("synthetic",), 210, gammas=(0.6,), device="cpu")
CHUNK = Chunk("synthetic", 0.6, 0, 210, 0)
PROBLEM = make_problem(PLAN, CHUNK)


class FakeOzone:
    X = np.random.default_rng(0).normal(size=(300, 12)) + np.arange(300)[:, None] / 200
    y = np.where(np.arange(300) % 3 == 0, 1.0, -1.0)
    day = np.arange(300.0)


@pytest.fixture(autouse=True)
def small_draws(monkeypatch):
    """Draws of 400 data sets instead of 5000."""
    monkeypatch.setattr(run_accelerator, "BATCHES_PER_DRAW", 2)
    monkeypatch.setattr(run_accelerator, "_DRAW", 400)


def on_torch(plan=PLAN, chunk=CHUNK, problem=None, portions=None):
    problem = problem or make_problem(plan, chunk, FakeOzone())
    parts = list(accelerator_results(plan, chunk, problem, portions or Portions()))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def torch_generator(seed):
    return TorchGenerator(np.random.SeedSequence(seed), "cpu")


@pytest.mark.parametrize("protocol", ["paper", "released"])
@pytest.mark.parametrize("problem", ["synthetic", "ozone", "example"])
def test_torch_draws_the_law_of_numpy(problem, protocol):
    """Means over repetitions within 4.5 standard errors of each other."""
    plan = Plan((problem,), 1000, protocol=protocol)
    chunk = Chunk(problem, 1.25 if problem == "example" else 0.6, 0, 1000, 0)
    theirs, ours = on_torch(plan, chunk), run_chunk(plan, replace(chunk, seed=2), FakeOzone())
    assert set(theirs) == set(ours)
    for key, values in ours.items():
        error = np.sqrt((values.var() + theirs[key].var()) / 1000)
        assert abs(values.mean() - theirs[key].mean()) <= 4.5 * error + 1e-12, key
    batch = make_problem(plan, chunk, FakeOzone()).draw(torch_generator(1), 50)
    if problem == "ozone":  # without replacement
        assert all(len(torch.unique(X, dim=0)) == len(X) for X in batch.X)
    if problem == "ozone" or (problem, protocol) == ("synthetic", "released"):
        assert torch.all(batch.y.sum(dim=-1) == 0)


@pytest.mark.parametrize(
    ("problem", "protocol"),
    [
        ("synthetic", "paper"),
        ("synthetic", "released"),
        ("kmm", "paper"),
        ("kliep", "paper"),
        ("example", "paper"),
    ],
)
def test_same_data_gives_the_numbers_of_the_cpu(problem, protocol):
    """As on an accelerator: one batch, drawn by NumPy."""
    repetitions = 20 if problem in ("kmm", "kliep") else 210
    plan = Plan((problem,), repetitions, protocol=protocol, same_data=True)
    chunk = Chunk(problem, 1.25 if problem == "example" else 0.6, 0, repetitions, 0)
    got = on_torch(plan, chunk)
    for key, values in run_chunk(plan, chunk).items():
        np.testing.assert_allclose(got[key], values, rtol=1e-8, atol=1e-8, err_msg=key)


def test_draws_do_not_depend_on_how_many_are_wanted_or_where_a_chunk_begins():
    whole = on_torch(replace(PLAN, repetitions=450), replace(CHUNK, repetitions=450))
    few = on_torch(chunk=replace(CHUNK, repetitions=60))
    later = on_torch(chunk=replace(CHUNK, start=400, repetitions=50))
    for key, values in whole.items():
        np.testing.assert_allclose(few[key], values[:60], rtol=1e-9, err_msg=key)
        np.testing.assert_allclose(later[key], values[400:], rtol=1e-9, err_msg=key)


def limited(most):
    """A problem whose analysis runs out of memory above so many data sets; and their numbers."""
    sizes = []

    def analyse_few(batch):
        sizes.append(batch.X.shape[0])
        if sizes[-1] > most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate\n a lot.")
        return PROBLEM.analyse(batch)

    return replace(PROBLEM, analyse=analyse_few), sizes


def test_out_of_memory_halves_the_portions_and_says_so_once():
    want, notes = on_torch(), []
    portions = Portions(notes.append)
    for _ in range(2):
        got = on_torch(problem=limited(60)[0], portions=portions)
        for key, values in want.items():
            np.testing.assert_allclose(got[key], values, rtol=1e-9, err_msg=key)
    (note,) = notes
    assert note.startswith("The device ran out of memory with 210 data sets at once. The run")
    with pytest.warns(UserWarning, match="continues with 105"):  # where nobody listens
        on_torch(problem=limited(105)[0])
    with pytest.raises(MemoryError, match=r"too little memory for a single .* use --device cpu"):
        on_torch(problem=limited(0)[0], portions=Portions(lambda note: None))


def test_portions_follow_the_free_memory(monkeypatch):
    problem, sizes = limited(1000)
    monkeypatch.setattr(run_accelerator, "free_memory", lambda like: 200 * problem.bytes_each)
    on_torch(problem=problem)
    assert sizes == [100, 100, 10]


@pytest.fixture
def accelerator(monkeypatch):
    """Code that runs on accelerators only, and arrays that cannot go to the host."""
    for module in (_kernels, kliep, engine, _linalg):
        monkeypatch.setattr(module, "on_cpu", lambda array: False)
    monkeypatch.setattr(_linalg, "_EIGEN_BATCH", 7)
    monkeypatch.setattr(_kernels, "_DEVICE_BLOCK", 2**17)

    def forbidden(self, *args, **kwargs):
        raise AssertionError("an array went to the host")

    for name in ("cpu", "numpy", "__array__", "tolist"):
        monkeypatch.setattr(torch.Tensor, name, forbidden)


@pytest.mark.parametrize("weights", ["gaussian", "kmm", "kliep"])
def test_the_way_of_an_accelerator_stays_there_and_gives_the_same(weights, request, monkeypatch):
    if weights == "gaussian":
        monkeypatch.setattr(_linalg, "_FEW_ROWS", 1)  # as for the larger matrices of ozone
    batch, alphas = PROBLEM.draw(torch_generator(3), 12), PROTOCOLS["paper"].grid("synthetic")
    want = analyse(batch, alphas, weights=weights)
    request.getfixturevalue("accelerator")
    got = analyse(batch, alphas, weights=weights)
    for key, values in want.items():
        assert isinstance(got[key], torch.Tensor)
        gap = torch.abs(got[key] - values) / (1 + torch.abs(got[key]))
        assert float(gap.max()) < 1e-8, key


def test_joined_batches_share_what_is_common_and_portions_are_their_data_sets(rng):
    problem = make_problem(PLAN, Chunk("ozone", 0.5, 0, 7, 0), FakeOzone())
    parts = [problem.draw(rng, 3), problem.draw(rng, 4)]
    whole = joined(parts)
    assert whole.X.shape == (7, 80, 10)
    assert whole.X_target is parts[0].X_target
    for name in ("X", "y", "masks"):
        assert np.array_equal(getattr(portion(whole, slice(3, 7)), name), getattr(parts[1], name))
    batch = PROBLEM.draw(np.random.default_rng(0), 7)
    part = portion(batch, slice(2, 5))
    assert np.array_equal(part.target_moments, batch.target_moments[2:5])
    assert part.masks is batch.masks
