"""Two normal samples whose density ratio is known, and the Gaussian kernel written out."""

import numpy as np


def gaussians(n, m, dimension=2, *, shift=1.0, variance=1.0, seed=0):
    """Source N((-shift, 0, ...), variance I), target N(0, I), and the true ratio at the source."""
    rng = np.random.default_rng(seed)
    X_source = rng.normal(size=(n, dimension)) * np.sqrt(variance)
    X_source[:, 0] -= shift
    X_target = rng.normal(size=(m, dimension))
    moved = X_source.copy()
    moved[:, 0] += shift
    log_ratio = 0.5 * (moved**2).sum(1) / variance - 0.5 * (X_source**2).sum(1)
    return X_source, X_target, np.exp(log_ratio) * variance ** (dimension / 2)


def kernel(A, B, width):
    return np.exp(-((A[:, None, :] - B[None, :, :]) ** 2).sum(-1) / (2 * width**2))
