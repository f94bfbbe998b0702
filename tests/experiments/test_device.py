"""Drawing and analysing on another device; the CPU stands for it where there is no other."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="devices other than the CPU need PyTorch")

import torch

from counterpoise.experiments.device_draw import draw_on_device, torch_generator
from counterpoise.experiments.engine import analyse
from counterpoise.experiments.plan import Chunk, Plan
from counterpoise.experiments.problems import OzoneProblem, SyntheticProblem, joined
from counterpoise.experiments.protocols import get_protocol
from counterpoise.experiments.run import _on_device, run_chunk

REPETITIONS = 200


@pytest.mark.parametrize("protocol", ["paper", "released"])
def test_torch_draws_the_same_law_as_numpy(protocol):
    problem = SyntheticProblem(get_protocol(protocol), 0.6)
    theirs = draw_on_device(problem, torch_generator(np.random.SeedSequence(1), "cpu"), REPETITIONS)
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
    generator = torch_generator(np.random.SeedSequence(2), "cpu")
    theirs = analyse(draw_on_device(problem, generator, REPETITIONS), rules.grid("synthetic"))
    ours = analyse(problem.draw(np.random.default_rng(2), REPETITIONS), rules.grid("synthetic"))
    for key in ("risk_oracle", "risk_weighted", "n_effective", "fixed_truth"):
        assert_same_mean(theirs[key][:, None], ours[key][:, None])


@pytest.mark.parametrize("protocol", ["paper", "released"])
def test_same_data_gives_the_numbers_of_the_cpu(protocol):
    """CPU arrays of PyTorch go the way of an accelerator's: one batch, drawn by NumPy."""
    plan = Plan(("synthetic",), 210, protocol=protocol, device="cuda", same_data=True)
    chunk = Chunk("synthetic", 0.6, 0, 210, 0)
    problem = SyntheticProblem(get_protocol(protocol), 0.6)
    on_cpu = replace(plan, device="cpu")
    want = run_chunk(on_cpu, chunk)
    batch = _on_device(on_cpu, chunk, problem)
    got = analyse(batch, get_protocol(protocol).grid("synthetic"))
    for key, values in want.items():
        np.testing.assert_allclose(got[key][:210], values, rtol=1e-9, atol=1e-9, err_msg=key)


def test_seeds_of_torch_differ_by_stream():
    draws = [
        torch.rand(3, generator=torch_generator(np.random.SeedSequence(0, spawn_key=(k,)), "cpu"))
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


class FakeOzone:
    def __init__(self, rng):
        self.X = rng.normal(size=(60, 4))
        self.y = np.where(np.arange(60) % 3 == 0, 1.0, -1.0)
        self.day = np.arange(60.0)
