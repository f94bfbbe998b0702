"""A kernel width by held-out score, for an estimator whose other settings stay as they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from counterpoise._arrays import Array, array_namespace
from counterpoise.weights._base import DensityRatio, held_out_score
from counterpoise.weights._expansion import sort_rows, take_rows, width_grid

__all__ = ["width_scores"]

# Multiples of the "median" width, and folds of both samples.
_FACTORS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0)
_FOLDS = 5


def width_scores(
    make: Callable[[float], DensityRatio], X_source: Array, X_target: Array, /
) -> dict[float, float]:
    """Return the mean held-out score of each width; empty where a sample has too few rows.

    `make` gives an unfitted estimator of a width. Ratios are capped at n_source, which no source
    point can exceed where their mean is 1. The folds do not depend on the order of the rows.
    """
    folds = min(_FOLDS, X_source.shape[0], X_target.shape[0])
    if folds < 2:
        return {}
    xp = array_namespace(X_source)
    samples = [sort_rows(X) for X in (X_source, X_target)]
    rng = np.random.default_rng(0)
    groups = [rng.permutation(X.shape[0]) % folds for X in samples]
    scores = {}
    for width in (float(w) for w in width_grid(samples[0], samples[1], _FACTORS)):
        values = []
        for k in range(folds):
            pairs = list(zip(samples, groups, strict=True))
            train = [take_rows(X, np.flatnonzero(g != k)) for X, g in pairs]
            test = [take_rows(X, np.flatnonzero(g == k)) for X, g in pairs]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = make(width).fit(*train)
            limit = float(train[0].shape[0])
            values.append(held_out_score(*(xp.clip(model.predict(X), None, limit) for X in test)))
        scores[width] = float(np.mean(values))
    return scores
