"""`method="auto"`: rehearse every method where the answer is known, and take what did well.

The target rows can play the source. Drawn with probability 1 / w they are distributed like the
source, their weights w are known, and so is the mean over all of them: a shift of the same shape
and the same heavy tail, with a known answer. Losses there are borrowed from the nearest source
row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from counterpoise._arrays import Array, Namespace, as_float, device, to_numpy
from counterpoise._folds import rows_once
from counterpoise._validation import check_number
from counterpoise.risk.average import Strata, average_value, prepare
from counterpoise.risk.basic import (
    Controlled,
    Method,
    Normalized,
    Weighted,
    name_methods,
    needs_rows,
)
from counterpoise.risk.beyond import DoublyRobust, ParetoSmoothed, Shrunk, _NeedsRows
from counterpoise.risk.controls import Constant, Moments, require_domains
from counterpoise.risk.estimate import estimate_from_moments
from counterpoise.risk.sample import Choice, Domains, Prepared, Sample
from counterpoise.weights._neighbors import Neighbors

__all__ = ["Auto", "Pair", "rehearse"]

# Rehearsals hold about this many losses at a time.
_LARGE = 2**22
_MOST_CANDIDATES = 20
# Large samples are rehearsed less often: so many rows in all, but never fewer times than this.
_MOST_ROWS, _FEWEST = 100_000, 10

_MOMENT_CONTROLLED = Controlled(controls=(Constant(), Moments(2)))


@dataclass(frozen=True)
class Pair(_NeedsRows):
    """One method for the level of the risks, another for the differences between candidates.

    value = level(A) + B - level(B), where the level is the mean over the better half of the
    candidates by their unweighted loss. Errors are those of A, which estimates both parts.

    Parameters
    ----------
    level, difference : Method
    """

    level: Method
    difference: Method

    name: ClassVar[str] = "pair"

    def prepare(self, xp: Namespace, sample: Sample, /) -> Prepared:
        """Let the level's method prepare, and add what the other says of the differences."""
        first = prepare(xp, self.level, sample)
        if self.level == self.difference or sample.losses.shape[1] == 1:
            return first
        mean_loss = xp.mean(sample.losses, axis=-1)
        rank = xp.argsort(xp.argsort(mean_loss, axis=-1), axis=-1)
        size = (mean_loss.shape[-1] + 1) // 2
        share = xp.astype(rank < size, mean_loss.dtype) / size
        deviations = []
        for prepared in (prepare(xp, self.difference, sample), first):
            value = average_value(xp, prepared, sample.folds)
            deviations.append(value - xp.sum(value * share, axis=-1, keepdims=True))
        return replace(first, direct=first.direct + deviations[0] - deviations[1])


@dataclass(frozen=True)
class Auto(_NeedsRows):
    """Pick methods by their estimated mean squared error: by rehearsal.

    `n_rehearsals` pretended source samples are drawn from the target rows with probability 1 / w,
    every method estimates from them, and the mean over all target rows is the truth. A search asks
    two things, how large the risks are and how they differ between candidates, and the best
    method for one is seldom the best for the other: so two methods are chosen, see the Notes.

    Without features or without the weights of target rows there is nothing to rehearse on: then
    one method is taken by the jackknife's variance and the error on a constant loss.

    Parameters
    ----------
    level : sequence of Method, optional
        For the level, in order of preference. Default: controlled, normalized, weighted, doubly
        robust, moment-controlled.
    difference : sequence of Method, optional
        For the differences. Default: shrunk and Pareto-smoothed, then those for the level.
    level_tolerance, difference_tolerance : float, default=3.0 and 1.3
        The first method is taken whose rehearsed root mean squared error is at most this many
        times the least. Above 1, because rehearsals are noisy.
    n_rehearsals : int, default=40
        At most; samples of more than 2500 rows are rehearsed less often, at least 10 times.
    random_state : int, default=0

    Notes
    -----
    The risk of a candidate is the first method's level plus the second method's difference from
    that level. Its standard error is the first method's. The defaults and tolerances were set on
    other data sets than those that the guide's study judges them by.

    References
    ----------
    Udagawa et al. (2023), arXiv:2211.13904, choose among estimators by imitated data too.
    """

    level: Sequence[Method] = (
        Controlled(),
        Normalized(),
        Weighted(),
        DoublyRobust(),
        _MOMENT_CONTROLLED,
    )
    difference: Sequence[Method] = (
        Shrunk(),
        ParetoSmoothed(),
        Controlled(),
        Normalized(),
        Weighted(),
        DoublyRobust(),
        _MOMENT_CONTROLLED,
    )
    level_tolerance: float = 3.0
    difference_tolerance: float = 1.3
    n_rehearsals: int = 40
    random_state: int = 0

    name: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        for name in ("level", "difference"):
            methods = getattr(self, name)
            check_number(
                getattr(self, f"{name}_tolerance"), f"{name}_tolerance", low=1, closed="low"
            )
            if not methods or not all(isinstance(m, Method) for m in methods):
                raise ValueError(
                    f"`{name}` must be risk methods in order of preference; got {methods!r}."
                )
        check_number(self.n_rehearsals, "n_rehearsals", low=2, closed="low", integer=True)

    def prepare(self, xp: Namespace, sample: Sample, /) -> Prepared:
        """Choose, and let the choice prepare."""
        chosen, choice = self.choose(xp, sample)
        return replace(prepare(xp, chosen, sample), choice=choice, method=chosen)

    def choose(self, xp: Namespace, sample: Sample, /) -> tuple[Method, Choice]:
        """Return the method (or pair of methods) for this sample, and why."""
        domains = sample.domains
        if domains is None or domains.target_weights is None:
            usable = [m for m in self.level if not needs_rows(m)]
            if not usable:
                require_domains(sample, f"Auto(level={self.level!r})")
            errors = _jackknife_errors(xp, sample, usable)
            place = _first_good(errors, self.level_tolerance)
            reason = _because("level", usable, errors, place, "by the jackknife")
            return usable[place], Choice(usable[place].name, reason, _named(usable, errors))
        methods = list(dict.fromkeys([*self.level, *self.difference]))
        found = rehearse(
            xp,
            sample,
            methods,
            n_rehearsals=self.n_rehearsals,
            rng=np.random.default_rng(self.random_state),
        )
        where = f"in {self.n_rehearsals} rehearsals"
        errors = np.sqrt(found[0])[[methods.index(m) for m in self.level]]
        place = _first_good(errors, self.level_tolerance)
        level = self.level[place]
        reason = _because("level", self.level, errors, place, where)
        named = _named(self.level, errors)
        if sample.losses.shape[1] == 1:
            return level, Choice(level.name, reason, named)
        errors = np.sqrt(found[1])[[methods.index(m) for m in self.difference]]
        place = _first_good(errors, self.difference_tolerance)
        difference = self.difference[place]
        reason += " " + _because("differences", self.difference, errors, place, where)
        return (
            Pair(level, difference),
            Choice(level.name, reason, named, difference.name, _named(self.difference, errors)),
        )


def _first_good(errors: np.ndarray, tolerance: float) -> int:
    return int(np.argmax(errors <= tolerance * np.min(errors)))


def _named(methods: Sequence[Method], errors: np.ndarray) -> dict[str, float]:
    return dict(zip(name_methods(methods), map(float, errors), strict=True))


def _because(what: str, methods: Sequence[Method], errors: np.ndarray, place: int, how: str) -> str:
    best = int(np.argmin(errors))
    text = f"For the {what}: {methods[place].name}, relative error {errors[place]:.2g} {how}"
    if best != place:
        return f"{text} (the least was {errors[best]:.2g}, {methods[best].name})."
    return f"{text}, the least."


def rehearse(
    xp: Namespace,
    sample: Sample,
    methods: Sequence[Method],
    /,
    *,
    n_rehearsals: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean squared errors where the target rows play the source, of shape (n_methods,).

    The first is of the *level*, the mean risk over candidates; the second of the *differences*
    between candidates. Both are relative to the level, over the better half of the candidates
    (of at most 20, spread evenly): what the poor ones cost need not be known well. Only the first
    data set of a batch is looked at.
    """
    losses, weights, truth, domains = _stage(xp, sample)
    folds, n = rows_once(sample.folds, sample.losses.shape[-1])
    L, m = losses.shape
    chance = np.where(weights > 0, 1 / np.where(weights > 0, weights, 1.0), 0.0)
    chance /= chance.sum()
    known = as_float(
        np.where(chance > 0, 1 / (m * np.where(chance > 0, chance, 1)), 0.0), like=truth
    )
    right = to_numpy(truth)
    better = np.argsort(right)[: max(1, (L + 1) // 2)]
    # Without any loss there is no relative error: then it is an absolute one.
    scale = float(np.mean(right[better])) or 1.0
    level, difference = np.zeros(len(methods)), np.zeros(len(methods))
    n_rehearsals = min(n_rehearsals, max(_FEWEST, _MOST_ROWS // n))
    step = max(1, _LARGE // (L * n))
    for start in range(0, n_rehearsals, step):
        count = min(step, n_rehearsals - start)
        rows = rng.choice(m, size=(count, n), p=chance)
        index = xp.asarray(rows.ravel(), device=device(truth))
        drawn = xp.reshape(xp.take(losses, index, axis=-1), (L, count, n))
        pretended = Sample(
            xp.moveaxis(drawn, 0, 1),
            xp.reshape(xp.take(known, index, axis=0), (count, 1, n)),
            folds,
            Domains(
                xp.reshape(xp.take(domains.target, index, axis=0), (count, n, -1)),
                domains.target,
                known,
            ),
        )
        for i, method in enumerate(methods):
            found = average_value(xp, prepare(xp, method, pretended), folds)
            errors = to_numpy(found)[:, better] / scale - right[better] / scale
            common = np.mean(errors, axis=1, keepdims=True)
            level[i] += np.sum(common**2)
            difference[i] += np.sum(np.mean((errors - common) ** 2, axis=1))
    return level / n_rehearsals, difference / n_rehearsals


def _stage(xp: Namespace, sample: Sample) -> tuple[Array, np.ndarray, Array, Domains]:
    """Losses (L, m) at the target rows, weights (m,) there, true risks (L,) and the features."""
    domains = sample.domains
    assert domains is not None  # both checked by the caller
    assert domains.target_weights is not None
    losses = sample.losses[0, ...]
    L = losses.shape[0]
    if L > _MOST_CANDIDATES:
        spread = np.linspace(0, L - 1, _MOST_CANDIDATES).round().astype(int)
        losses = xp.take(losses, xp.asarray(spread, device=device(losses)), axis=0)
    source, target = to_numpy(domains.source[0, ...]), to_numpy(domains.target)
    spread = target.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    nearest = Neighbors(source / scale).nearest(target / scale)
    losses = xp.take(losses, xp.asarray(nearest, device=device(losses)), axis=-1)
    truth = xp.mean(losses, axis=-1)
    weights = to_numpy(domains.target_weights).astype(np.float64)
    # A weight above n stands for rows that a source sample of this size does not have.
    return losses, np.minimum(weights, sample.n_rows), truth, domains


def _jackknife_errors(xp: Namespace, sample: Sample, methods: Sequence[Method]) -> np.ndarray:
    """Relative root mean squared error by the jackknife and the error on a constant loss."""
    strata = Strata.of_folds(sample.folds)
    plain = strata.sums(xp, sample.losses, sample.weights)
    errors = []
    for method in methods:
        used = method.effective_weights(xp, sample.weights)
        moments = strata.sums(xp, sample.losses, used)
        found, _ = estimate_from_moments(
            xp, method, moments, plain, rows=strata.rows, repeats=strata.repeats
        )
        value, error, constant = (
            np.atleast_1d(to_numpy(a))
            for a in (found.value, found.standard_error, found.constant_error)
        )
        safe = np.where(value > 0, value, 1.0)
        errors.append(math.sqrt(float(np.mean((error**2 + constant**2) / safe**2))))
    return np.asarray(errors)
