"""Tables and verdicts, on made-up repetitions with known answers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import wilcoxon

from counterpoise.datasets import gaussian_1d
from counterpoise.experiments.claims import verify_claims
from counterpoise.experiments.example_rates import SIZES, draw_example, example_results
from counterpoise.experiments.plan import Plan
from counterpoise.experiments.summarise import signed_rank_test, summarise

NAMES = [
    "unweighted",
    "source",
    "weighted",
    "normalized",
    "truncated",
    "controlled_known",
    "controlled_sample",
    "oracle",
]


class FakeStore:
    """Repetitions without files."""

    def __init__(self, plan, data):
        self.plan = plan
        self.data = data

    def read(self, problem, gamma):
        return self.data[problem, gamma]


def repetitions(rng, *, plain_rise=0.0, gain=0.0, controlled_rise=0.0, n=2000, level=0.7):
    """Final risks in which the top tenth is worse by a known amount."""
    variance = rng.permutation(n).astype(float)
    top = variance >= 0.9 * n
    base = level + 0.02 * rng.normal(size=n)
    noise = 0.001 * rng.normal(size=n)
    data = {f"risk_{name}": base.copy() for name in NAMES}
    data["risk_weighted"] = base + plain_rise * top
    data["risk_controlled_known"] = base - gain + controlled_rise * top + noise
    data |= {f"fixed_{name}": base + 0.1 + 0.05 * rng.normal(size=n) for name in NAMES[1:-1]}
    data |= {"fixed_truth": base, "weight_variance": variance, "n_effective": np.full(n, 9.0)}
    data["repetition"] = np.arange(n)
    return data


def verdicts(problem, data, gammas=(0.5, 1.0)):
    plan = Plan((problem,), 2000, gammas=gammas)
    store = FakeStore(plan, {(problem, g): d for g, d in zip(gammas, data, strict=True)})
    return {c.number: c for c in verify_claims(summarise(store), plan)}


def test_means_errors_and_the_top_tenth_are_those_of_the_definition(rng):
    data = repetitions(rng, plain_rise=0.3)
    plan = Plan(("synthetic",), 2000, gammas=(0.5,))
    summary = summarise(FakeStore(plan, {("synthetic", 0.5): data}))
    rows = {(r.sets, r.estimator): r for r in summary.risks}
    top = data["weight_variance"] >= 1800
    for sets, picked in (("all", np.full(2000, True)), ("top", top)):
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


def test_claim_3_holds_where_it_should_and_fails_in_each_way(rng):
    good = [repetitions(rng, plain_rise=0.1) for _ in range(2)]
    assert verdicts("synthetic", good)["3"].held
    no_rise = [good[0], repetitions(rng, gain=0.0005)]
    assert held(verdicts("synthetic", no_rise)["3"]) == [False, True, True, False]
    rises_too = [good[0], repetitions(rng, plain_rise=0.1, controlled_rise=0.05)]
    assert held(verdicts("synthetic", rises_too)["3"]) == [True, False, True, True]
    worse = [good[0], repetitions(rng, plain_rise=0.1, gain=-0.2)]
    assert held(verdicts("synthetic", worse)["3"])[2:] == [False, False]


def held(claim):
    return [finding.held for finding in claim.findings]


def test_claim_2_is_about_the_size_of_the_difference(rng):
    assert verdicts("synthetic", [repetitions(rng), repetitions(rng, gain=0.003)])["2"].held
    claim = verdicts("synthetic", [repetitions(rng), repetitions(rng, gain=-0.02)])["2"]
    assert not claim.held
    (finding,) = claim.findings
    assert (finding.gamma, finding.repetitions) == (1.0, 2000)
    assert finding.effect == pytest.approx(0.02, abs=1e-3)


def test_claim_4_has_four_parts_that_can_fail_one_by_one(rng):
    # 400 data sets in the top tenth: fewer cannot give p < 1e-50 at all.
    options = {"gain": 0.01, "plain_rise": 0.05, "n": 4000}
    good = [repetitions(rng, level=level, **options) for level in (0.70, 0.72)]
    claim = verdicts("ozone", good)["4"]
    assert claim.held
    falling = verdicts("ozone", good[::-1])["4"]
    assert held(falling) == [True, True, True, False]
    affected = [good[0], repetitions(rng, level=0.72, controlled_rise=0.03, **options)]
    assert held(verdicts("ozone", affected)["4"]) == [False, True, True, True]


def test_claim_5_needs_a_gain_over_all_data_sets(rng):
    gain = [repetitions(rng, plain_rise=0.1, gain=0.01) for _ in range(2)]
    assert verdicts("kmm", gain)["5 (KMM)"].held
    loss = [repetitions(rng, plain_rise=0.1, gain=-0.005) for _ in range(2)]
    assert not verdicts("kliep", loss)["5 (KLIEP)"].findings[-1].held


def test_released_protocol_is_judged_by_the_sample_mean(rng):
    plan = Plan(("synthetic",), 2000, gammas=(0.5,), protocol="released")
    data = repetitions(rng, plain_rise=0.1)
    data["risk_controlled_sample"] = data["risk_weighted"] + 0.1
    claims = verify_claims(summarise(FakeStore(plan, {("synthetic", 0.5): data})), plan)
    assert not any(claim.held for claim in claims)


def test_example_claims_hold_by_theory_and_by_simulation():
    plan = Plan(("example",), 1000)
    data = {}
    for gamma in plan.gammas_of("example"):
        results = example_results(gamma, draw_example(gamma, np.random.default_rng(0), 1000))
        data["example", gamma] = results | {"repetition": np.arange(1000)}
    summary = summarise(FakeStore(plan, data))
    claims = {c.number: c for c in verify_claims(summary, plan)}
    assert claims["1"].held
    assert [f.held for f in claims["6"].findings] == [True, True]
    # Beta that does not converge must be noticed.
    stuck = [replace(row, slope=-0.2, standard_error=0.01) for row in summary.slopes]
    assert not {c.number: c for c in verify_claims(replace(summary, slopes=stuck), plan)}["6"].held


def test_example_sampling_variances_are_the_closed_forms():
    results = example_results(1.25, draw_example(1.25, np.random.default_rng(1), 2000))
    problem = gaussian_1d(1.25)
    for key, want in (
        ("weighted", problem.weighted_variance),
        ("controlled", problem.controlled_variance),
    ):
        squares = SIZES[2] * results[f"{key}_{SIZES[2]}"] ** 2
        error = squares.std(ddof=1) / math.sqrt(len(squares))
        assert abs(squares.mean() - want) < 4 * error
