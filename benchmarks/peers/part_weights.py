"""(a) Error of the weights and of target means, on made problems and on selected real tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import real_data
from cells import Cell
from estimators import ESTIMATORS, fit_weights
from weight_problems import MADE, made_features

from counterpoise.encoding import encode_pair

# Target rows that estimators may see; the others judge the means.
SEEN = 1000
SIZES = (200, 1000)
# Name: columns, kind, strength; see `weight_problems.made_draw`.
KNOWN: dict[str, tuple[int, str, float]] = {
    **MADE,
    "normal, 5 columns": (5, "normal", 1.0 / np.sqrt(5)),
    "normal, 10 columns": (10, "normal", 1.0 / np.sqrt(10)),
    "narrower target, 2 columns": (2, "narrow", 0.6),
    "narrower target, 20 columns": (20, "narrow", 0.9),
    "skewed columns, 2": (2, "skewed", 1.5),
    "skewed columns, 50": (50, "skewed", 1.5),
    "heavy tails, 2": (2, "heavy", 1.5),
    "heavy tails, 50": (50, "heavy", 1.5),
    "product of two columns, 20": (20, "product", 1.5),
}


def cells(part: str, data: str | None) -> Iterator[Cell]:
    for name in KNOWN:
        for n in SIZES:
            yield Cell("weights", "made", name, n, made)
    for name in real_data.names(part):
        if real_data.ENTRIES[name].kind == "selection":
            has = [n for n in real_data.sizes(name, data) if n <= max(SIZES)]
            for n in {has[-1], min(has, key=lambda n: abs(n - min(SIZES)))}:
                yield Cell("weights", "selection", name, n, partial(selected, data=data))


def made(name: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, n, *name.encode()])
    X, Z, weights = made_features(*KNOWN[name], n, 3 * SEEN, rng)
    centre, scale = np.mean(Z, axis=0), np.std(Z, axis=0)
    return (X - centre) / scale, (Z - centre) / scale, weights


def selected(
    name: str, n: int, seed: int, *, data: str | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    problem = real_data.load(name, seed, n, data=data)
    pair = encode_pair(problem.X_source, problem.X_target)
    weights = np.asarray(problem.weights)
    return pair.independent(pair.source), pair.independent(pair.target), weights


def run(cell: Cell, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the errors of every estimator on one draw."""
    X, Z, weights = cell.make(cell.problem, cell.n, seed)
    seen = Z[: min(SEEN, len(Z) // 2)]
    unseen = Z[len(seen) :]
    spread = unseen.std(axis=0)
    used = spread > 1e-9
    true = weights / weights.mean()
    for name in ESTIMATORS:
        start = time.perf_counter()
        found, failed = fit_weights(name, X, seen)
        seconds = time.perf_counter() - start
        gap = (found @ X / len(X) - unseen.mean(axis=0))[used] / spread[used]
        yield {
            "method": name,
            "weights": float(np.sqrt(np.mean((found - true) ** 2))),
            "means": float(np.sqrt(np.mean(gap**2))),
            "seconds": seconds,
            "failed": int(failed),
        }
