"""Two samples in one plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise.encoding import encode_pair

__all__ = ["project", "project_encoded"]


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
    moments = (source.T @ source / source.shape[0] + target.T @ target / target.shape[0]) / 2
    values, vectors = np.linalg.eigh(moments)
    axes = vectors[:, :-3:-1]
    # A sign is arbitrary; the largest coefficient is taken to be positive.
    axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(2)])
    shares = values[:-3:-1] / max(values.sum(), np.finfo(float).tiny)
    words = ("first", "second")
    labels = [
        f"{word} principal component ({share:.0%})"
        for word, share in zip(words, shares, strict=True)
    ]
    return source @ axes, target @ axes, (labels[0], labels[1])
