"""A few labelled target rows: their mean loss, combined with the weighted estimate.

Two estimates of one number. The mean loss of labelled target rows is unbiased and noisy. The
weighted estimate has a small variance and, if the weights are wrong or labels given features differ
between the populations, a bias that nobody knows. How far the two are apart says how large it is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.special import stdtr

from counterpoise._arrays import Array, Namespace, array_namespace, as_float, device, to_numpy
from counterpoise._validation import check_finite, check_real, refuse_column
from counterpoise.risk.estimate import RiskEstimate, as_scalar
from counterpoise.risk.held_out import HeldOut, Labelled

__all__ = ["Combination", "check_labelled_losses", "combine_with_labels", "label_mean", "t_test"]

# Points at which that share is taken.
_GRID = 64
# Degrees of freedom that the variance of the source's weighted losses counts for.
_PRIOR_ROWS = 5.0


@dataclass(frozen=True)
class Combination:
    """The two estimates behind a risk from weights and target labels.

    Every number has the leading axes of the losses.

    Attributes
    ----------
    n_labels : int
        Labelled target rows.
    label_value, label_error : float or array
        Mean loss of the labelled rows and its standard error.
    weighted_value, weighted_error : float or array
        The estimate without labels and its standard error.
    share : float or array
        Weight of the label mean in the combination, in [0, 1].
    p_value : float or array
        Of the hypothesis that both estimate the same number (Welch's t-test). A small one says that
        the weights are wrong or that labels given features differ between the populations.
    """

    n_labels: int
    label_value: Any
    label_error: Any
    weighted_value: Any
    weighted_error: Any
    share: Any
    p_value: Any

    def __getitem__(self, key: Any) -> Combination:
        parts = (field.name for field in fields(self) if field.name != "n_labels")
        return replace(self, **{name: as_scalar(getattr(self, name)[key]) for name in parts})


def check_labelled_losses(target_losses: Any, losses: Array, /) -> Labelled:
    """Return losses of labelled target rows with the leading axes of the source's losses."""
    given = target_losses if isinstance(target_losses, Labelled) else Labelled(target_losses)
    xp = array_namespace(losses)
    own = xp.astype(as_float(check_real(given.losses, "target_losses"), like=losses), losses.dtype)
    lead = tuple(losses.shape[:-1])
    if own.ndim == 0 or tuple(own.shape[:-1]) != lead or own.shape[-1] < 2:
        raise ValueError(
            f"`target_losses` must have shape (*{lead}, k) with k at least 2, the leading axes of "
            f"`losses`; got {tuple(own.shape)}. Pass the loss of every model on each labelled "
            "target row."
        )
    refuse_column(own.shape, "target_losses")
    check_finite(xp, own, "target_losses", "Pass labelled rows only.")
    if (given.strata is None) != (given.shares is None):
        raise ValueError("`strata` and `shares` of Labelled must be passed together.")
    if given.strata is None or given.shares is None:
        return replace(given, losses=own)
    strata, shares = np.asarray(given.strata), np.asarray(given.shares, dtype=np.float64)
    k = own.shape[-1]
    if strata.shape != (k,) or set(strata.tolist()) != set(range(len(shares))):
        raise ValueError(
            f"`strata` must hold one of 0 to {len(shares) - 1} for each of the {k} labelled rows, "
            f"every stratum at least once; got shape {strata.shape}. Join strata without labels."
        )
    if np.any(shares < 0) or not np.isclose(shares.sum(), 1):
        raise ValueError(
            f"`shares` must not be negative and have sum 1; got sum {shares.sum():g}. Pass the "
            "share of target rows in each stratum."
        )
    return replace(given, losses=own, strata=strata, shares=shares)


def label_mean(
    xp: Namespace, labelled: Labelled, prior_variance: Any = None, /
) -> tuple[Array, Array, Any]:
    """Return the mean loss (...) of the labelled rows, its variance and degrees of freedom.

    Rows of a stratum count by its share of the target: sum_h W_h mean_h, with variance
    sum_h W_h^2 s_h^2 / k_h + sum_h W_h (mean_h - mean)^2 / m, which is unbiased if rows were drawn
    at random within strata. Few rows say little about a variance (ten right predictions have
    none): the first sum is averaged with `prior_variance` / k, from the weighted variance of the
    source's losses, which counts for 5 rows.
    """
    losses = labelled.losses
    k = losses.shape[-1]
    strata = np.zeros(k, dtype=np.int64) if labelled.strata is None else labelled.strata
    shares = np.ones(1) if labelled.shares is None else labelled.shares
    counts = np.bincount(strata)
    means, squares = [], []
    for h in range(len(counts)):
        rows = xp.asarray(np.flatnonzero(strata == h), device=device(losses))
        own = xp.take(losses, rows, axis=-1)
        means.append(xp.mean(own, axis=-1))
        squares.append(xp.sum((own - means[-1][..., None]) ** 2, axis=-1))
    free = max(k - len(counts), 1)
    mean = sum(float(share) * own for share, own in zip(shares, means, strict=True))
    variance, squared, between = (xp.zeros_like(mean) for _ in range(3))
    for share, count, own, square in zip(shares, counts, means, squares, strict=True):
        part = float(share) ** 2 * square / float(count * max(count - 1, 1))
        variance = variance + part
        squared = squared + part**2 / float(max(count - 1, 1))
        between = between + float(share) * (own - mean) ** 2
    some = squared > 0
    degrees = xp.where(some, variance**2 / xp.where(some, squared, 1.0), float(free))
    if prior_variance is not None:
        variance = (free * variance + _PRIOR_ROWS * prior_variance / k) / (free + _PRIOR_ROWS)
    if labelled.n_target is not None:
        variance = variance + between / labelled.n_target
    return mean, variance, xp.clip(degrees, 1, None)


def combine_with_labels(
    estimate: RiskEstimate, held_out: HeldOut, labelled: Labelled, /
) -> RiskEstimate:
    """Combine a weighted estimate r with the mean loss t of labelled target rows.

    The bias b of r is unknown. Given its scale tau, the best combination is t - L (t - r) with
    L = v_t / (v_t + v_r + tau^2). The prior of tau makes v / (v + tau^2) uniform, with
    v = v_t + v_r, and is weighed by the likelihood of the difference t - r: near 0 the weighted
    estimate counts by its variance; far from it the label mean is all that remains. The variance
    is that of the posterior plus the squared move away from t, because for a bias about as large
    as the errors the posterior alone is too sure.

    Losses of the labelled rows must come from models that were not trained on them. Beta, effective
    sample size and variance reduction stay those of the weighted estimate.

    References
    ----------
    arXiv:2311.01453 and arXiv:2502.14166 (combining few labels with many predictions).
    """
    losses = labelled.losses
    xp = array_namespace(losses)
    value, error, tail, constant, target, transfer, free = (
        xp.asarray(getattr(estimate, name), dtype=losses.dtype, device=device(losses))
        for name in (
            "value",
            "standard_error",
            "tail_error",
            "constant_error",
            "target_error",
            "transfer_error",
            "degrees_of_freedom",
        )
    )
    v_r = xp.maximum(error**2, tail**2) + constant**2 + target**2 + transfer**2
    t, v_t, free_t = label_mean(xp, labelled, _weighted_variance(xp, held_out))
    # Weights without an estimate or an error of it leave the labels alone.
    usable = xp.isfinite(value) & xp.isfinite(v_r)
    v_r, value = xp.where(usable, v_r, 1.0), xp.where(usable, value, t)
    alone = usable & (v_t <= 0)
    v_t = xp.where(alone, v_r, v_t)
    move, variance = _posterior(xp, t - value, v_t, v_r)
    move = xp.where(usable, move, xp.zeros_like(move))
    d = t - value
    combined = t - move * d
    variance = xp.where(usable, variance + (move * d) ** 2, v_t)
    # Satterthwaite, for the two parts of the variance.
    parts = (1 - move) ** 2 * v_t, move**2 * v_r
    spread = parts[0] ** 2 / free_t + parts[1] ** 2 / free
    some = spread > 0
    degrees = (parts[0] + parts[1]) ** 2 / xp.where(some, spread, xp.ones_like(spread))
    degrees = xp.where(some, degrees, free)
    _, p_value = t_test(xp, d, v_t, v_r, free_t, free)
    labels = Combination(
        n_labels=int(losses.shape[-1]),
        label_value=as_scalar(t),
        label_error=as_scalar(xp.sqrt(v_t)),
        weighted_value=estimate.value,
        weighted_error=as_scalar(xp.sqrt(v_r)),
        share=as_scalar(1 - move),
        p_value=as_scalar(p_value),
    )
    return replace(
        estimate,
        value=as_scalar(combined),
        standard_error=as_scalar(xp.sqrt(variance)),
        degrees_of_freedom=as_scalar(xp.clip(degrees, 1, None)),
        tail_error=as_scalar(xp.zeros_like(combined)),
        constant_error=as_scalar(xp.zeros_like(combined)),
        target_error=as_scalar(xp.zeros_like(combined)),
        transfer_error=as_scalar(xp.zeros_like(combined)),
        labels=labels,
        resample=None,
    )


def _posterior(xp: Namespace, d: Array, v_t: Array, v_r: Array) -> tuple[Array, Array]:
    """Posterior mean of L (...), and the posterior variance of the risk."""
    total = v_t + v_r
    scale = xp.where(total > 0, total, xp.ones_like(total))
    share = (np.arange(_GRID) + 0.5) / _GRID
    # v + tau^2 in units of v.
    spread = as_float(1 / share, like=d)
    spread = xp.astype(spread, d.dtype)
    z = (d**2 / scale)[..., None]
    log = -0.5 * (xp.log(spread) + z / spread)
    chance = xp.exp(log - xp.max(log, axis=-1, keepdims=True))
    chance = chance / xp.sum(chance, axis=-1, keepdims=True)
    toward = (v_t / scale)[..., None] / spread
    mean = xp.sum(chance * toward, axis=-1)
    within = xp.sum(chance * v_t[..., None] * (1 - toward), axis=-1)
    between = xp.sum(chance * (toward - mean[..., None]) ** 2, axis=-1) * d**2
    return mean, within + between


def t_test(
    xp: Namespace, difference: Array, v_1: Array, v_2: Array, free_1: Any, free_2: Any, /
) -> tuple[Array, Array]:
    """Return Welch's t statistic and its two-sided p-value: 1 where there is no variance."""
    total = v_1 + v_2
    some = total > 0
    scale = xp.where(some, total, xp.ones_like(total))
    statistic = xp.where(some, difference / xp.sqrt(scale), xp.zeros_like(difference))
    squares = v_1**2 / free_1 + v_2**2 / free_2
    degrees = total**2 / xp.where(squares > 0, squares, xp.ones_like(squares))
    degrees = np.maximum(to_numpy(degrees), 1.0)
    p_value = 2 * stdtr(degrees, -np.abs(to_numpy(statistic)))
    return statistic, xp.asarray(p_value, dtype=statistic.dtype, device=device(statistic))


def _weighted_variance(xp: Namespace, held_out: HeldOut) -> Array:
    """Variance (...) of the losses under the weights."""
    losses, weights = held_out.losses, held_out.weights
    total = xp.sum(weights, axis=-1, keepdims=True)
    share = weights / xp.where(total > 0, total, xp.ones_like(total))
    mean = xp.sum(share * losses, axis=-1, keepdims=True)
    return xp.sum(share * (losses - mean) ** 2, axis=-1)
