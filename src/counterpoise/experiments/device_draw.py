"""Drawing the problems with PyTorch, where the accelerator is.

The same laws as in `datasets` and `problems`, which draw with NumPy on the CPU: at a microsecond
per data set of analysis, moving the data would take longer than analysing it. Another generator
gives other numbers; `Plan.same_data` draws on the CPU instead.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpoise.datasets._sampling import rates_below
from counterpoise.experiments.problems import Batch, OzoneProblem, Problem, SyntheticProblem

__all__ = ["draw_example", "draw_on_device", "torch_generator"]


def torch_generator(stream: np.random.SeedSequence, device: str, /) -> Any:
    """Return a PyTorch generator on the device, seeded by a NumPy seed sequence."""
    import torch

    high, low = (int(word) for word in stream.generate_state(2))
    return torch.Generator(device=device).manual_seed((high << 31) ^ low)


def draw_on_device(problem: Problem, generator: Any, repetitions: int, /) -> Batch:
    """Draw data sets of a problem as PyTorch arrays on the generator's device."""
    if isinstance(problem, SyntheticProblem):
        return _synthetic(problem, generator, repetitions)
    if isinstance(problem, OzoneProblem):
        return _ozone(problem, generator, repetitions)
    raise TypeError(f"`problem` cannot be drawn on a device: {problem!r}.")


def draw_example(gamma: float, generator: Any, shape: tuple[int, int], /) -> tuple[Any, Any]:
    """Draw x and y of the source of `datasets.gaussian_1d` on the generator's device."""
    import torch

    x = gamma * _normal(generator, shape) - 1.0
    return x, torch.copysign(torch.ones_like(x), x - _normal(generator, shape))


def _synthetic(problem: SyntheticProblem, generator: Any, repetitions: int) -> Batch:
    rules, gamma = problem.rules, problem.gamma
    slope = 1.0 if rules.name == "paper" else 2.0
    draw = _labelled if rules.name == "paper" else _balanced
    sizes = (rules.n_source, rules.n_target)
    X, y = draw(generator, (repetitions, sizes[0]), (-1.0, 0.0), gamma, slope)
    Z, u = draw(generator, (repetitions, sizes[1]), (0.0, 0.0), 1.0, slope)
    masks = _masks(generator, problem.rules, repetitions, sizes[0], shuffled=False)
    return Batch(X, y, masks, Z, _mean_moments(Z, u))


def _mean_moments(Z: Any, u: Any) -> Any:
    """As `problems.mean_moments`, for two features.

    Column by column, which is faster on an accelerator than many products of four columns.
    """
    import torch

    columns = [Z[..., 0], Z[..., 1], torch.ones_like(u[..., :1]), u]
    pairs = zip(*np.triu_indices(4), strict=True)
    return torch.stack([(columns[i] * columns[j]).mean(dim=-1) for i, j in pairs], dim=-1)


def _ozone(problem: OzoneProblem, generator: Any, repetitions: int) -> Batch:
    """As `OzoneProblem.draw`: the smallest of exponential numbers over their weights, in logs."""
    import torch

    place = generator.device
    features, moments, mean, factor, y = (
        torch.as_tensor(a, device=place) for a in problem.on_any_device
    )
    time = torch.arange(len(y), device=place) / (problem.gamma * len(y))
    parts = []
    for label in (-1.0, 1.0):
        (rows,) = torch.nonzero(y == label, as_tuple=True)
        exponential = -torch.log1p(-_uniform(generator, (repetitions, len(rows))))
        keys = torch.log(exponential) + time[rows].to(exponential.dtype) ** 2 / 2
        count = min(problem.rules.ozone_per_class, len(rows))
        parts.append(rows[torch.topk(keys, count, dim=-1, largest=False).indices])
    index = torch.cat(parts, dim=-1)
    masks = _masks(generator, problem.rules, repetitions, index.shape[-1], shuffled=True)
    return Batch(features[index], y[index], masks, features, moments, (mean, factor))


def _masks(generator: Any, rules: Any, repetitions: int, n: int, *, shuffled: bool) -> Any:
    """As `problems.fold_masks`."""
    import torch

    place = generator.device
    folds = torch.arange(n, device=place) * rules.n_folds // n
    if rules.random_folds:
        shape = (repetitions, n)
        folds = torch.randint(rules.n_folds, shape, generator=generator, device=place)
    elif shuffled:
        folds = folds[_uniform(generator, (repetitions, n)).argsort(dim=-1)]
    every = torch.arange(rules.n_folds, device=place)[:, None]
    return (folds[..., None, :] == every).to(torch.float64)


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
