"""The paper's claims, each with what was measured and a verdict by a stated rule."""
# ruff: noqa: RUF001 (the mathematics is in Greek)

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from counterpoise._format import format_p_value
from counterpoise.datasets import gaussian_1d
from counterpoise.experiments.plan import Plan
from counterpoise.experiments.protocols import PROTOCOLS
from counterpoise.experiments.summarise import Comparison, RiskRow, Summary

__all__ = ["Claim", "Finding", "verify_claims"]


@dataclass(frozen=True)
class Finding:
    """One measurable part of a claim, with the numbers of the gamma most against it."""

    says: str  # what would have to be true
    rule: str  # how it is decided
    measured: str
    held: bool
    effect: float | None = None
    standard_error: float | None = None
    log10_p: float | None = None
    gamma: float | None = None
    repetitions: int | None = None


@dataclass(frozen=True)
class Claim:
    """A claim of the paper; it held if all of its findings did."""

    number: str
    problem: str
    paper: str
    findings: tuple[Finding, ...]

    @property
    def held(self) -> bool:
        """Whether everything that the claim says was found."""
        return all(finding.held for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and dictionaries, for JSON."""
        return {**asdict(self), "held": self.held}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row of text per finding, for a table."""
        return [
            {
                "claim": self.number,
                "part": part.says,
                "gamma": part.gamma,
                "effect": "" if part.effect is None else f"{part.effect:.3g}",
                "standard error": ""
                if part.standard_error is None
                else f"{part.standard_error:.2g}",
                "p": "" if part.log10_p is None else format_p_value(log10=part.log10_p),
                "data sets": part.repetitions,
                "verdict": "held" if part.held else "not held",
            }
            for part in self.findings
        ]


def verify_claims(summary: Summary, plan: Plan, /) -> list[Claim]:
    """Give a verdict on every claim whose problem was run."""
    claims: list[Claim] = []
    if "example" in plan.problems:
        claims += [_example_variances(), _example_rates(summary)]
    if "synthetic" in plan.problems:
        claims += [_no_difference(summary), _robust(summary)]
    if "ozone" in plan.problems:
        claims.append(_ozone(summary))
    claims += [_kernel(summary, p) for p in ("kmm", "kliep") if p in plan.problems]
    return sorted(claims, key=lambda claim: claim.number)


def _example_variances() -> Claim:
    gammas = np.linspace(0.72, 1.5, 79)
    curves = gaussian_1d(gammas)
    ratio = curves.controlled_variance / curves.weighted_variance
    identity = np.abs(ratio - (1 - curves.correlation**2))
    near, far = (gaussian_1d(g) for g in (0.75, 0.8))
    growth = [
        getattr(near, name) / getattr(far, name)
        for name in ("weighted_variance", "controlled_variance")
    ]
    never = Finding(
        says="σ_β² = σ_W²(1 - ρ²) ≤ σ_W²",
        rule="closed forms at 79 gammas from 0.72 to 1.5: equal to 1e-8, ratio at most 1",
        measured=f"σ_β²/σ_W² from {ratio.min():.3f} to {ratio.max():.3f}; identity to "
        f"{identity.max():.1e}",
        held=bool(ratio.max() <= 1 and identity.max() < 1e-8),
        effect=float(ratio.max() - 1),
    )
    slower = Finding(
        says="σ_β² diverges too, but slower",
        rule="from γ = 0.8 to 0.75 both grow, σ_β² by a smaller factor",
        measured=f"σ_W² grows {growth[0]:.3g} times, σ_β² {growth[1]:.3g} times",
        held=bool(1 < growth[1] < growth[0]),
        effect=float(growth[1] / growth[0] - 1),
    )
    return Claim(
        "1",
        "example",
        "The sampling variance of the controlled estimator is never larger than that of the "
        "weighted one; it also diverges as γ shrinks, but slower.",
        (never, slower),
    )


def _example_rates(summary: Summary) -> Claim:
    findings = []
    rates = (
        ("beta", -0.5, "error of β̂ falls at least as n^(-1/2)"),
        ("bias", -1.0, "bias of the risk falls at least as 1/n"),
    )
    for quantity, rate, says in rates:
        rows = [s for s in summary.slopes if s["quantity"] == quantity]
        worst = max(rows, key=lambda s: s["slope"])
        listed = ", ".join(
            f"{s['slope']:.3f} ± {s['standard_error']:.3f} (γ = {s['gamma']:g}, {s['center']} mean)"
            for s in rows
        )
        findings.append(
            Finding(
                says=says,
                rule="the order is a bound: slope of the log error on log n, n from 400 to 3200, "
                f"exceeds {rate:g} by no more than 0.1 or three standard errors, at γ = 1 and "
                "1.25 and for both centrings",
                measured=f"slopes {listed}",
                held=all(s["slope"] <= rate + max(0.1, 3 * s["standard_error"]) for s in rows),
                effect=worst["slope"],
                standard_error=worst["standard_error"],
                gamma=worst["gamma"],
                repetitions=worst["repetitions"],
            )
        )
    return Claim(
        "6",
        "example",
        "The estimated β converges as n^(-1/2) and biases the risk as 1/n.",
        tuple(findings),
    )


def _no_difference(summary: Summary) -> Claim:
    plain = _risks(summary, "synthetic", "all", "weighted")

    def relative(row: Comparison) -> float:
        return row.difference / plain[row.gamma].mean

    return Claim(
        "2",
        "synthetic",
        "Over all data sets there is nearly no difference between plain and controlled.",
        (
            _at_most(
                _comparisons(summary, "synthetic", "all"),
                says="the same mean target risk",
                rule="mean difference below 1 % of the plain risk at every γ",
                number=lambda row: abs(relative(row)),
                limit=0.01,
                describe=lambda row: f"{100 * relative(row):+.2f} %",
            ),
        ),
    )


def _robust(summary: Summary) -> Claim:
    return Claim(
        "3",
        "synthetic",
        "In the top 10 % by weight variance, plain deteriorates strongly and controlled does not; "
        "p at most of the order of 1e-30 for every γ.",
        tuple(_robust_findings(summary, "synthetic")),
    )


def _robust_findings(summary: Summary, problem: str) -> list[Finding]:
    own = PROTOCOLS[summary.protocol].controlled
    top = _comparisons(summary, problem, "top")
    rule = "its mean target risk in the top 10 % is at {} above that of the others, at every γ"
    return [
        _at_most(
            _rises(summary, problem, "weighted"),
            says="plain deteriorates strongly",
            rule=rule.format("least 5 %"),
            number=lambda row: -row.difference,
            limit=-0.05,
        ),
        _at_most(
            _rises(summary, problem, own),
            says="controlled does not deteriorate",
            rule=rule.format("most 1 %"),
            number=lambda row: row.difference,
            limit=0.01,
        ),
        _lower(top, "controlled has the lower target risk in the top 10 %", "at every γ"),
        _significant(top, 30),
    ]


def _ozone(summary: Summary) -> Claim:
    own = PROTOCOLS[summary.protocol].controlled
    both = [row for sets in ("all", "top") for row in _comparisons(summary, "ozone", sets)]
    return Claim(
        "4",
        "ozone",
        "Controlled is unaffected by the top 10 % and below plain in both sets, p at most of the "
        "order of 1e-50; all risks rise slightly with γ.",
        (
            _at_most(
                _rises(summary, "ozone", own),
                says="controlled is unaffected by the top 10 %",
                rule="its mean target risk there differs by at most 1 % from that of the others, "
                "at every γ",
                number=lambda row: abs(row.difference),
                limit=0.01,
            ),
            _lower(
                both,
                "controlled is below plain, over all data sets and in the top 10 %",
                "at every γ, in both",
            ),
            _significant(both, 50),
            _trend(summary, own),
        ),
    )


def _kernel(summary: Summary, problem: str) -> Claim:
    better = _at_most(
        _comparisons(summary, problem, "all"),
        says="controlled is better over all data sets too",
        rule="negative mean difference, and ranks that favour controlled with Wilcoxon p < 0.001, "
        "at every γ",
        number=_evidence,
        limit=-3.0,
        describe=lambda row: (
            f"{row.difference:+.4f} ± {row.standard_error:.4f}, log10 p = {row.log10_p:.1f}"
        ),
    )
    return Claim(
        f"5 ({problem.upper()})",
        problem,
        f"With {problem.upper()} weights the same as in claim 3, and controlled is better over all "
        "data sets too.",
        (*_robust_findings(summary, problem), better),
    )


def _trend(summary: Summary, own: str) -> Finding:
    """Slope of mean risk on gamma, for plain and controlled: the smaller in standard errors."""
    says, rule = "all risks rise with γ", "slope of the mean risk on γ above 2 standard errors"
    slopes = []
    for name in ("weighted", own):
        rows = list(_risks(summary, "ozone", "all", name).values())
        if len(rows) < 2:
            return Finding(says, rule, "needs two gammas", held=False)
        gamma = np.array([row.gamma for row in rows])
        gains = (gamma - gamma.mean()) / np.sum((gamma - gamma.mean()) ** 2)
        slope = float(gains @ np.array([row.mean for row in rows]))
        error = float(np.sqrt(gains**2 @ np.array([row.standard_error**2 for row in rows])))
        slopes.append((name, slope, error))
    name, slope, error = min(slopes, key=lambda s: s[1] / s[2] if s[2] > 0 else s[1])
    return Finding(
        says,
        rule,
        "; ".join(f"{n.split('_')[0]} {s:+.4f} ± {e:.4f} per unit of γ" for n, s, e in slopes),
        held=all(s > 2 * e for _, s, e in slopes),
        effect=slope,
        standard_error=error,
        repetitions=rows[0].repetitions,
    )


class _Rise(NamedTuple):
    """How much worse the top 10 % are than the other data sets, relative to the others."""

    gamma: float
    difference: float
    standard_error: float
    repetitions: int
    log10_p: float | None = None


def _rises(summary: Summary, problem: str, name: str) -> list[_Rise]:
    rows = []
    top = _risks(summary, problem, "top", name)
    for gamma, whole in _risks(summary, problem, "all", name).items():
        part = top[gamma]
        rest = whole.repetitions - part.repetitions
        if rest < 2:
            continue
        # Mean and variance of the others, from those of all and of the top.
        others = (whole.mean * whole.repetitions - part.mean * part.repetitions) / rest
        spread = whole.standard_error**2 * whole.repetitions
        error = math.sqrt(part.standard_error**2 + spread / rest)
        relative = (part.mean - others) / others
        rows.append(_Rise(gamma, relative, error / others, whole.repetitions))
    return rows


def _lower(rows: Sequence[Comparison], says: str, where: str) -> Finding:
    return _at_most(
        rows,
        says=says,
        rule=f"negative mean difference {where}",
        number=lambda row: row.difference,
        limit=0.0,
        describe=lambda row: f"{row.difference:+.4f} ± {row.standard_error:.4f} ({row.sets})",
    )


def _significant(rows: Sequence[Comparison], digits: int) -> Finding:
    return _at_most(
        rows,
        says=f"that is significant, p ≤ 1e-{digits} for every γ",
        rule="two-sided Wilcoxon signed-rank test; ranks and mean favour controlled",
        number=_evidence,
        limit=-digits,
        describe=lambda row: (
            f"log10 p = {row.log10_p:.1f}, difference {row.difference:+.4f} ({row.sets})"
        ),
    )


def _at_most(
    rows: Sequence[Any],
    *,
    says: str,
    rule: str,
    number: Callable[[Any], float],
    limit: float,
    describe: Callable[[Any], str] | None = None,
) -> Finding:
    """Return a finding that holds where `number` is at most `limit` for every row.

    Rows are comparisons, which `describe` describes, or rises.
    """
    if not rows:
        return Finding(says, rule, "needs more repetitions", held=False)
    case = max(rows, key=number)
    if describe is None:
        listed = ", ".join(f"{100 * row.difference:+.1f} %" for row in rows)
        gammas = ", ".join(f"{row.gamma:g}" for row in rows)
        measured = f"top 10 % against the others: {listed} at γ = {gammas}"
    else:
        held = sum(number(row) <= limit for row in rows)
        measured = f"worst at γ = {case.gamma:g}: {describe(case)}; holds at {held} of {len(rows)}"
    return Finding(
        says,
        rule,
        measured,
        held=number(case) <= limit,
        effect=case.difference,
        standard_error=case.standard_error,
        log10_p=case.log10_p,
        gamma=case.gamma,
        repetitions=case.repetitions,
    )


def _evidence(row: Comparison) -> float:
    """Log p where both the mean and the ranks favour controlled, its negative otherwise."""
    return row.log10_p if row.difference < 0 and row.direction < 0 else -row.log10_p


def _comparisons(summary: Summary, problem: str, sets: str) -> list[Comparison]:
    own = PROTOCOLS[summary.protocol].controlled
    return [
        row
        for row in summary.comparisons
        if (row.problem, row.sets, row.estimator) == (problem, sets, own)
    ]


def _risks(summary: Summary, problem: str, sets: str, name: str) -> dict[float, RiskRow]:
    """Rows by gamma, in increasing order."""
    rows = [r for r in summary.risks if (r.problem, r.sets, r.estimator) == (problem, sets, name)]
    return {row.gamma: row for row in sorted(rows, key=lambda row: row.gamma)}
