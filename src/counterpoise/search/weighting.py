"""Weights for cross-validation: of the training rows, of the held-out rows, of all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise._folds import Splits
from counterpoise._sklearn import num_samples
from counterpoise._validation import check_choice
from counterpoise.encoding import encode_pair
from counterpoise.risk import Domains
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.resolve import are_values, resolve_weights

__all__ = ["FoldWeights", "resolve_fold_weights"]


@dataclass(frozen=True)
class FoldWeights:
    """The importance weights of a cross-validation."""

    full: np.ndarray  # (n,): of all source rows, for the final fit
    training: list[np.ndarray]  # of each split's training rows
    held_out: np.ndarray  # (N,): of the held-out rows, one split after the other
    estimator: DensityRatio | None  # fitted on all source rows
    shared: bool  # whether a row has the same weight everywhere
    domains: Domains | None = None  # features of the held-out rows and of target rows

    @property
    def unit(self) -> bool:
        """Whether all weights are 1."""
        return bool(np.all(self.full == 1))


def resolve_fold_weights(
    weights: Any,
    X: Any,
    X_target: Any,
    splits: Splits,
    /,
    *,
    fit: str = "once",
    labelled: np.ndarray | None = None,
) -> FoldWeights:
    """Find the weights, once for all rows or again on the training part of each split.

    Parameters
    ----------
    weights : str, DensityRatio, array or None
        As in the searches.
    X, X_target : array, data frame or sparse matrix
        Encoded by :class:`~counterpoise.encoding.TableEncoder`.
    splits : sequence of (train, test) index arrays
    fit : {"once", "fold"}
        "once": fitted on all source rows before the folds (the paper). "fold": fitted on each
        training part and predicted for its held-out rows, which then had no say in their weights.
    labelled : int array, optional
        Target rows whose labels are known: their features are kept.
    """
    check_choice(fit, "weights_fit", ("once", "fold"))
    given = weights is None or are_values(weights)
    encoded = target = np.empty((num_samples(X), 0))
    if X_target is not None:
        pair = encode_pair(X, X_target)
        encoded, target = pair.independent(pair.source), pair.independent(pair.target)
    full, estimator = resolve_weights(weights, encoded, None if X_target is None else target)
    domains = None
    if X_target is not None:
        rows = np.concatenate([test for _, test in splits])
        source = np.asarray(encoded[rows], dtype=np.float64)
        domains = Domains.of_rows(source, source, target, estimator)
        if labelled is not None:
            there = np.asarray(target[labelled], dtype=np.float64)
            domains = replace(domains, labelled=there)
    if fit == "once" or given:
        training = [full[train] for train, _ in splits]
        held_out = np.concatenate([full[test] for _, test in splits])
        return FoldWeights(full, training, held_out, estimator, shared=True, domains=domains)
    training, parts = [], []
    for train, test in splits:
        own, fitted = resolve_weights(weights, encoded[train], target)
        training.append(own)
        assert fitted is not None  # weights that are not given come from an estimator
        parts.append(to_numpy(fitted.predict(encoded[test])))
    return FoldWeights(
        full, training, np.concatenate(parts), estimator, shared=False, domains=domains
    )
