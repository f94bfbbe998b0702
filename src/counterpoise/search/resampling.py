"""Bootstrap resamples of held-out rows: how often each is drawn. Nothing is fitted again."""

from __future__ import annotations

import numpy as np

from counterpoise._folds import Folds

__all__ = ["draw_counts", "resampled_means"]

# Numbers held at a time.
_LARGE = 2**18


def draw_counts(folds: Folds, n_bootstrap: int, rng: np.random.Generator, /) -> np.ndarray:
    """Return how often each of N losses is drawn in each resample, (N, n_bootstrap).

    Rows are drawn with replacement within their fold, or whole rows and groups if some losses
    belong together. Counts are 16-bit integers: resamples of 100 000 rows take 0.2 MB each.
    """
    clusters = folds.clusters
    if clusters is not None:
        drawn: np.ndarray = _counts(int(np.max(clusters)) + 1, n_bootstrap, rng)[clusters]
        return drawn
    counts = np.empty((folds.n_losses, n_bootstrap), dtype=np.uint16)
    for fold in folds:
        counts[fold] = _counts(len(fold), n_bootstrap, rng)
    return counts


def _counts(n: int, n_bootstrap: int, rng: np.random.Generator) -> np.ndarray:
    """How often each of n rows is drawn, (n, n_bootstrap)."""
    counts = np.empty((n, n_bootstrap), dtype=np.uint16)
    step = max(1, _LARGE // n)
    for start in range(0, n_bootstrap, step):
        own = counts[:, start : start + step]
        rows = rng.integers(n, size=own.shape[::-1])
        rows += n * np.arange(len(rows))[:, None]
        own[:] = np.bincount(rows.ravel(), minlength=rows.size).reshape(rows.shape).T
    return counts


def resampled_means(losses: np.ndarray, counts: np.ndarray, folds: Folds, /) -> np.ndarray:
    """Return the mean losses (L, n_bootstrap) over the rows drawn. NaN losses stay NaN."""
    total = np.zeros((len(losses), counts.shape[1]))
    size = np.zeros(counts.shape[1])
    for fold in folds:
        drawn = counts[fold].astype(float)
        total += losses[:, fold] @ drawn
        size += drawn.sum(axis=0)
    return total / size
