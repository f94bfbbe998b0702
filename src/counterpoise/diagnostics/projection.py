"""Two samples in one plane."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import eigh

from counterpoise.encoding import encode_pair

__all__ = ["project", "project_encoded"]

# With more columns, about this many rows of both samples together are looked at.
_MANY = 2000


def project(X_source: Any, X_target: Any, /) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Place two samples in one plane: two features as they are, more by principal components.

    The components are those of the standardised features of both samples, where each sample has
    half of the weight. A single feature gets a random second coordinate.

    Parameters
    ----------
    X_source, X_target : arrays, data frames or sparse matrices
        Of one width. Mixed types and missing values are encoded.

    Returns
    -------
    source, target : arrays of shape (n, 2) and (m, 2)
    labels : pair of str
        Of the axes.
    """
    pair = encode_pair(X_source, X_target)
    source, target = (
        np.asarray(pair.independent(X), dtype=np.float64) for X in (pair.source, pair.target)
    )
    return project_encoded(
        source, target, pair.encoder.get_feature_names_out()[pair.encoder.independent_]
    )


def project_encoded(
    source: np.ndarray, target: np.ndarray, names: np.ndarray, /
) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Do the same for samples (n, D) and (m, D) of encoded features with these names."""
    if source.shape[1] == 1:
        rng = np.random.default_rng(0)
        return (
            np.column_stack([source[:, 0], rng.uniform(size=source.shape[0])]),
            np.column_stack([target[:, 0], rng.uniform(size=target.shape[0])]),
            (names[0], "(spread at random)"),
        )
    if source.shape[1] == 2:
        return source, target, (names[0], names[1])
    return _principal(source, target)


def _principal(
    source: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    centre = (source.mean(axis=0) + target.mean(axis=0)) / 2
    second = (np.mean((source - centre) ** 2, axis=0) + np.mean((target - centre) ** 2, axis=0)) / 2
    scale = np.where(second > 0, np.sqrt(second), 1.0)
    source, target = (source - centre) / scale, (target - centre) / scale
    values, axes, total = _leading(source, target)
    # A sign is arbitrary; the largest coefficient is taken to be positive.
    axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(2)])
    shares = values / max(total, np.finfo(float).tiny)
    words = ("first", "second")
    labels = [
        f"{word} principal component ({share:.0%})"
        for word, share in zip(words, shares, strict=True)
    ]
    return source @ axes, target @ axes, (labels[0], labels[1])


def _leading(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Two largest eigenvalues of the second moments, their vectors (D, 2), and the sum of all.

    From the moments of the columns or of the rows, whichever are fewer; with many of both, some
    rows of each sample say enough for a picture.
    """
    D = source.shape[1]
    if D > _MANY:
        source, target = (X[:: -(-len(X) // (_MANY // 2))] for X in (source, target))
    rows = np.concatenate([X / math.sqrt(2 * len(X)) for X in (source, target)])
    wide = len(rows) < D
    moments = rows @ rows.T if wide else rows.T @ rows
    size = len(moments)
    values, vectors = eigh(moments, subset_by_index=[size - 2, size - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    if wide:
        vectors = rows.T @ vectors
        length = np.linalg.norm(vectors, axis=0)
        vectors = vectors / np.where(length > 0, length, 1.0)
    return values, vectors, float(np.trace(moments))
