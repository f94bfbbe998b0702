"""Tables and verdicts, on made-up repetitions with known answers."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import wilcoxon

from counterpoise.experiments.claims import verify_claims
from counterpoise.experiments.curves import draw_example, example_results
from counterpoise.experiments.plan import Plan
from counterpoise.experiments.protocols import LABELS
from counterpoise.experiments.summarise import signed_rank_test, summarise


def repetitions(rng, *, plain_rise=0.0, gain=0.0, controlled_rise=0.0, level=0.7):
    """Final risks in which the top tenth is worse by a known amount."""
    # 400 data sets in the top tenth: fewer cannot give p < 1e-50 at all.
    n = 4000
    variance = rng.permutation(n).astype(float)
    top = variance >= 0.9 * n
    base = level + 0.02 * rng.normal(size=n)
    data = {f"risk_{name}": base.copy() for name in LABELS}
    data["risk_weighted"] = base + plain_rise * top
    data["risk_controlled_known"] = base - gain + controlled_rise * top + 0.001 * rng.normal(size=n)
    data |= {f"fixed_{name}": base + 0.1 + 0.05 * rng.normal(size=n) for name in LABELS}
    return data | {"fixed_truth": base, "weight_variance": variance, "repetition": np.arange(n)}


def summary_of(plan, data):
    return summarise(SimpleNamespace(plan=plan, read=lambda *key: data[key]))


def verdict(number, problem, data, **options):
    plan = Plan((problem,), 4000, gammas=(0.5, 1.0), **options)
    read = {(problem, gamma): own for gamma, own in zip(plan.gammas, data, strict=True)}
    claims = {claim.number: claim for claim in verify_claims(summary_of(plan, read), plan)}
    return claims[number]


def test_means_errors_and_the_top_tenth_are_those_of_the_definition(rng):
    data = repetitions(rng, plain_rise=0.3)
    summary = summary_of(Plan(("synthetic",), 4000, gammas=(0.5,)), {("synthetic", 0.5): data})
    rows = {(r.sets, r.estimator): r for r in summary.risks}
    top = data["weight_variance"] >= 3600
    for sets, picked in (("all", np.full(4000, True)), ("top", top)):
        values = data["risk_weighted"][picked]
        row = rows[sets, "weighted"]
        assert row.mean == pytest.approx(values.mean(), rel=1e-12)
        assert row.standard_error == pytest.approx(values.std(ddof=1) / math.sqrt(len(values)))
        assert row.repetitions == len(values)
    error = next(e for e in summary.errors if (e.sets, e.estimator) == ("all", "weighted"))
    assert error.bias == pytest.approx(0.1, abs=5 * error.bias_standard_error)
    assert error.rmse == pytest.approx(math.hypot(0.1, 0.05), abs=5 * error.rmse_standard_error)


def test_signed_rank_test_is_scipys_and_goes_beyond_the_smallest_float(rng):
    difference = np.where(rng.random(500) < 0.2, 0.0, rng.normal(0.1, 1, 500))
    want = wilcoxon(difference, method="asymptotic").pvalue
    log10_p, direction = signed_rank_test(difference)
    assert log10_p == pytest.approx(math.log10(want), rel=1e-10)
    assert direction == 1
    assert signed_rank_test(-difference) == (pytest.approx(log10_p), -1)
    assert signed_rank_test(np.arange(1.0, 100001.0))[0] < -10000
    assert signed_rank_test(np.zeros(5)) == (0.0, 0)


RISES, GAINS = {"plain_rise": 0.1}, {"gain": 0.01, "plain_rise": 0.05}


@pytest.mark.parametrize(
    ("number", "problem", "first", "second", "held"),
    [
        ("2", "synthetic", {}, {"gain": 0.003}, [True]),
        ("2", "synthetic", {}, {"gain": -0.02}, [False]),
        ("3", "synthetic", RISES, RISES, [True] * 4),
        ("3", "synthetic", RISES, {"gain": 0.0003}, [False, True, True, False]),
        ("3", "synthetic", RISES, RISES | {"controlled_rise": 0.05}, [True, False, True, True]),
        ("3", "synthetic", RISES, RISES | {"gain": -0.2}, [True, True, False, False]),
        ("4", "ozone", GAINS, GAINS | {"level": 0.72}, [True] * 4),
        ("4", "ozone", GAINS | {"level": 0.72}, GAINS, [True, True, True, False]),
        (
            "4",
            "ozone",
            GAINS,
            GAINS | {"level": 0.72, "controlled_rise": 0.03},
            [False, True, True, True],
        ),
        ("5 (KMM)", "kmm", RISES | GAINS, RISES | {"gain": 0.01}, [True] * 5),
        ("5 (KLIEP)", "kliep", RISES, RISES | {"gain": -0.005}, [True] * 4 + [False]),
    ],
)
def test_claims_hold_where_they_should_and_fail_part_by_part(
    rng, number, problem, first, second, held
):
    claim = verdict(number, problem, [repetitions(rng, **first), repetitions(rng, **second)])
    assert [finding.held for finding in claim.findings] == held
    assert claim.held == all(held)


def test_a_finding_shows_the_gamma_most_against_it(rng):
    data = [repetitions(rng), repetitions(rng, gain=-0.02)]
    (finding,) = verdict("2", "synthetic", data).findings
    assert (finding.gamma, finding.repetitions) == (1.0, 4000)
    assert finding.effect == pytest.approx(0.02, abs=1e-3)


def test_released_protocol_is_judged_by_the_sample_mean(rng):
    data = repetitions(rng, plain_rise=0.1)
    assert verdict("3", "synthetic", [data, data]).held
    data["risk_controlled_sample"] = data["risk_weighted"] + 0.1
    assert not verdict("3", "synthetic", [data, data], protocol="released").held


def test_example_claims_hold_by_theory_and_by_simulation():
    plan = Plan(("example",), 1000)
    data = {}
    for gamma in plan.gammas_of("example"):
        results = example_results(gamma, draw_example(gamma, np.random.default_rng(0), 1000))
        data["example", gamma] = results | {"repetition": np.arange(1000)}
    summary = summary_of(plan, data)
    assert [claim.held for claim in verify_claims(summary, plan)] == [True, True]
    # Beta that does not converge must be noticed.
    stuck = [replace(row, slope=-0.2, standard_error=0.01) for row in summary.slopes]
    claims = verify_claims(replace(summary, slopes=stuck), plan)
    assert [claim.held for claim in claims] == [True, False]
