"""`method="auto"`: rehearse every method where the answer is known, and take what did well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from counterpoise._arrays import Namespace, to_numpy
from counterpoise._validation import check_number
from counterpoise.risk.average import Strata, average_value, prepare, used_weights
from counterpoise.risk.basic import (
    Controlled,
    Method,
    Normalized,
    Weighted,
    name_methods,
    needs_rows,
)
from counterpoise.risk.beyond import DoublyRobust, Shrunk, _NeedsRows
from counterpoise.risk.controls import Constant, Moments, require_domains
from counterpoise.risk.estimate import estimate_from_moments
from counterpoise.risk.pair import Pair
from counterpoise.risk.rehearsal import Rehearsal, rehearse
from counterpoise.risk.sample import Choice, Domains, Prepared, Sample

__all__ = ["Auto"]

# A relative error on a constant loss that does not matter.
_NEGLIGIBLE = 0.001


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
        For the differences, in order of preference; the level's own method comes last. Default:
        shrunk.
    level_tolerance, difference_tolerance : float, default=3.0 and 1.3
        The first method is taken whose rehearsed root mean squared error is at most this many
        times the least. Above 1, because rehearsals are noisy.
    risk_tolerance : float, default=1.1
        With another method's differences, the rehearsed error of all risks must be at most this
        many times that of the level's method alone.
    n_rehearsals : int, default=40
        At most; samples of more than 2500 rows are rehearsed less often, at least 10 times.
    random_state : int, default=0

    Notes
    -----
    The risk of a candidate is the first method's level plus the second method's difference from
    that level. Its standard error is the first method's.

    Rehearsals tell the error over many samples; one thing is known of this sample. A constant loss
    has a known risk, and what a method makes of it with these very weights shows whether a few
    huge ones have got the better of it. A method that is off there by more than the least rehearsed
    error is not taken for the level, unless all are. Rehearsals take rows for independent, those
    of a group too.

    The defaults were set on other data sets than those that the guide's study judges them by.

    References
    ----------
    Udagawa et al. (2023), arXiv:2211.13904, choose among estimators by imitated data too.
    """

    level: Sequence[Method] = (
        Controlled(),
        Normalized(),
        Weighted(),
        DoublyRobust(),
        Controlled(controls=(Constant(), Moments(2))),
    )
    difference: Sequence[Method] = (Shrunk(),)
    level_tolerance: float = 3.0
    difference_tolerance: float = 1.3
    risk_tolerance: float = 1.1
    n_rehearsals: int = 40
    random_state: int = 0

    name: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        for name in ("level", "difference"):
            methods = getattr(self, name)
            if not methods or not all(isinstance(m, Method) for m in methods):
                raise ValueError(
                    f"`{name}` must be risk methods in order of preference; got {methods!r}."
                )
        for name in ("level_tolerance", "difference_tolerance", "risk_tolerance"):
            check_number(getattr(self, name), name, low=1, closed="low")
        check_number(self.n_rehearsals, "n_rehearsals", low=2, closed="low", integer=True)

    def prepare(self, xp: Namespace, sample: Sample, /) -> Prepared:
        """Choose, and let the choice prepare."""
        chosen, choice = self.choose(xp, sample)
        return replace(prepare(xp, chosen, sample), choice=choice, method=chosen)

    def choose(self, xp: Namespace, sample: Sample, /) -> tuple[Method, Choice]:
        """Return the method (or pair of methods) for this sample, and why."""
        domains = sample.domains
        if domains is None or domains.target_weights is None:
            return self._choose_by_jackknife(xp, sample)
        methods = list(dict.fromkeys([*self.level, *self.difference]))
        rehearsal = rehearse(
            xp,
            sample,
            methods,
            n_rehearsals=self.n_rehearsals,
            rng=np.random.default_rng(self.random_state),
        )
        level, errors, reason = self._choose_level(xp, sample, rehearsal, methods)
        choice = Choice(level.name, reason, errors)
        if sample.losses.shape[1] == 1:
            return level, choice
        difference, errors, reason = self._choose_difference(rehearsal, methods, level)
        reason = f"{choice.reason} {reason}"
        choice = replace(
            choice, reason=reason, difference=difference.name, difference_errors=errors
        )
        return Pair(level, difference), choice

    def _choose_level(
        self, xp: Namespace, sample: Sample, rehearsal: Rehearsal, methods: list[Method]
    ) -> tuple[Method, dict[str, float], str]:
        """Return the method for the level, the errors of those asked, and why."""
        asked = list(dict.fromkeys(self.level))
        errors = rehearsal.level_errors()[[methods.index(method) for method in asked]]
        off = _constant_errors(xp, sample, asked)
        usable = off <= max(float(np.min(errors)), _NEGLIGIBLE)
        place = _first_good(errors, self.level_tolerance, usable)
        reason = _because("level", asked, errors, place, rehearsal.how)
        if place and not usable[0]:
            wrong = f"{asked[0].name} is off by {off[0]:.1%} where the loss is constant"
            reason += f" With these weights, {wrong}."
        return asked[place], _named(asked, errors), reason

    def _choose_difference(
        self, rehearsal: Rehearsal, methods: list[Method], level: Method
    ) -> tuple[Method, dict[str, float], str]:
        """Return the method for the differences, the errors of those asked, and why."""
        asked = list(dict.fromkeys([*self.difference, level]))
        index = [methods.index(method) for method in asked]
        errors = rehearsal.difference_errors()[index]
        own = methods.index(level)
        risk_errors = rehearsal.risk_errors(own)
        usable = risk_errors[index] <= self.risk_tolerance * risk_errors[own]
        place = _first_good(errors, self.difference_tolerance, usable)
        reason = _because("differences", asked, errors, place, rehearsal.how)
        if place and not usable[0]:
            risks = (
                f"error of all risks {risk_errors[index[0]]:.2g} instead of {risk_errors[own]:.2g}"
            )
            reason += f" Those of {asked[0].name} would cost too much: {risks}."
        return asked[place], _named(asked, errors), reason

    def _choose_by_jackknife(self, xp: Namespace, sample: Sample) -> tuple[Method, Choice]:
        usable = [m for m in self.level if not needs_rows(m)]
        if not usable:
            require_domains(sample, f"Auto(level={self.level!r})")
        errors = _jackknife_errors(xp, sample, usable)
        place = _first_good(errors, self.level_tolerance)
        reason = _because("level", usable, errors, place, "by the jackknife")
        return usable[place], Choice(usable[place].name, reason, _named(usable, errors))


def _first_good(errors: np.ndarray, tolerance: float, allowed: np.ndarray | None = None) -> int:
    """First place, of those allowed if there are any, whose error is close enough to the least."""
    if allowed is not None and np.any(allowed):
        errors = np.where(allowed, errors, np.inf)
    return int(np.argmax(errors <= tolerance * np.min(errors)))


def _named(methods: Sequence[Method], errors: np.ndarray) -> dict[str, float]:
    return dict(zip(name_methods(methods), map(float, errors), strict=True))


def _because(what: str, methods: Sequence[Method], errors: np.ndarray, place: int, how: str) -> str:
    best = int(np.argmin(errors))
    text = f"For the {what}: {methods[place].name}, relative error {errors[place]:.2g} {how}"
    if best != place:
        return f"{text} (the least was {errors[best]:.2g}, {methods[best].name})."
    return f"{text}, the least."


def _constant_errors(xp: Namespace, sample: Sample, methods: Sequence[Method]) -> np.ndarray:
    """How far off each method is where every loss is 1, with this sample's weights."""
    domains = sample.domains
    assert domains is not None  # checked by the caller
    ones = Sample(
        xp.ones_like(sample.losses[:1, :1, :]),
        sample.weights[:1, ...],
        sample.folds,
        Domains(domains.source[:1, ...], domains.target, domains.target_weights),
    )
    values = [average_value(xp, prepare(xp, method, ones), sample.folds) for method in methods]
    return np.abs(np.array([float(value[0, 0]) for value in values]) - 1)


def _jackknife_errors(xp: Namespace, sample: Sample, methods: Sequence[Method]) -> np.ndarray:
    """Relative root mean squared error by the jackknife and the error on a constant loss."""
    strata = Strata.of_folds(sample.folds)
    plain = strata.sums(xp, sample.losses, sample.weights)
    errors = []
    for method in methods:
        used = used_weights(xp, method, sample.weights, sample.folds)
        moments = strata.sums(xp, sample.losses, used)
        found, _ = estimate_from_moments(
            xp, method, moments, plain, clusters=strata.clusters, repeats=strata.repeats
        )
        value, error, constant = (
            np.atleast_1d(to_numpy(a))
            for a in (found.value, found.standard_error, found.constant_error)
        )
        safe = np.where(value > 0, value, 1.0)
        errors.append(math.sqrt(float(np.mean((error**2 + constant**2) / safe**2))))
    return np.asarray(errors)
