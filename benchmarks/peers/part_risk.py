"""(b) Error of the target risk of fixed models on real tables.

The held-out losses of a linear model and a forest are given (``weight_problems.fixed_models``).
What users of the other packages do with weights is the weighted mean of the losses;
counterpoise's default is ``target_risk`` with its default weights and method.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from cells import Cell, of_tables
from estimators import ESTIMATORS, OURS, fit_weights
from weight_problems import Draw, real_draw

import counterpoise as cp
from counterpoise.weights.default import DEFAULT_WEIGHTS

# Relative errors count up to this much.
LARGEST_ERROR = 50.0
SAME = "counterpoise, default weights, weighted mean"


def cells(half: str, data: str | None) -> Iterator[Cell]:
    return of_tables("risk", half, data, real_draw)


def run(cell: Cell, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the relative error of the risk by every estimator, for one draw."""
    draw = cell.make(cell.problem, cell.n, seed)
    for name in ESTIMATORS:
        start = time.perf_counter()
        weights, failed = fit_weights(name, draw.source, draw.target)
        row = {"seconds": time.perf_counter() - start, "failed": int(failed)}
        own = SAME if name == OURS else name
        yield {"method": own, "risk": _error(draw, draw.losses @ weights / cell.n), **row}
        if name == OURS:
            start = time.perf_counter()
            value = cp.target_risk(
                draw.losses, DEFAULT_WEIGHTS, X_source=draw.source, X_target=draw.target
            ).value
            seconds = time.perf_counter() - start
            risk = _error(draw, np.asarray(value))
            yield {"method": OURS, "risk": risk, "seconds": seconds, "failed": 0}
    if draw.weights is not None:
        true = draw.weights / draw.weights.mean()
        risk = _error(draw, draw.losses @ true / cell.n)
        yield {"method": "true weights", "risk": risk, "seconds": 0.0, "failed": 0}


def _error(draw: Draw, value: np.ndarray) -> float:
    """Return the root mean square over models of the relative error."""
    relative = np.clip(value / draw.truth - 1, -LARGEST_ERROR, LARGEST_ERROR)
    return float(np.sqrt(np.mean(relative**2)))
