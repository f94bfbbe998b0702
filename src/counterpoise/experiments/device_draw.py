"""Drawing the synthetic problem with PyTorch, where the accelerator is.

The same laws as in `datasets`, whose samplers draw with NumPy on the CPU: at a microsecond per
data set of analysis, moving the data would take longer than analysing it. Another generator gives
other numbers; `Plan.same_data` draws on the CPU instead.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpoise.datasets._sampling import rates_below
from counterpoise.experiments.problems import Batch, SyntheticProblem

__all__ = ["draw_on_device", "torch_generator"]


def torch_generator(stream: np.random.SeedSequence, device: str, /) -> Any:
    """Return a PyTorch generator on the device, seeded by a NumPy seed sequence."""
    import torch

    high, low = (int(word) for word in stream.generate_state(2))
    return torch.Generator(device=device).manual_seed((high << 31) ^ low)


def draw_on_device(problem: SyntheticProblem, generator: Any, repetitions: int, /) -> Batch:
    """Draw data sets of the synthetic problem as PyTorch arrays on the generator's device."""
    import torch

    rules, gamma = problem.rules, problem.gamma
    slope = 1.0 if rules.name == "paper" else 2.0
    draw = _labelled if rules.name == "paper" else _balanced
    sizes = (rules.n_source, rules.n_target)
    X, y = draw(generator, (repetitions, sizes[0]), (-1.0, 0.0), gamma, slope)
    Z, u = draw(generator, (repetitions, sizes[1]), (0.0, 0.0), 1.0, slope)
    folds = torch.arange(sizes[0], device=generator.device) * rules.n_folds // sizes[0]
    if rules.random_folds:
        folds = torch.randint(
            rules.n_folds, (repetitions, sizes[0]), generator=generator, device=generator.device
        )
    every = torch.arange(rules.n_folds, device=generator.device)[:, None]
    masks = (folds[..., None, :] == every).to(torch.float64)
    rows = torch.cat([Z, torch.ones_like(u)[..., None], u[..., None]], dim=-1)
    i, j = np.triu_indices(4)
    moments = (rows.mT @ rows / sizes[1])[..., i, j]
    return Batch(X, y, masks, Z, moments)


def _normal(generator: Any, shape: tuple[int, ...]) -> Any:
    import torch

    options: dict[str, Any] = {"dtype": torch.float64, "device": generator.device}
    return torch.randn(shape, generator=generator, **options)


def _uniform(generator: Any, shape: tuple[int, ...]) -> Any:
    import torch

    options: dict[str, Any] = {"dtype": torch.float64, "device": generator.device}
    return torch.rand(shape, generator=generator, **options)


def _labelled(
    generator: Any, shape: tuple[int, int], mean: tuple[float, float], variance: float, slope: float
) -> tuple[Any, Any]:
    """Labels from the rule, as `datasets._sampling.draw_labelled`."""
    X = math.sqrt(variance) * _normal(generator, (*shape, 2))
    X[..., 0] += mean[0]
    below = slope * X < _normal(generator, (*shape, 2))
    y = 2.0 * below.all(dim=-1).to(X.dtype) - 1.0
    return X, y


def _balanced(
    generator: Any, shape: tuple[int, int], mean: tuple[float, float], variance: float, slope: float
) -> tuple[Any, Any]:
    """Half of the points in each class, as `datasets._sampling.draw_balanced`."""
    import torch

    # The n/2 smallest of n random numbers: a random half.
    order = _uniform(generator, shape).argsort(dim=-1).argsort(dim=-1)
    positive = order < shape[-1] // 2
    rates = rates_below(mean, variance, slope)
    first, second = rates
    draw = _uniform(generator, shape) * (1 - first * second)
    below = [positive | (draw < first * (1 - second)), positive | (draw >= 1 - second)]
    spread = 1 + slope**2 * variance
    X = math.sqrt(variance / spread) * _normal(generator, (*shape, 2))
    for j, rate in enumerate(rates):
        # A normal number cut to the lower `rate` of its mass, or to the rest.
        share = (1 - _uniform(generator, shape)) * torch.where(below[j], rate, 1 - rate)
        quantile = torch.special.ndtri(share)
        cut = torch.where(below[j], quantile, -quantile)
        X[..., j] += mean[j] + slope * variance / math.sqrt(spread) * cut
    return X, 2.0 * positive.to(X.dtype) - 1.0
