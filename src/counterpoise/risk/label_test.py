"""A test of "labels given features are the same in both populations" from a few target labels.

No unlabelled row can show whether that holds, and every weighted estimate assumes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from array_api_compat import numpy as xp

from counterpoise._format import format_count, format_p_value
from counterpoise.risk.averages import Controlled
from counterpoise.risk.controls import Moments
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.held_out import HeldOut, Labelled
from counterpoise.risk.labelled import label_mean, t_test
from counterpoise.risk.regression import cross_fit_folds, fit_coefficients

__all__ = ["LabelTest", "label_test"]

# Below this p-value the words say that labels differ.
_SIZE = 0.05


@dataclass(frozen=True)
class LabelTest:
    """Whether labels given features are the same in both populations.

    Attributes
    ----------
    p_value : float
        The least of the p-values below, times their number: below 0.05 in at most about 5 % of
        cases where labels given features are the same and weights or outcome model are right.
    n_labels : int
        Labelled target rows.
    names : tuple of str
        What was compared: the loss, and residuals of the labels.
    differences : array of shape (n_names,)
        Target less source, at the features of the target.
    p_values : array of shape (n_names,)
    """

    p_value: float
    n_labels: int
    names: tuple[str, ...]
    differences: np.ndarray
    p_values: np.ndarray

    @property
    def differ(self) -> bool:
        """Whether the p-value is below 0.05."""
        return self.p_value < _SIZE

    @property
    def words(self) -> str:
        """The result in a sentence."""
        start = f"With {format_count(self.n_labels, 'label')} of target rows, "
        end = f" (p = {format_p_value(self.p_value)}"
        if not self.differ:
            return (
                f"{start}no difference was found between source and target in the labels given "
                f"the features{end}; a small difference would not be seen)."
            )
        which = self.names[int(np.argmin(self.p_values))]
        return (
            f"{start}the labels given the features differ between source and target, or the "
            f"weights are wrong{end}, seen in {which}). The weighted source alone misjudges the "
            "target: collect more labels there."
        )


def label_test(
    held_out: HeldOut,
    labelled: Labelled,
    source_scores: np.ndarray,
    names: Sequence[str],
    /,
) -> LabelTest:
    """Compare scores of labelled target rows with what the source has at the same features.

    For a score s of features and label (a loss, a residual), the same labels given features make
    mean_target[s - m(x)] equal to mean_source[w (s - m(x))] for any function m if the weights are
    right, and for any weights if m(x) = E[s | x]. Here m is a cross-fitted ridge regression of the
    source's scores on monomials of the features, so that either may be somewhat wrong. Welch's
    t-test for each score, Bonferroni over scores.

    Parameters
    ----------
    held_out : HeldOut
        Weights and folds of the source rows; features with `domains.labelled`, or without
        domains, in which case m is 0.
    labelled : Labelled
        `losses` are the scores (q, k) of the labelled target rows.
    source_scores : array of shape (q, N)
        Of the held-out source rows, by models that were not trained on them.
    names : sequence of q str
    """
    scores = np.asarray(source_scores, dtype=np.float64)
    own = np.asarray(labelled.losses, dtype=np.float64)
    spread = np.sqrt(np.var(scores, axis=-1) + np.var(own, axis=-1))
    usable = np.flatnonzero(spread > 1e-12 * (1 + np.abs(scores).max(axis=-1)))
    if not len(usable):
        zero = np.zeros(len(names))
        return LabelTest(1.0, own.shape[-1], tuple(names), zero, zero + 1)
    scores, own, names = scores[usable], own[usable], [names[j] for j in usable.tolist()]
    at_source, at_target = _expected(held_out, scores)
    left = replace(held_out, losses=scores - at_source, predictions=None)
    source, _ = estimate_risk(left, Controlled())
    error = np.maximum(source.standard_error, source.tail_error)
    residuals = replace(labelled, losses=own - at_target)
    mean, variance, free = label_mean(xp, residuals)
    difference = mean - source.value
    _, p_values = t_test(xp, difference, variance, error**2, free, source.degrees_of_freedom)
    p_value = min(1.0, len(usable) * float(np.min(p_values)))
    return LabelTest(p_value, own.shape[-1], tuple(names), difference, p_values)


def _expected(held_out: HeldOut, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return expected scores (q, N) at the source, cross-fitted, and (q, k) at labelled rows."""
    domains = held_out.domains
    if domains is None or domains.labelled is None or domains.source.shape[-1] == 0:
        return np.zeros_like(scores), np.zeros((len(scores), 1))
    # The labelled rows go through the same basis as the others.
    every = np.concatenate([domains.target, domains.labelled])
    batched = replace(held_out, losses=scores, domains=replace(domains, target=every)).batched(xp)
    basis, at_every = Moments().values(xp, batched)
    labelled = at_every[len(domains.target) :]
    folds = cross_fit_folds(held_out.folds)
    slopes = fit_coefficients(xp, basis, batched.losses, folds)[:, 0]  # (K, 1 + k, q)
    at_source = np.empty_like(scores)
    at_target = np.zeros((len(scores), len(labelled)))
    # No score is expected outside those that were seen, however far a row is.
    low, high = scores.min(axis=-1, keepdims=True), scores.max(axis=-1, keepdims=True)
    for fold, own in zip(folds, slopes, strict=True):
        at_source[:, fold] = np.clip((basis[0][fold] @ own[1:] + own[:1]).T, low, high)
        found = np.clip((labelled @ own[1:] + own[:1]).T, low, high)
        at_target += len(fold) / scores.shape[-1] * found
    return at_source, at_target
