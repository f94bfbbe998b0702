"""The paper's claims, each with what was measured and a verdict by a stated rule."""
# ruff: noqa: RUF001 (the mathematics is in Greek)

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from counterpoise.datasets import gaussian_1d
from counterpoise.experiments.plan import Plan
from counterpoise.experiments.protocols import PROTOCOLS
from counterpoise.experiments.summarise import Comparison, RiskRow, Summary

__all__ = ["Claim", "Finding", "judge"]


@dataclass(frozen=True)
class Finding:
    """One measurable part of a claim, at its worst over all gammas.

    Attributes
    ----------
    says : str
        What would have to be true.
    rule : str
        How it is decided.
    measured : str
        In words and numbers.
    effect, standard_error, log10_p : float or None
        Of the gamma that speaks most against the claim.
    gamma : float or None
    repetitions : int or None
    held : bool
    """

    says: str
    rule: str
    measured: str
    effect: float | None
    standard_error: float | None
    log10_p: float | None
    gamma: float | None
    repetitions: int | None
    held: bool


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


def judge(summary: Summary, plan: Plan, /) -> list[Claim]:
    """Judge every claim whose problem was run.

    Parameters
    ----------
    summary : Summary
    plan : Plan

    Returns
    -------
    list of Claim
    """
    claims: list[Claim] = []
    if "example" in plan.problems:
        claims += [_example_variances(), _example_rates(summary)]
    if "synthetic" in plan.problems:
        claims += [_no_difference(summary), _robust(summary, "synthetic", "3")]
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
        **_plain(float(ratio.max() - 1)),
        held=bool(ratio.max() <= 1 and identity.max() < 1e-8),
    )
    slower = Finding(
        says="σ_β² diverges too, but slower",
        rule="from γ = 0.8 to 0.75 both grow, σ_β² by a smaller factor",
        measured=f"σ_W² grows {growth[0]:.3g} times, σ_β² {growth[1]:.3g} times",
        **_plain(float(growth[1] / growth[0] - 1)),
        held=bool(1 < growth[1] < growth[0]),
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
                effect=worst["slope"],
                standard_error=worst["standard_error"],
                log10_p=None,
                gamma=worst["gamma"],
                repetitions=worst["repetitions"],
                held=all(s["slope"] <= rate + max(0.1, 3 * s["standard_error"]) for s in rows),
            )
        )
    return Claim(
        "6",
        "example",
        "The estimated β converges as n^(-1/2) and biases the risk as 1/n.",
        tuple(findings),
    )


def _no_difference(summary: Summary) -> Claim:
    rows = _comparisons(summary, "synthetic", "all")
    plain = _risks(summary, "synthetic", "all", "weighted")

    def relative(row: Comparison) -> float:
        return row.difference / plain[row.gamma].mean

    return Claim(
        "2",
        "synthetic",
        "Over all data sets there is nearly no difference between plain and controlled.",
        (
            _worst(
                rows,
                says="the same mean target risk",
                rule="mean difference below 1 % of the plain risk at every γ",
                number=lambda row: abs(relative(row)),
                limit=0.01,
                describe=lambda row: f"{100 * relative(row):+.2f} %",
            ),
        ),
    )


def _robust(summary: Summary, problem: str, number: str) -> Claim:
    return Claim(
        number,
        problem,
        "In the top 10 % by weight variance, plain deteriorates strongly and controlled does not; "
        "p at most of the order of 1e-30 for every γ.",
        tuple(_robust_findings(summary, problem)),
    )


def _robust_findings(summary: Summary, problem: str) -> list[Finding]:
    own = PROTOCOLS[summary.protocol].controlled
    rise = {name: _rises(summary, problem, name) for name in ("weighted", own)}
    top = _comparisons(summary, problem, "top")
    return [
        _rise_finding(
            rise["weighted"],
            says="plain deteriorates strongly",
            rule="its mean target risk in the top 10 % is at least 5 % above that of the others, "
            "at every γ",
            holds=lambda r: r["relative"] >= 0.05,
            worst=min,
        ),
        _rise_finding(
            rise[own],
            says="controlled does not deteriorate",
            rule="its mean target risk in the top 10 % is at most 1 % above that of the others, "
            "at every γ",
            holds=lambda r: r["relative"] <= 0.01,
            worst=max,
        ),
        _worst(
            top,
            says="controlled has the lower target risk in the top 10 %",
            rule="negative mean difference at every γ",
            number=lambda row: row.difference,
            limit=0.0,
            describe=lambda row: f"{row.difference:+.4f} ± {row.standard_error:.4f}",
        ),
        _worst(
            top,
            says="that is significant, p ≤ 1e-30 for every γ",
            rule="two-sided Wilcoxon signed-rank test; ranks and mean favour controlled",
            number=_evidence,
            limit=-30.0,
            describe=lambda row: f"log10 p = {row.log10_p:.1f}, difference {row.difference:+.4f}",
        ),
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
            _rise_finding(
                _rises(summary, "ozone", own),
                says="controlled is unaffected by the top 10 %",
                rule="its mean target risk there differs by at most 1 % from that of the others, "
                "at every γ",
                holds=lambda r: abs(r["relative"]) <= 0.01,
                worst=lambda rows, key: max(rows, key=lambda r: abs(key(r))),
            ),
            _worst(
                both,
                says="controlled is below plain, over all data sets and in the top 10 %",
                rule="negative mean difference at every γ, in both",
                number=lambda row: row.difference,
                limit=0.0,
                describe=lambda row: (
                    f"{row.difference:+.4f} ± {row.standard_error:.4f} ({row.sets})"
                ),
            ),
            _worst(
                both,
                says="that is significant, p ≤ 1e-50 for every γ",
                rule="two-sided Wilcoxon signed-rank test; ranks and mean favour controlled",
                number=_evidence,
                limit=-50.0,
                describe=lambda row: (
                    f"log10 p = {row.log10_p:.1f}, difference {row.difference:+.4f} ({row.sets})"
                ),
            ),
            _trend(summary, own),
        ),
    )


def _kernel(summary: Summary, problem: str) -> Claim:
    better = _worst(
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
    slopes = []
    for name in ("weighted", own):
        rows = [_risks(summary, "ozone", "all", name)[g] for g in _gammas(summary, "ozone")]
        if len(rows) < 2:
            break
        gamma = np.array([row.gamma for row in rows])
        gains = (gamma - gamma.mean()) / np.sum((gamma - gamma.mean()) ** 2)
        slope = float(gains @ np.array([row.mean for row in rows]))
        error = float(np.sqrt(gains**2 @ np.array([row.standard_error**2 for row in rows])))
        slopes.append((name, slope, error))
    says, rule = "all risks rise with γ", "slope of the mean risk on γ above 2 standard errors"
    if not slopes:
        return Finding(says, rule, "needs two gammas", **_plain(None), held=False)
    name, slope, error = min(slopes, key=lambda s: s[1] / s[2] if s[2] > 0 else s[1])
    return Finding(
        says,
        rule,
        "; ".join(f"{n.split('_')[0]} {s:+.4f} ± {e:.4f} per unit of γ" for n, s, e in slopes),
        effect=slope,
        standard_error=error,
        log10_p=None,
        gamma=None,
        repetitions=_repetitions(summary, "ozone"),
        held=all(s > 2 * e for _, s, e in slopes),
    )


def _rises(summary: Summary, problem: str, name: str) -> list[dict[str, float]]:
    """How much worse the top 10 % are than the other data sets, per gamma."""
    rows = []
    everything = _risks(summary, problem, "all", name)
    top = _risks(summary, problem, "top", name)
    for gamma, whole in everything.items():
        part = top[gamma]
        rest = whole.repetitions - part.repetitions
        if rest < 2:
            continue
        # Mean and variance of the others, from those of all and of the top.
        others = (whole.mean * whole.repetitions - part.mean * part.repetitions) / rest
        rise = part.mean - others
        spread = whole.standard_error**2 * whole.repetitions
        error = math.sqrt(part.standard_error**2 + spread / rest)
        rows.append(
            {
                "gamma": gamma,
                "relative": rise / others,
                "standard_error": error / others,
                "repetitions": whole.repetitions,
            }
        )
    return rows


def _rise_finding(
    rows: list[dict[str, float]],
    *,
    says: str,
    rule: str,
    holds: Callable[[dict[str, float]], bool],
    worst: Callable[..., dict[str, float]],
) -> Finding:
    if not rows:
        return Finding(says, rule, "needs more repetitions", **_plain(None), held=False)
    case = worst(rows, key=lambda row: row["relative"])
    return Finding(
        says,
        rule,
        "top 10 % against the others: "
        + ", ".join(f"{100 * r['relative']:+.1f} %" for r in rows)
        + f" at γ = {', '.join(format(r['gamma'], 'g') for r in rows)}",
        effect=case["relative"],
        standard_error=case["standard_error"],
        log10_p=None,
        gamma=case["gamma"],
        repetitions=int(case["repetitions"]),
        held=all(holds(row) for row in rows),
    )


def _worst(
    rows: Iterable[Comparison],
    *,
    says: str,
    rule: str,
    number: Callable[[Comparison], float],
    limit: float,
    describe: Callable[[Comparison], str],
) -> Finding:
    """Return a finding that holds where `number` is at most `limit` for every row."""
    rows = list(rows)
    case = max(rows, key=number)
    return Finding(
        says,
        rule,
        f"worst at γ = {case.gamma:g}: {describe(case)}; holds at "
        f"{sum(number(row) <= limit for row in rows)} of {len(rows)}",
        effect=case.difference,
        standard_error=case.standard_error,
        log10_p=case.log10_p,
        gamma=case.gamma,
        repetitions=case.repetitions,
        held=number(case) <= limit,
    )


def _evidence(row: Comparison) -> float:
    """Log p where both the mean and the ranks favour controlled, its negative otherwise."""
    return row.log10_p if row.difference < 0 and row.direction < 0 else -row.log10_p


def _plain(effect: float | None) -> dict[str, Any]:
    """Fields of a finding that no sampling error goes with."""
    return {
        "effect": effect,
        "standard_error": None,
        "log10_p": None,
        "gamma": None,
        "repetitions": None,
    }


def _comparisons(summary: Summary, problem: str, sets: str) -> list[Comparison]:
    own = PROTOCOLS[summary.protocol].controlled
    return [
        row
        for row in summary.comparisons
        if (row.problem, row.sets, row.estimator) == (problem, sets, own)
    ]


def _risks(summary: Summary, problem: str, sets: str, name: str) -> dict[float, RiskRow]:
    return {
        row.gamma: row
        for row in summary.risks
        if (row.problem, row.sets, row.estimator) == (problem, sets, name)
    }


def _gammas(summary: Summary, problem: str) -> list[float]:
    return sorted({row.gamma for row in summary.risks if row.problem == problem})


def _repetitions(summary: Summary, problem: str) -> int:
    return max(row.repetitions for row in summary.risks if row.problem == problem)
