"""Public functions: one estimate of the target risk, and all of them side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, device
from counterpoise._validation import check_losses_and_weights
from counterpoise.risk.estimate import FoldRisks, RiskEstimate, estimate_from_moments
from counterpoise.risk.methods import METHODS, Method, get_method
from counterpoise.risk.moments import Moments, moments_from_losses

__all__ = ["RiskComparison", "compare_risks", "name_methods", "risk_over_folds", "target_risk"]

# Candidates are taken in slices of about this many losses, to bound the temporaries (32 MB each).
_LARGE = 2**22


def target_risk(
    losses: Any, weights: Any, /, *, method: str | Method = "controlled"
) -> RiskEstimate:
    """Estimate the target risk from source losses and importance weights.

    Parameters
    ----------
    losses : array of shape (..., n)
        Loss of each source sample, under one model or, on leading axes, many. The models must
        not have been trained on these samples.
    weights : array of shape (n,) or (..., n)
        p_target / p_source at each source sample: not negative, with expectation 1.
    method : str or Method, default="controlled"
        "source", "weighted", "normalized", "truncated" or "controlled", or an object from
        :mod:`counterpoise.risk` such as ``Controlled(center="sample")`` or ``Truncated(cap=10)``.

    Returns
    -------
    RiskEstimate
        Value, standard error, interval and what goes with them, with the leading axes of
        `losses`.

    Notes
    -----
    Degenerate cases. Equal weights leave beta at 0: the controlled estimate is the weighted one.
    Samples of weight zero count in n, as they should: they say that the target is elsewhere. One
    sample gives a value but no standard error (NaN).

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(-1, 1, size=1000)  # source N(-1, 1), target N(0, 1)
    >>> weights = np.exp(x + 0.5)
    >>> risk = cp.target_risk(x**2, weights)  # in the target, E[x^2] = 1
    >>> low, high = risk.interval()
    >>> bool(low < 1 < high)
    True
    """
    xp, losses, weights = check_losses_and_weights(losses, weights)
    method = get_method(method)
    folds = [np.arange(losses.shape[-1])]
    return risk_over_folds(xp, losses, weights, folds, method)[0]


def risk_over_folds(
    xp: Namespace,
    losses: Array,
    weights: Array,
    folds: Sequence[np.ndarray],
    method: Method,
    /,
) -> tuple[RiskEstimate, FoldRisks]:
    """Estimate the risk from out-of-fold losses (..., n), fold by fold, averaged by fold size.

    `folds` says where each fold's samples are on the last axis. Inputs are trusted.
    """
    if losses.ndim > 1 and losses.shape[0] > 1 and math.prod(losses.shape) > _LARGE:
        step = max(1, _LARGE * losses.shape[0] // math.prod(losses.shape))
        parts = []
        for start in range(0, losses.shape[0], step):
            part = slice(start, start + step)
            own = weights.ndim == losses.ndim and weights.shape[0] > 1
            batch = weights[part, ...] if own else weights
            parts.append(risk_over_folds(xp, losses[part, ...], batch, folds, method))
        return _join(xp, [part for part, _ in parts]), _join(xp, [part for _, part in parts])
    used = method.effective_weights(xp, weights)
    order, groups = _equal_folds(folds)
    plain = _fold_moments(xp, losses, weights, groups)
    moments = plain if used is weights else _fold_moments(xp, losses, used, groups)
    estimate, by_fold = estimate_from_moments(xp, method, moments, plain)
    if len(groups) > 1:
        index = xp.asarray(order, device=device(losses))
        by_fold = FoldRisks(*(xp.take(a, index, axis=-1) for a in (by_fold.values, by_fold.betas)))
    return estimate, by_fold


def _equal_folds(folds: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Group folds by length: indices (n_folds, length) per group, and how to undo the order."""
    lengths = np.array([len(fold) for fold in folds])
    groups = [
        np.flatnonzero(lengths == length).tolist() for length in dict.fromkeys(lengths.tolist())
    ]
    order = np.argsort(np.concatenate(groups))
    return order, [np.stack([folds[k] for k in group]) for group in groups]


def _fold_moments(
    xp: Namespace, losses: Array, weights: Array, groups: Sequence[np.ndarray]
) -> list[Moments]:
    moments = moments_from_losses(xp, losses, weights)
    return [moments.folds(xp, xp.asarray(index, device=device(losses))) for index in groups]


def _join(xp: Namespace, parts: Sequence[Any]) -> Any:
    """One record from the records of slices of the first axis."""
    first = parts[0]
    joined = {
        field.name: xp.concat([getattr(part, field.name) for part in parts], axis=0)
        for field in fields(first)
        if field.name != "method"
    }
    return replace(first, **joined)


@dataclass(frozen=True)
class RiskComparison(Mapping[str, RiskEstimate]):
    """Risk estimates by method name; printing it gives a table.

    Attributes
    ----------
    estimates : dict of str to RiskEstimate
    """

    estimates: dict[str, RiskEstimate]

    def __getitem__(self, name: str) -> RiskEstimate:
        return self.estimates[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __str__(self) -> str:
        header = f"{'method':<12}{'risk':>10}{'std. error':>12}  {'95% interval':<22}{'n_eff':>8}"
        lines = [header]
        for name, estimate in self.estimates.items():
            if not isinstance(estimate.value, float):
                lines.append(f"{name:<12}{tuple(estimate.value.shape)} risks")
                continue
            low, high = estimate.interval()
            lines.append(
                f"{name:<12}{estimate.value:>10.4g}{estimate.standard_error:>12.3g}  "
                f"{f'{low:.4g} to {high:.4g}':<22}{estimate.n_effective:>8.1f}"
            )
        return "\n".join(lines)


def compare_risks(
    losses: Any, weights: Any, /, *, methods: Iterable[str | Method] | None = None
) -> RiskComparison:
    """Estimate the target risk by several methods, in one table.

    Parameters
    ----------
    losses : array of shape (..., n)
        Loss of each source sample.
    weights : array of shape (n,) or (..., n)
        p_target / p_source at each source sample.
    methods : iterable of str or Method, optional
        Default: every method that has a name.

    Returns
    -------
    RiskComparison
        A mapping from method name to RiskEstimate. Two objects of one class get the names
        "controlled", "controlled (2)" and so on.

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(-1, 1, size=1000)  # source N(-1, 1), target N(0, 1)
    >>> print(cp.compare_risks(x**2, np.exp(x + 0.5)))  # in the target, E[x^2] = 1
    method            risk  std. error  95% interval             n_eff
    source           2.052       0.081  1.893 to 2.211          1000.0
    weighted        0.8465      0.0751  0.699 to 0.9941          411.6
    normalized      0.9151      0.0648  0.7878 to 1.042          411.6
    truncated       0.8465      0.0751  0.699 to 0.9941          411.6
    controlled      0.9509      0.0905  0.7731 to 1.129          411.6
    """
    xp, losses, weights = check_losses_and_weights(losses, weights)
    chosen = [get_method(method) for method in (METHODS if methods is None else methods)]
    folds = [np.arange(losses.shape[-1])]
    estimates = [risk_over_folds(xp, losses, weights, folds, method)[0] for method in chosen]
    return RiskComparison(dict(zip(name_methods(chosen), estimates, strict=True)))


def name_methods(methods: Sequence[Method], /) -> list[str]:
    """Return one name per method: "controlled", "controlled (2)" and so on."""
    names: list[str] = []
    for i, method in enumerate(methods):
        taken = sum(other.name == method.name for other in methods[:i])
        names.append(f"{method.name} ({taken + 1})" if taken else method.name)
    return names
