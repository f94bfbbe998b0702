"""`method="auto"`: try every method on samples with a known answer, and take one that did well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from counterpoise._arrays import Namespace, array_namespace, to_numpy
from counterpoise._validation import check_number
from counterpoise.risk.adjustments import DoublyRobust, MomentControlled, Shrunk
from counterpoise.risk.averages import Controlled, Normalized, Weighted
from counterpoise.risk.estimation import average_prepared
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.method import Adjustment, Choice, Method, Prepared, name_methods
from counterpoise.risk.rehearsal import Rehearsal, combine, rehearse
from counterpoise.risk.strata import average_value

__all__ = ["Auto", "TwoMethods"]

# A relative error on a constant loss that does not matter.
_NEGLIGIBLE = 0.001


@dataclass(frozen=True)
class Auto(Adjustment):
    """Pick methods by their mean squared error in rehearsals.

    `n_rehearsals` source-like samples are drawn from the target rows with probability 1 / w, every
    method estimates from them, and the mean over all target rows is the truth. A search asks two
    things, how large the risks are and how they differ between candidates, and the best method
    for one is seldom the best for the other: so two methods are chosen, see the Notes.

    Without features, or without the weights of target rows, no rehearsal is possible: then one
    method is taken by the jackknife's variance and the error on a constant loss.

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

    Rehearsals estimate the error over many samples. One more thing is known of the sample at hand:
    the risk of a constant loss. A method whose estimate of it, with the actual weights, is off by
    more than the least rehearsed error is not taken for the level, unless all are: a few large
    weights dominate it. Rehearsals treat rows of a group as independent.

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
        MomentControlled(),
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

    def prepare(self, xp: Namespace, held_out: HeldOut, /) -> Prepared:
        """Choose, and let the choice prepare."""
        chosen, choice = self.choose(xp, held_out)
        return replace(chosen.prepare(xp, held_out), choice=choice, method=chosen)

    def choose(self, xp: Namespace, held_out: HeldOut, /) -> tuple[Method, Choice]:
        """Return the method (or pair of methods) for this sample, and why."""
        domains = held_out.domains
        if domains is None or domains.target_weights is None:
            return self._choose_by_jackknife(xp, held_out)
        methods = list(dict.fromkeys([*self.level, *self.difference]))
        rehearsal = rehearse(
            xp,
            held_out,
            methods,
            n_rehearsals=self.n_rehearsals,
            rng=np.random.default_rng(self.random_state),
        )
        level, errors, reason = self._choose_level(xp, held_out, rehearsal, methods)
        choice = Choice(level.name, reason, errors)
        if held_out.losses.shape[1] == 1:
            return level, choice
        difference, errors, reason = self._choose_difference(rehearsal, methods, level)
        reason = f"{choice.reason} {reason}"
        choice = replace(
            choice, reason=reason, difference=difference.name, difference_errors=errors
        )
        return TwoMethods(level, difference), choice

    def _choose_level(
        self, xp: Namespace, held_out: HeldOut, rehearsal: Rehearsal, methods: list[Method]
    ) -> tuple[Method, dict[str, float], str]:
        """Return the method for the level, the errors of those asked, and why."""
        asked = list(dict.fromkeys(self.level))
        errors = rehearsal.level_errors()[[methods.index(method) for method in asked]]
        off = _constant_errors(xp, held_out, asked)
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

    def _choose_by_jackknife(self, xp: Namespace, held_out: HeldOut) -> tuple[Method, Choice]:
        usable = [m for m in self.level if not m.needs_rows]
        if not usable:
            raise ValueError(
                f"`level` of Auto has only methods that look at features ({self.level!r}), and "
                "there is nothing to compare them by: that takes X_source, X_target and a weight "
                "estimator that predicts the weights of target rows. Pass these, or add "
                "Controlled() to `level`."
            )
        errors = _jackknife_errors(held_out, usable)
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


def _constant_errors(xp: Namespace, held_out: HeldOut, methods: Sequence[Method]) -> np.ndarray:
    """How far off each method is where every loss is 1, with this sample's weights."""
    domains = held_out.domains
    assert domains is not None  # checked by the caller
    ones = replace(
        held_out,
        losses=xp.ones_like(held_out.losses[:1, :1, :]),
        weights=held_out.weights[:1, ...],
        domains=replace(domains, source=domains.source[:1, ...]),
    )
    values = [average_value(xp, method.prepare(xp, ones), ones.folds) for method in methods]
    return np.abs(np.array([float(value[0, 0]) for value in values]) - 1)


def _jackknife_errors(held_out: HeldOut, methods: Sequence[Method]) -> np.ndarray:
    """Relative root mean squared error by the jackknife and the error on a constant loss."""
    errors = []
    for method in methods:
        plain = replace(held_out, domains=None)
        found, _ = average_prepared(plain, method.prepare(array_namespace(held_out.losses), plain))
        value, error, constant = (
            np.atleast_1d(to_numpy(a))
            for a in (found.value, found.standard_error, found.constant_error)
        )
        safe = np.where(value > 0, value, 1.0)
        errors.append(math.sqrt(float(np.mean((error**2 + constant**2) / safe**2))))
    return np.asarray(errors)


@dataclass(frozen=True)
class TwoMethods(Adjustment):
    """One method for the level of the risks, another for the differences between candidates.

    value = level(A) + B - level(B). Errors are those of A, which estimates both parts.

    Parameters
    ----------
    level, difference : Method
    """

    level: Method
    difference: Method

    name: ClassVar[str] = "two_methods"

    def prepare(self, xp: Namespace, held_out: HeldOut, /) -> Prepared:
        """Let the level's method prepare, and add what the other says of the differences."""
        first = self.level.prepare(xp, held_out)
        if self.level == self.difference or held_out.losses.shape[1] == 1:
            return first
        level, difference = (
            average_value(xp, prepared, held_out.folds)
            for prepared in (first, self.difference.prepare(xp, held_out))
        )
        both = combine(xp, level, difference, xp.mean(held_out.losses, axis=-1))
        return replace(first, direct=first.direct + both - level)
