"""The paper's problems: how their data sets are drawn, and what is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from counterpoise._arrays import Array, array_namespace
from counterpoise._random import on_device_of, permutations, smallest
from counterpoise.datasets import gaussian_2d
from counterpoise.datasets.ozone import Ozone
from counterpoise.experiments.curves import SIZES, draw_example, example_results
from counterpoise.experiments.engine import Batch, analyse
from counterpoise.experiments.plan import WEIGHTS_OF, Chunk, Plan
from counterpoise.experiments.protocols import PROTOCOLS, Protocol
from counterpoise.weights.gaussian import fit_gaussian


@dataclass(frozen=True)
class Problem:
    """What a run does with a chunk.

    `draw` takes a NumPy generator or a `TorchGenerator`, and the number of data sets; it returns
    arrays of the generator's library.
    """

    draw: Callable[[Any, int], Batch]
    analyse: Callable[[Batch], dict[str, Array]]  # arrays of shape (R,) by column name
    bytes_each: int  # about how much memory the analysis of one data set takes


def make_problem(plan: Plan, chunk: Chunk, ozone: Ozone | None = None, /) -> Problem:
    """Return the problem of a chunk."""
    gamma, rules = chunk.gamma, PROTOCOLS[plan.protocol]
    if chunk.problem == "example":
        draw, results = partial(draw_example, gamma), partial(example_results, gamma)
        return Problem(draw, results, 8 * 12 * max(SIZES))
    alphas = rules.grid(chunk.problem)
    if chunk.problem != "ozone":
        draw = partial(draw_synthetic, rules, gamma)
        n, q = rules.n_source, 4
    elif ozone is None:
        raise ValueError("`ozone` is missing: the ozone problem needs its data. Pass load_ozone().")
    else:
        draw = partial(draw_ozone, rules, gamma, ozone_arrays(rules, ozone))
        n, q = 2 * rules.ozone_per_class, rules.ozone_components + 2
    # Solutions of the folds, three times, and losses of the rows, in folds that may differ.
    entries = (3 * rules.n_folds * q + 2 * n) * len(alphas) + 8 * rules.n_target
    options: Any = {"weights": WEIGHTS_OF[chunk.problem], "released_beta": plan.released_beta}
    return Problem(draw, partial(analyse, alphas=alphas, **options), 8 * entries)


def fold_masks(rng: Any, rules: Protocol, repetitions: int, n: int, /, *, shuffled: bool) -> Array:
    """Return which rows each fold holds out: (K, n), or (R, K, n) where that varies.

    Rows in random order need no shuffling: their folds are equal blocks. With `shuffled`, the
    folds are a permutation of those. In the released protocol every row goes to a random fold.
    """
    K = rules.n_folds
    equal = np.arange(n) * K // n
    if rules.random_folds:
        folds = rng.integers(K, size=(repetitions, n))
    elif shuffled:
        folds = permutations(rng, equal, (repetitions,))
    else:
        folds = on_device_of(rng, equal)
    xp = array_namespace(folds)
    every = on_device_of(rng, np.arange(K)[:, None])
    return xp.astype(folds[..., None, :] == every, xp.float64)


def mean_moments(Z: Array, u: Array, /) -> Array:
    """Return means (..., q, q) of a a' over rows a = (z, 1, u), for Z (..., m, D) and u (..., m).

    Column by column: the rows are never put together, because that would move more memory than
    the products read.
    """
    xp = array_namespace(Z, u)
    columns = [*(Z[..., j] for j in range(Z.shape[-1])), xp.ones_like(u), u]
    means: dict[tuple[int, int], Array] = {}
    for (i, a), (j, b) in combinations_with_replacement(enumerate(columns), 2):
        means[i, j] = means[j, i] = xp.vecdot(a, b) / u.shape[-1]
    every = range(len(columns))
    return xp.stack([xp.stack([means[i, j] for j in every], axis=-1) for i in every], axis=-2)


def draw_synthetic(rules: Protocol, gamma: float, rng: Any, repetitions: int, /) -> Batch:
    """Draw data sets of the 2-D problem: 50 source and 1000 target points of `gaussian_2d`."""
    X, y, Z, u = gaussian_2d(gamma, protocol=rules.name).sample(
        rules.n_source, rules.n_target, repetitions=repetitions, random_state=rng
    )
    masks = fold_masks(rng, rules, repetitions, rules.n_source, shuffled=False)
    return Batch(X, y, masks, Z, mean_moments(Z, u))


def ozone_arrays(rules: Protocol, data: Ozone, /) -> tuple[np.ndarray, ...]:
    """Return features, labels, and the target's moments, mean and Cholesky factor.

    The features are the first principal components of the z-scored measurements.
    """
    X = np.column_stack([data.day, data.X]) if rules.ozone_date else data.X
    scaled = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    left, singular, _ = np.linalg.svd(scaled, full_matrices=False)
    features = (left * singular)[:, : rules.ozone_components]
    return features, data.y, mean_moments(features, data.y), *fit_gaussian(features)


def draw_ozone(
    rules: Protocol, gamma: float, arrays: Sequence[np.ndarray], rng: Any, repetitions: int, /
) -> Batch:
    """Draw data sets of the ozone problem: source rows early in time, target all rows.

    The rows are in time order. Row t enters the source with probability in proportion to a
    normal density at t with mean 0 and standard deviation gamma times the number of rows,
    without replacement, the same number from either class.
    """
    features, y, moments, *fit = (on_device_of(rng, a) for a in arrays)
    xp = array_namespace(features)
    labels = arrays[1]
    time = np.arange(len(labels)) / (gamma * len(labels))
    parts = []
    for label in (-1.0, 1.0):
        rows = np.flatnonzero(labels == label)
        # The smallest of exponential numbers over their weights: a weighted draw without
        # replacement (Efraimidis, Spirakis 2006, doi:10.1016/j.ipl.2005.11.003). In logs,
        # because far rows have tiny weights.
        exponential = rng.standard_exponential((repetitions, len(rows)))
        keys = xp.log(exponential) + on_device_of(rng, time[rows] ** 2 / 2)
        count = min(rules.ozone_per_class, len(rows))
        parts.append(on_device_of(rng, rows)[smallest(keys, count)])
    index = xp.concat(parts, axis=-1)
    masks = fold_masks(rng, rules, repetitions, index.shape[-1], shuffled=True)
    return Batch(features[index], y[index], masks, features, moments, tuple(fit))
