"""Two samples in one plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import randomized_svd

from counterpoise.encoding import encode_pair


def project(X_source: Any, X_target: Any, /) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Place two samples in one plane: two features as they are, more by principal components.

    The components are those of the standardised features of both samples, where each sample has
    half of the weight. A single feature gets a random second coordinate. Mixed types and missing
    values are encoded. Returns the points (n, 2) and (m, 2), and the labels of both axes.
    """
    pair = encode_pair(X_source, X_target)
    source, target = (
        np.asarray(pair.independent(X), dtype=np.float64) for X in (pair.source, pair.target)
    )
    names = pair.encoder.get_feature_names_out()[pair.encoder.independent_]
    if len(names) == 2:
        return source, target, (names[0], names[1])
    if len(names) == 1:
        rng = np.random.default_rng(0)
        source, target = (np.column_stack([X, rng.uniform(size=len(X))]) for X in (source, target))
        return source, target, (names[0], "(spread at random)")
    both, weights = np.concatenate([source, target]), 0.5 / np.array([len(source), len(target)])
    weights = np.repeat(weights, [len(source), len(target)])
    both = StandardScaler().fit(both, sample_weight=weights).transform(both)
    rows = both * np.sqrt(weights)[:, None]
    _, values, axes = randomized_svd(rows, 2, random_state=0)
    # A sign is arbitrary; the largest coefficient is taken to be positive.
    axes = (axes * np.sign(axes[np.arange(2), np.argmax(np.abs(axes), axis=1)])[:, None]).T
    shares = values**2 / max(float(np.sum(rows**2)), np.finfo(float).tiny)
    labels = [f"principal component ({share:.0%})" for share in shares]
    source, target = np.split(both @ axes, [len(source)])
    return source, target, (f"first {labels[0]}", f"second {labels[1]}")
