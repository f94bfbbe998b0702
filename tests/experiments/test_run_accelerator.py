"""Drawing and analysing on another device; the CPU stands for it where there is no other."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="devices other than the CPU need PyTorch")

import torch

from counterpoise import target_risk
from counterpoise._random import TorchGenerator
from counterpoise.experiments import engine, ridge_path, run_accelerator
from counterpoise.experiments.engine import analyse
from counterpoise.experiments.example_rates import SIZES, draw_example, example_results
from counterpoise.experiments.plan import Chunk, Plan
from counterpoise.experiments.problems import OzoneProblem, SyntheticProblem, joined, portion
from counterpoise.experiments.protocols import get_protocol
from counterpoise.experiments.run import run_chunk
from counterpoise.experiments.run_accelerator import Portions, accelerator_results
from counterpoise.weights import _kernels, kliep
from counterpoise.weights.gaussian import fit_gaussian, gaussian_log_ratio

REPETITIONS = 200
# PyTorch on the CPU stands for the device.
PLAN = Plan(("synthetic",), 210, gammas=(0.6,), device="cpu")
CHUNK = Chunk("synthetic", 0.6, 0, 210, 0)
PROBLEM = SyntheticProblem(get_protocol("paper"), 0.6)


@pytest.fixture(autouse=True)
def small_draws(monkeypatch):
    """Draws of 400 data sets instead of 5000."""
    monkeypatch.setattr(run_accelerator, "BATCHES_PER_DRAW", 2)
    monkeypatch.setattr(run_accelerator, "_DRAW", 400)


def on_torch(plan=PLAN, chunk=CHUNK, problem=PROBLEM, portions=None):
    parts = list(accelerator_results(plan, chunk, problem, portions or Portions()))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


@pytest.mark.parametrize("protocol", ["paper", "released"])
def test_torch_draws_the_same_law_as_numpy(protocol):
    problem = SyntheticProblem(get_protocol(protocol), 0.6)
    theirs = problem.draw(TorchGenerator(np.random.SeedSequence(1), "cpu"), REPETITIONS)
    ours = problem.draw(np.random.default_rng(1), REPETITIONS)
    assert theirs.X.shape == ours.X.shape
    assert theirs.masks.shape == ours.masks.shape
    if protocol == "released":
        assert torch.all(theirs.y.sum(dim=-1) == 0)
    for draw in ("X", "X_target"):
        a, b = np.asarray(getattr(theirs, draw)), getattr(ours, draw)
        for power in (1, 2, 3):
            assert_same_mean(np.mean(a**power, axis=1), np.mean(b**power, axis=1))
    # The target's moments hold the labels: their class-wise means too.
    assert_same_mean(np.asarray(theirs.target_moments), ours.target_moments)
    ours_class, theirs_class = (
        np.mean(np.asarray(batch.X) * (np.asarray(batch.y) > 0)[..., None], axis=1)
        for batch in (ours, theirs)
    )
    assert_same_mean(ours_class, theirs_class)


def assert_same_mean(a, b):
    """Means over repetitions within 4.5 standard errors of each other."""
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(a))
    gap = np.abs(a.mean(axis=0) - b.mean(axis=0))
    assert np.all(gap <= 4.5 * error + 1e-12), gap / error


def test_results_have_the_law_of_the_cpu_ones():
    rules = get_protocol("paper")
    problem = SyntheticProblem(rules, 0.6)
    generator = TorchGenerator(np.random.SeedSequence(2), "cpu")
    theirs = analyse(problem.draw(generator, REPETITIONS), rules.grid("synthetic"))
    ours = analyse(problem.draw(np.random.default_rng(2), REPETITIONS), rules.grid("synthetic"))
    for key in ("risk_oracle", "risk_weighted", "n_effective", "fixed_truth"):
        assert_same_mean(theirs[key][:, None], ours[key][:, None])


@pytest.mark.parametrize(
    ("problem", "protocol"),
    [("synthetic", "paper"), ("synthetic", "released"), ("kmm", "paper"), ("kliep", "paper")],
)
def test_same_data_gives_the_numbers_of_the_cpu(problem, protocol):
    """As on an accelerator: one batch, drawn by NumPy."""
    repetitions = 210 if problem == "synthetic" else 20
    plan = Plan((problem,), repetitions, protocol=protocol, same_data=True)
    chunk = Chunk(problem, 0.6, 0, repetitions, 0)
    got = on_torch(plan, chunk, SyntheticProblem(get_protocol(protocol), 0.6))
    for key, values in run_chunk(plan, chunk).items():
        np.testing.assert_allclose(got[key], values, rtol=1e-8, atol=1e-8, err_msg=key)


def test_draws_do_not_depend_on_how_many_are_wanted_or_where_a_chunk_begins():
    whole = on_torch(replace(PLAN, repetitions=450), replace(CHUNK, repetitions=450))
    few = on_torch(chunk=replace(CHUNK, repetitions=60))
    later = on_torch(chunk=replace(CHUNK, start=400, repetitions=50))
    for key, values in whole.items():
        np.testing.assert_allclose(few[key], values[:60], rtol=1e-9, err_msg=key)
        np.testing.assert_allclose(later[key], values[400:], rtol=1e-9, err_msg=key)


@pytest.fixture
def small_memory(monkeypatch):
    """An engine that runs out of memory above 60 data sets."""

    def limited(batch, alphas, **options):
        if batch.X.shape[0] > 60:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate a lot.")
        return analyse(batch, alphas, **options)

    monkeypatch.setattr(run_accelerator, "analyse", limited)


def test_out_of_memory_halves_the_portions_and_says_so_once(request):
    want = on_torch()
    request.getfixturevalue("small_memory")
    notes = []
    portions = Portions(notes.append)
    got = on_torch(portions=portions)
    (note,) = notes
    assert note.startswith("The device ran out of memory with 210 data sets at once. The run")
    again = on_torch(portions=portions)
    assert len(notes) == 1
    for key, values in want.items():
        np.testing.assert_allclose(got[key], values, rtol=1e-9, err_msg=key)
        assert np.array_equal(again[key], got[key])


@pytest.mark.usefixtures("small_memory")
def test_out_of_memory_is_a_warning_where_nobody_listens():
    with pytest.warns(UserWarning, match="continues with 105") as caught:
        on_torch()
    assert len(caught) == 1


def test_no_memory_for_a_single_data_set_is_a_clear_error(monkeypatch):
    def never(*args, **options):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate\n a lot.")

    monkeypatch.setattr(run_accelerator, "analyse", never)
    with pytest.raises(MemoryError, match=r"too little memory for a single .* use --device cpu"):
        on_torch(portions=Portions(lambda note: None))


def test_portions_follow_the_free_memory(monkeypatch):
    sizes = []

    def record(batch, alphas, **options):
        sizes.append(batch.X.shape[0])
        return analyse(batch, alphas, **options)

    monkeypatch.setattr(run_accelerator, "analyse", record)
    each = run_accelerator._bytes_each(PLAN, CHUNK)
    monkeypatch.setattr(run_accelerator, "free_memory", lambda like: 2 * 100 * each)
    on_torch()
    assert sizes == [100, 100, 10]


@pytest.fixture
def accelerator(monkeypatch):
    """Code that runs on accelerators only, and arrays that cannot go to the host."""
    for module in (_kernels, kliep, ridge_path):
        monkeypatch.setattr(module, "on_cpu", lambda array: False)
    monkeypatch.setattr(ridge_path, "_EIGEN_BATCH", 7)
    monkeypatch.setattr(_kernels, "_DEVICE_BLOCK", 2**17)
    monkeypatch.setattr(engine, "to_numpy", lambda array: array)

    def forbidden(self, *args, **kwargs):
        raise AssertionError("an array went to the host")

    for name in ("cpu", "numpy", "__array__", "tolist"):
        monkeypatch.setattr(torch.Tensor, name, forbidden)


@pytest.mark.parametrize("weights", ["gaussian", "kmm", "kliep"])
def test_the_way_of_an_accelerator_stays_there_and_gives_the_same(weights, request):
    rules = get_protocol("paper")
    batch = PROBLEM.draw(TorchGenerator(np.random.SeedSequence(3), "cpu"), 12)
    want = analyse(batch, rules.grid("synthetic"), weights=weights)
    request.getfixturevalue("accelerator")
    got = analyse(batch, rules.grid("synthetic"), weights=weights)
    for key, values in want.items():
        assert isinstance(got[key], torch.Tensor)
        gap = torch.abs(got[key] - torch.as_tensor(values)) / (1 + torch.abs(got[key]))
        assert float(gap.max()) < 1e-8, key


@pytest.mark.usefixtures("accelerator")
def test_public_functions_stay_where_their_arrays_are():
    batch = PROBLEM.draw(TorchGenerator(np.random.SeedSequence(3), "cpu"), 3)
    source, target = (fit_gaussian(X)[:2] for X in (batch.X, batch.X_target))
    weights = torch.exp(gaussian_log_ratio(batch.X, source, target))
    risk = target_risk(batch.y**2, weights, method="controlled")
    assert isinstance(risk.value, torch.Tensor)
    assert isinstance(risk.standard_error, torch.Tensor)


def test_seeds_of_torch_differ_by_stream():
    draws = [
        TorchGenerator(np.random.SeedSequence(0, spawn_key=(k,)), "cpu").random((3,))
        for k in range(3)
    ]
    assert len({tuple(draw.tolist()) for draw in draws}) == 3


def test_joined_batches_share_what_is_common():
    rng = np.random.default_rng(0)
    data = FakeOzone(rng)
    rules = replace(get_protocol("paper"), ozone_per_class=5, ozone_components=2)
    problem = OzoneProblem(rules, 0.5, data)
    parts = [problem.draw(rng, 3), problem.draw(rng, 4)]
    whole = joined(parts)
    assert whole.X.shape == (7, 10, 2)
    assert whole.masks.shape == (7, 5, 10)
    assert whole.X_target is parts[0].X_target
    alphas = rules.grid("ozone")[::20]
    want = [analyse(part, alphas) for part in parts]
    for key, values in analyse(whole, alphas).items():
        together = np.concatenate([part[key] for part in want])
        np.testing.assert_allclose(values, together, rtol=1e-9)


@pytest.mark.parametrize("protocol", ["paper", "released"])
def test_ozone_is_drawn_by_the_same_law(protocol):
    rules = replace(get_protocol(protocol), ozone_per_class=5, ozone_components=2)
    problem = OzoneProblem(rules, 0.5, FakeOzone(np.random.default_rng(0)))
    theirs = problem.draw(TorchGenerator(np.random.SeedSequence(1), "cpu"), 1000)
    ours = problem.draw(np.random.default_rng(1), 1000)
    assert theirs.X.shape == ours.X.shape == (1000, 10, 2)
    assert torch.all(theirs.masks.sum(dim=-2) == 1)
    if protocol == "paper":
        assert torch.all(theirs.masks.sum(dim=-1) == 2)
    assert_same_mean(
        np.mean(np.asarray(theirs.masks[..., 0]), axis=-1), ours.masks[..., 0].mean(-1)
    )
    # Both classes, without replacement, early rows more often.
    assert np.array_equal(np.asarray(theirs.y), ours.y)
    assert all(len(np.unique(X, axis=0)) == 10 for X in np.asarray(theirs.X)[:50])
    for power in (1, 2):
        a, b = (np.mean(np.asarray(batch.X) ** power, axis=1) for batch in (theirs, ours))
        assert_same_mean(a, b)
    for name in ("X_target", "target_moments"):
        np.testing.assert_array_equal(np.asarray(getattr(theirs, name)), getattr(ours, name))


def test_the_example_is_drawn_by_the_same_law():
    generator = TorchGenerator(np.random.SeedSequence(1), "cpu")
    x, y = draw_example(1.25, generator, 400)
    assert x.shape == (400, max(SIZES))
    theirs = example_results(1.25, x, y)
    ours = example_results(1.25, *draw_example(1.25, np.random.default_rng(1), 400))
    assert set(theirs) == set(ours)
    for key, values in ours.items():
        assert_same_mean(np.asarray(theirs[key])[:, None], values[:, None])
    got = on_torch(Plan(("example",), 30), Chunk("example", 1.25, 0, 30, 0), None)
    assert got["weighted_25"].shape == (30,)


def test_portions_of_a_batch_are_its_data_sets():
    batch = PROBLEM.draw(np.random.default_rng(0), 7)
    part = portion(batch, slice(2, 5))
    assert np.array_equal(part.X, batch.X[2:5])
    assert np.array_equal(part.target_moments, batch.target_moments[2:5])
    assert part.masks is batch.masks


class FakeOzone:
    def __init__(self, rng):
        self.X = rng.normal(size=(60, 4))
        self.y = np.where(np.arange(60) % 3 == 0, 1.0, -1.0)
        self.day = np.arange(60.0)
