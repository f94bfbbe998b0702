"""Labels of a few target rows: one way to use them, and one test of what they say."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtr

from counterpoise._arrays import array_namespace, as_float, as_scalar, to_numpy
from counterpoise._format import format_count, format_number, format_p_value
from counterpoise._validation import check_finite, check_loss_size, check_real, refuse_column
from counterpoise.metrics import Predicted
from counterpoise.risk.estimate import (
    Combination,
    RiskEstimate,
    as_floats,
    like_value,
    weighted_variance,
)
from counterpoise.risk.held_out import HeldOut

# Beyond so many standard errors a difference between labels and estimate is no chance: the drift
# grows to hold it.
_CHANCE = 2.0
# Samples of weighted source losses that the test draws, and labels above which it needs none.
_SAMPLES, _MANY = 40_000, 200


def check_labelled_losses(given: Any, losses: Any, /) -> Any:
    """Return losses (..., k) of labelled target rows, with the leading axes of `losses`."""
    xp = array_namespace(losses)
    checked = as_float(check_real(given, "target_losses"), like=losses)
    lead = tuple(losses.shape[:-1])
    if tuple(checked.shape[:-1]) != lead or checked.ndim == 0 or checked.shape[-1] < 2:
        raise ValueError(
            f"`target_losses` must have shape (*{lead}, k) with k at least 2, the leading axes of "
            f"`losses`; got {tuple(checked.shape)}. Pass the loss of every model on each labelled "
            "target row."
        )
    refuse_column(checked.shape, "target_losses")
    check_finite(xp, checked, "target_losses", "Pass labelled rows only.")
    check_loss_size(float(xp.max(xp.abs(checked))), "target_losses")
    return checked


def combine_with_labels(estimate: RiskEstimate, held_out: HeldOut, /) -> RiskEstimate:
    """Combine an estimate from the source with the losses on labelled target rows.

    The labels' own variance counts, at least the source's: ten right predictions have none.
    """
    losses = np.asarray(to_numpy(held_out.labelled), dtype=np.float64)
    k = losses.shape[-1]
    squares = np.sum((losses - losses.mean(axis=-1, keepdims=True)) ** 2, axis=-1)
    of_source = weighted_variance(np, to_numpy(held_out.losses), to_numpy(held_out.weights))
    variance = np.maximum(squares / max(k - 1, 1), of_source) / k
    return combine(estimate, losses.mean(axis=-1), np.sqrt(variance), k)


def with_more_labels(estimate: RiskEstimate, held_out: HeldOut, n_labels: int, /) -> RiskEstimate:
    """Return the estimate as it would be after so many more labels, if they agree with it.

    The labels are of random target rows, whose losses have the variance of the weighted losses of
    the source, and a mean as large as the estimate: it stays, and its interval shrinks. Labels that
    disagree leave a wider one, and labels that train the model another model. `held_out` has the
    losses (N,) of the same model.
    """
    losses, weights = to_numpy(held_out.losses), to_numpy(held_out.weights)
    error = np.sqrt(weighted_variance(np, losses, weights) / n_labels)
    return combine(estimate, estimate.value, error, n_labels)


def combine(
    estimate: RiskEstimate, label_value: Any, label_error: Any, n_labels: int, /
) -> RiskEstimate:
    """Return the inverse-variance mean of an estimate and of the same number from k labels.

    On the link scale. The estimate's variance has the drift in it, which the labels replace as far
    as they count; where the two differ by more than two standard errors, the drift is as large as
    the rest of the difference. A number at an end of its range is moved towards the estimate by one
    row in k + 1, so that a mean of 0 has a logarithm. `label_error` is the labels' standard error.
    """
    link, k = replace(estimate.link, unit=to_numpy(estimate.link.unit)), n_labels
    value, error, drift, free, rows = as_floats(estimate)
    seen = np.asarray(label_value, dtype=np.float64)
    moved = np.where(link.inside(seen), seen, (k * seen + value) / (k + 1))
    with np.errstate(all="ignore"):
        gap = link.distance(value, moved)
        # Near an end of the range the scale is so steep that every error is large: there the mean
        # slope between the two numbers counts.
        slope = np.fmin(link.slope(moved), gap / (moved - value))
        by_rows, by_labels = (error * link.slope(value)) ** 2, (label_error * slope) ** 2
        excess = np.abs(gap) - _CHANCE * np.sqrt(by_rows + by_labels)
        drift = np.fmax(drift, excess)
        share = (by_rows + drift**2) / (by_rows + drift**2 + by_labels)
        rest = 1 - share
        sampling = rest**2 * by_rows + share**2 * by_labels
        spread = (rest**2 * by_rows) ** 2 / free + (share**2 * by_labels) ** 2 / (k - 1)
        combined = link.move(value, share * gap)
        standard_error = np.sqrt(sampling) / link.slope(combined)
        degrees = np.where(spread > 0, sampling**2 / np.where(spread > 0, spread, 1.0), free)
    # At an end of the range, or without an error, the two are averaged by their rows.
    usable = np.isfinite(share) & np.isfinite(gap)
    share = np.where(usable, share, k / (k + rows))
    rest = 1 - share
    plain = share * seen + rest * value
    plain_error = np.hypot(share * label_error, rest * np.nan_to_num(error))
    numbers = {
        "value": np.where(usable, combined, plain),
        "standard_error": np.where(usable, standard_error, plain_error),
        "drift": rest * drift,
        "degrees_of_freedom": np.where(usable, np.maximum(degrees, 1.0), free),
        "n_effective": 1 / (share**2 / k + rest**2 / rows),
    }
    said = (as_scalar(np.asarray(a)) for a in (seen, label_error, value, error, free, share))
    return replace(
        estimate,
        **{name: like_value(number, estimate.value) for name, number in numbers.items()},
        labels=Combination(k, *said),
    )


@dataclass(frozen=True)
class LabelTest:
    """Whether labels of target rows fit the estimate from the source.

    Attributes
    ----------
    p_value : float
        Of "labels depend on the columns in the same way in source and target, and the weights are
        right": below 0.05 in about 5 % of the cases where that holds, from 5 labels on.
    n_labels : int
    label_value, weighted_value : float
        Mean loss of the labelled rows, and the estimate without them.
    p_value_larger : float
        Of "the labelled rows do not have the larger loss", by a t-test: a few outliers, which make
        the other one small where losses have heavy tails, do not make this one small.
    """

    p_value: float
    n_labels: int
    label_value: float
    weighted_value: float
    p_value_larger: float

    @property
    def words(self) -> str:
        """The result in a sentence."""
        seen, expected = (format_number(v) for v in (self.label_value, self.weighted_value))
        compared = (
            f"{format_count(self.n_labels, 'label')} of target rows give {seen} where the source "
            f"gives {expected} (p = {format_p_value(self.p_value)})"
        )
        how = "do not fit the estimate well" if self.p_value < 0.05 else "agree with the estimate"
        how = "contradict the estimate" if self.p_value < 0.001 else how
        return f"The labels {how}: {compared}."


def label_test(
    held_out: HeldOut,
    estimate: RiskEstimate,
    /,
    predicted: Predicted | None = None,
    labelled: Predicted | None = None,
) -> LabelTest:
    """Compare the mean loss of labelled target rows with the estimate from the source.

    If labels depend on the columns in the same way, the losses of k labelled rows are a sample from
    the weighted losses of the source. So k of those are drawn many times, and the error of the
    estimate is added to their mean: the share of such means beyond the observed one, on its side,
    doubled, is the p-value. Of two samples with the same mean, as losses of 0 or 1 have, the one
    that the model was surer of counts as the larger. The test keeps its level for few labels and
    skewed losses, where a t-test does not. Above 200 labels it is Welch's t-test, which the second
    p-value always is.

    Parameters
    ----------
    held_out : HeldOut
        Losses (N,) of one model, weights, and its losses (k,) on labelled target rows.
    estimate : RiskEstimate
        Of the same model; `labels` has the estimate without labels.
    predicted, labelled : Predicted, optional
        What the model said of the N and of the k rows. Without probabilities, half of the samples
        with the same mean count: 5 losses of 0 or 1 then reject about 2 % of true nulls.
    """
    losses, weights, there = (
        np.asarray(to_numpy(a), dtype=np.float64)
        for a in (held_out.losses, held_out.weights, held_out.labelled)
    )
    assert estimate.labels is not None  # made by `estimate_risk` from the same held-out losses
    said, k = estimate.labels, there.shape[-1]
    mean = float(there.mean())
    larger = _welch(said)
    if k > _MANY:
        return LabelTest(2 * min(larger, 1 - larger), k, mean, said.weighted_value, larger)
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(losses), size=(_SAMPLES, k), p=weights / np.sum(weights))
    center = float(np.average(losses, weights=weights))
    noise = said.weighted_error * rng.standard_t(said.weighted_degrees, _SAMPLES)
    means = losses[drawn].mean(axis=1)
    gaps = means - center + said.weighted_value + noise - mean
    sure, sure_there = (_sureness(rows) for rows in (predicted, labelled))
    if sure is not None and sure_there is not None:
        surer = sure[drawn].mean(axis=1) - sure_there.mean()
        gaps = np.where(np.isclose(means, mean) & (surer != 0), surer, gaps)
    below, above = (np.count_nonzero(side) for side in (gaps <= 0, gaps >= 0))
    p_value = min(1.0, 2 * (min(below, above) + 1) / (_SAMPLES + 1))
    return LabelTest(p_value, k, mean, said.weighted_value, larger)


def _welch(said: Combination, /) -> float:
    """Return Welch's one-sided p-value of "the labelled rows do not have the larger loss"."""
    v_labels, v_rows, free = said.label_error**2, said.weighted_error**2, said.weighted_degrees
    spread = v_labels**2 / (said.n_labels - 1) + v_rows**2 / free
    degrees = (v_labels + v_rows) ** 2 / (spread + 1e-300)
    gap = (said.label_value - said.weighted_value) / math.sqrt(v_labels + v_rows + 1e-300)
    return float(stdtr(degrees, -gap))


def _sureness(rows: Predicted | None) -> np.ndarray | None:
    """Return the probability of the most probable class of each row, where there are some."""
    if rows is None or rows.probability is None:
        return None
    largest: np.ndarray = rows.probability.max(axis=1)
    return largest
