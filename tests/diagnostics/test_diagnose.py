"""The record, its verdict and its errors."""

from dataclasses import FrozenInstanceError, replace
from itertools import product

import numpy as np
import pytest
from scipy import sparse

import counterpoise as cp
from counterpoise._facts import diagnostics_facts
from counterpoise.diagnostics import THRESHOLDS
from counterpoise.diagnostics.verdict import decide_verdict
from counterpoise.weights import GaussianRatio


def shifted(rng, shift, n=400, n_features=2):
    target = rng.normal(size=(n, n_features))
    target[:, 0] += shift
    return rng.normal(size=(n, n_features)), target


def test_two_samples_of_one_distribution():
    found = [cp.diagnose(*shifted(np.random.default_rng(seed), 0.0)) for seed in range(8)]
    # Weights fitted to noise may have a tail of their own; the advice is to leave them.
    assert sum(d.verdict == "trust" for d in found) >= 7
    assert all("Use no weights" in d.advice[0] for d in found)
    assert np.mean([d.auc for d in found]) == pytest.approx(0.5, abs=0.04)
    assert "No shift was found" in found[0].reasons[0]


def test_a_moderate_shift_is_finite_and_balanced_by_weights(rng):
    X, Z = shifted(rng, 0.8)
    d = cp.diagnose(X, Z, losses=X[:, 0] ** 2)
    numbers = [value for value in vars(d).values() if isinstance(value, float)]
    assert len(numbers) == 17
    assert np.all(np.isfinite(numbers))
    assert d.auc_p_value < 1e-6
    assert d.balance_before[0] == pytest.approx(0.8, abs=0.2)
    assert abs(d.balance_after[0]) < 0.3 * d.balance_before[0]
    assert d.features == ["x0", "x1"]


@pytest.mark.parametrize("weights", ["gaussian", "kmm", "nearest", "classifier", None])
@pytest.mark.parametrize("distance", [8.0, 1000.0])
def test_disjoint_supports_are_not_to_be_trusted(weights, distance, rng):
    # 1000 away every Gaussian weight is 0; warnings of the estimators would be errors here.
    X, Z = shifted(rng, distance, n=100)
    d = cp.diagnose(X, Z, weights=weights)
    assert d.verdict == "do not trust"
    assert "overlap" in d.reasons[0]
    assert d.outside_share == 1.0
    (advice,) = d.advice
    assert advice.startswith("Drop the column x0 (command line: --drop x0) if it only tells")
    assert "collect labels where x0 is above 2." in advice
    assert "do not trust" in str(d).splitlines()[0]


@pytest.mark.parametrize("n", [20, 300])
def test_no_fallback_of_the_default_weights_hides_disjoint_supports(n, rng):
    X, Z = rng.normal(0, 1, size=(n, 1)), rng.normal(50, 1, size=(n, 1))
    # uLSIF's weights are all close to 0 and nearly equal: many effective rows, and no overlap.
    with pytest.warns(RuntimeWarning, match="'ulsif' .* is used because 'kmm' has an effective"):
        d = cp.diagnose(X, Z)
    assert d.n_effective > n / 2
    assert d.verdict == "do not trust"
    assert d.reasons[0].startswith("Source and target do not overlap in x0: x0 is above")
    assert d.outside_share == 1.0


def test_the_direction_is_named(rng):
    X, Z = shifted(rng, -8.0)
    assert "x0 is below -2." in cp.diagnose(X, Z, weights="gaussian").advice[0]


def test_one_separated_feature_among_many(rng):
    X, Z = shifted(rng, 10.0, n=150, n_features=40)
    d = cp.diagnose(X, Z, weights=None)
    assert d.verdict == "do not trust"
    assert "x0 is above" in d.advice[0]


def test_weight_numbers_in_closed_form():
    w = np.repeat([0.0, 2.0], 50)  # half the rows, twice
    X = np.linspace(0, 1, 100)[:, None]
    d = cp.diagnose(X, X, weights=w)
    assert d.n_effective == pytest.approx(50)
    assert d.design_effect == pytest.approx(2)
    assert d.weight_mean == pytest.approx(1)
    assert d.weight_variance == pytest.approx(100 / 99)
    assert d.weight_mean_error == pytest.approx(np.sqrt(1 / 99))
    assert d.largest_share == pytest.approx(0.02)
    assert np.isnan(d.pareto_k)
    # Design effect = 1 + squared coefficient of variation.
    w = np.random.default_rng(0).exponential(size=100)
    d = cp.diagnose(X, X, weights=1e160 * w)
    assert d.design_effect == pytest.approx(1 + np.var(w) / np.mean(w) ** 2)


def test_balance_in_closed_form():
    X, Z = np.asarray([[0.0, 5.0], [2.0, 5.0]]), np.asarray([[2.0, 5.0], [4.0, 5.0]])
    d = cp.diagnose(X, Z, weights=[0.5, 1.5])
    np.testing.assert_allclose(d.balance_before, [2.0, 0.0])
    np.testing.assert_allclose(d.balance_after, [1.5, 0.0])


def test_loss_numbers(rng):
    X, Z = shifted(rng, 0.5)
    w, losses = rng.exponential(size=400), rng.exponential(size=400)
    d = cp.diagnose(X, Z, weights=w, losses=losses)
    rho = np.corrcoef(w * losses, w)[0, 1]
    assert d.correlation == pytest.approx(rho)
    assert d.variance_reduction == pytest.approx(rho**2)
    assert d.pareto_k_losses == pytest.approx(cp.diagnostics.pareto_k(w * losses))
    d = cp.diagnose(X, Z, weights=None, losses=losses)
    assert d.correlation == d.variance_reduction == 0.0
    d = cp.diagnose(X, Z, weights=w)
    assert d.pareto_k_losses is d.correlation is d.variance_reduction is d.losses is None


def test_two_risk_estimates_are_held_against_each_other(rng):
    X, Z = shifted(rng, 0.5)
    w, losses = rng.exponential(size=400), rng.exponential(size=400)
    d = cp.diagnose(X, Z, weights=w, losses=losses)
    risks = cp.compare_risks(losses, w)
    gap = abs(risks["normalized"].value - risks["controlled"].value)
    assert d.disagreement == pytest.approx(gap / risks["controlled"].standard_error)
    ratio = risks["normalized"].standard_error / risks["controlled"].standard_error
    assert d.error_ratio == pytest.approx(ratio)
    # A constant loss comes back exactly under equal weights: nothing to disagree about.
    d = cp.diagnose(X, Z, weights=None, losses=np.full(400, 0.3))
    assert (d.disagreement, d.error_ratio) == (0.0, 1.0)
    d = cp.diagnose(X, Z)
    assert d.disagreement is d.error_ratio is None


@pytest.mark.parametrize(
    ("numbers", "verdict", "reason"),
    [
        ({"disagreement": 0.7}, "caution", "differ by 0.70 standard errors"),
        ({"disagreement": 1.3}, "do not trust", "differ by 1.3 standard errors"),
        ({"error_ratio": 1.2}, "caution", "1.2 times smaller"),
        ({"error_ratio": 1.6}, "do not trust", "1.6 times smaller"),
        ({"balance_after": np.asarray([0.1, -0.5])}, "caution", "the mean of x1 -0.50 standard"),
        ({"balance_after": np.asarray([np.nan, 1.5])}, "do not trust", "the mean of x1 +1.50"),
        ({"balance_after": np.full(2, np.nan)}, "trust", "No shift was found"),
    ],
)
def test_limits_of_agreement_and_of_balance(numbers, verdict, reason, rng):
    same = cp.diagnose(*shifted(rng, 0.0), losses=rng.exponential(size=400))
    assert same.verdict == "trust"
    found, reasons, _ = decide_verdict(replace(same, **numbers))
    assert found == verdict
    assert reason in reasons[0]


def test_every_limit_is_ordered_and_used():
    assert all(len(limits) == 2 for limits in THRESHOLDS.values())
    for name, (caution, stop) in THRESHOLDS.items():
        assert (stop < caution) == (name == "n_effective")


def test_progress_names_the_phases(rng):
    phases = []
    cp.diagnose(*shifted(rng, 0.0, n=60), progress=phases.append)
    assert phases == [
        *("encoding", "weights", "sums", "two-sample test", "support"),
        *("regions with little support", "losses"),
    ]


def test_regions_are_listed_by_their_share(rng):
    X, Z = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3))
    Z[:100, 0] = -9.0
    Z[:300, 2] = 9.0
    d = cp.diagnose(X, Z, weights=None)
    assert [gap.words.split(" ")[:3] for gap in d.gaps] == [
        ["x2", "is", "above"],
        ["x0", "is", "below"],
    ]
    assert d.gaps[0].share == pytest.approx(0.15, abs=0.01)
    assert "Next in size: x0 is below" in d.advice[0]


def test_categories_that_the_source_lacks_are_named(rng):
    pd = pytest.importorskip("pandas")
    source = pd.DataFrame({"colour": rng.choice(["blue", "red"], size=900)})
    target = pd.DataFrame({"colour": rng.choice(["blue", "red", "green", None], size=800)})
    d = cp.diagnose(source, target, weights=None)
    assert {gap.words for gap in d.gaps} == {"colour is 'green'", "colour is missing"}
    assert [gap.share for gap in d.gaps] == pytest.approx([0.25, 0.25], abs=0.08)


def giveaway(rng, **columns):
    """Two data frames of one number, and of columns given as (source, target)."""
    pd = pytest.importorskip("pandas")
    return tuple(
        pd.DataFrame({"x": rng.normal(size=200), **{k: v[i] for k, v in columns.items()}})
        for i in range(2)
    )


def test_columns_that_give_the_split_away_are_to_be_dropped(rng):
    source, target = giveaway(
        rng,
        data_id=(["PSID"] * 200, ["CPS1"] * 200),
        home=(["owner"] * 200, ["rent", "parents"] * 100),
        year=(rng.integers(1990, 2000, 200), rng.integers(2005, 2010, 200)),
    )
    d = cp.diagnose(source, target, weights=None)
    assert d.verdict == "do not trust"
    assert [gap.column for gap in d.separating] == ["data_id", "year", "home"]
    assert "data_id is 'CPS1' (100% of the target, hardly any of the source)" in d.reasons[0]
    assert "home is 'parents' or 'rent' (100%" in d.reasons[0]
    # What follows from these columns is not said again.
    assert len(d.reasons) == 1
    (advice,) = d.advice
    assert "--drop data_id --drop year --drop home" in advice
    assert "inf" not in str(d)
    assert "data_id=CPS1 (no overlap)" in d.shift.words
    # The advice works.
    again = cp.diagnose(source[["x"]], target[["x"]], weights=None)
    assert again.verdict == "trust"


def test_a_column_that_tells_most_rows_apart_is_no_giveaway(rng):
    source, target = giveaway(rng, site=(["a"] * 200, ["a"] * 10 + ["b"] * 190))
    d = cp.diagnose(source, target, weights=None)
    assert d.separating == []
    assert "Collect labels where site is 'b' (95% of the target" in " ".join(d.advice)


def test_advice_does_not_recommend_what_is_used(rng):
    X, Z = shifted(rng, 0.5)
    heavy = replace(cp.diagnose(X, Z), pareto_k=1.3, design_effect=3.0, weight_mean=2.5)

    def advice(*used):
        return " ".join(decide_verdict(heavy, used)[2])

    assert 'Prefer the risk method "controlled" or "truncated"' in advice()
    assert 'Prefer the risk method "truncated", or' in advice("controlled", "nearest")
    assert 'such as "auto"' in advice("controlled", "nearest")
    for default in ("auto", "auto: kmm", "kmm"):
        assert 'such as "classifier"' in advice("controlled", default)


def test_one_quantity_has_one_number_of_digits(rng):
    X, Z = shifted(rng, 2.0, n=300)
    d = cp.diagnose(X, Z, losses=X[:, 0] ** 2)
    facts = {fact.name: fact.value for fact in diagnostics_facts(d)}
    said = " ".join([d.shift.words, *d.reasons, *d.advice])
    auc, p = facts["AUC of source against target"].removesuffix(")").split(" (p = ")
    assert f"area under the curve {auc}, p = {p})" in said
    outside = facts["target outside the source"]
    assert f"{outside} of the target rows lie outside" in said
    assert f"{facts['largest difference of means'].split()[0]}, " in d.shift.words
    assert any(
        f"({value})" in said or f"({value} of" in said
        for name, value in facts.items()
        if name.startswith("target where")
    )
    # What a control variate removes is said once, by the risk method that removed it.
    assert "variance reduction" not in facts


@pytest.mark.parametrize("gamma", [1.0, 1.5, 4.0])
def test_sensitivity_by_brute_force(gamma, rng):
    # A ratio of linear functions is largest at a corner of the box: all corners are tried.
    w, losses = rng.exponential(size=9), rng.normal(size=9).round(1)
    X = rng.normal(size=(9, 1))
    factors = np.array(list(product([1 / gamma, gamma], repeat=9)))
    risks = (factors * w) @ losses / (factors @ w)
    low, high = cp.diagnose(X, X, weights=w, losses=losses).sensitivity(gamma)
    assert low == pytest.approx(risks.min())
    assert high == pytest.approx(risks.max())


def test_sensitivity_needs_losses_and_a_factor(rng):
    X, Z = shifted(rng, 0.0, n=60)
    with pytest.raises(ValueError, match=r"`losses` are needed.*diagnose\(\.\.\., losses="):
        cp.diagnose(X, Z).sensitivity(2)
    with pytest.raises(ValueError, match="`gamma` must be a number at least 1"):
        cp.diagnose(X, Z, losses=np.ones(60)).sensitivity(0.5)


@pytest.mark.parametrize(
    ("weights", "verdict", "reason"),
    [
        (np.r_[np.full(399, 1.0), 200.0], "caution", "One source row carries 33%"),
        (np.r_[np.full(399, 1.0), 420.0], "do not trust", "One source row carries 51%"),
        (np.tile([0.0, 2.6], 200), "caution", "The weights average 1.30 "),
        (np.full(400, 1.3), "do not trust", "The weights average 1.30 "),
        (np.full(400, 0.4), "do not trust", "The weights average 0.400 "),
        (np.full(400, 1.1), "caution", "The weights average 1.10 "),
        (np.full(400, 1.04), "trust", ""),
        (np.r_[np.zeros(385), np.full(15, 400 / 15)], "caution", "rows are worth only 15.0"),
        (np.r_[np.zeros(396), np.full(4, 100.0)], "do not trust", "rows are worth only 4.00"),
    ],
)
def test_each_limit_has_its_reason(weights, verdict, reason, rng):
    d = cp.diagnose(*shifted(rng, 0.0), weights=weights)
    assert d.verdict == verdict
    assert any(reason in given for given in d.reasons)


@pytest.mark.parametrize(
    ("k", "verdict"), [(0.5, "trust"), (0.85, "caution"), (1.2, "do not trust")]
)
def test_heavy_tails_of_weights_and_of_losses(k, verdict, rng):
    n = 2000
    X, Z = shifted(rng, 0.0, n=n)
    w = (1 - (np.arange(n) + 0.5) / n) ** -k
    d = cp.diagnose(X, Z, weights=w / w.mean())
    assert d.verdict == verdict
    assert (verdict == "trust") == ("The weights have a heavy tail" not in "".join(d.reasons))
    d = cp.diagnose(X, Z, weights=None, losses=w)
    assert d.verdict == ("caution" if k > 1 else "trust")


def test_the_verdict_separates_intervals_that_cover():
    # Source N(0, 1), target N(shift, 1), loss x^2: the risk is 1 + shift^2.
    covered = {"trust": [], "caution": [], "do not trust": []}
    for seed in range(60):
        rng, shift = np.random.default_rng(seed), (0.3, 2.0, 3.5)[seed % 3]
        X, Z = shifted(rng, shift, n=200, n_features=1)
        d = cp.diagnose(X, Z, weights=np.exp(shift * X[:, 0] - shift**2 / 2))
        low, high = cp.target_risk(X[:, 0] ** 2, d.weights).interval()
        covered[d.verdict].append(low < 1 + shift**2 < high)
    assert len(covered["trust"]) > 10
    assert len(covered["do not trust"]) > 20
    assert np.mean(covered["trust"]) > 0.85
    assert np.mean(covered["do not trust"]) < 0.82


def test_mixed_data_frames(rng):
    pd = pytest.importorskip("pandas")

    def frame(shift, colours, n=300):
        age = rng.normal(40 + shift, 8, size=n)
        age[:9] = np.nan
        return pd.DataFrame(
            {
                "age": age,
                "paint_colour": rng.choice(colours, size=n),
                "owner": rng.random(n) < 0.5,
                "day": np.datetime64("2024-01-01") + rng.integers(0, 90, size=n).astype("m8[D]"),
            }
        )

    same = cp.diagnose(frame(0, ["blue", "red"]), frame(0, ["blue", "red"]))
    assert same.verdict == "trust"
    assert same.features == [
        *("age", "age missing", "paint_colour=blue", "paint_colour=red", "owner"),
        *("day days", "day month", "day weekday"),
    ]
    assert same.feature_columns[1:4] == ["age", "paint_colour", "paint_colour"]
    pair = frame(0, ["blue", "red"]), frame(40, ["blue", "red"])
    older = cp.diagnose(*pair, weights="classifier")
    assert older.verdict == "do not trust"
    assert "where age is above 6" in older.advice[0]
    painted = cp.diagnose(frame(0, ["blue", "red"]), frame(0, ["blue", "green", "red"]))
    assert "paint_colour is 'green'" in painted.advice[0]
    later = frame(0, ["blue", "red"])
    later["day"] += np.timedelta64(400, "D")
    assert "day is above 2024-03-3" in cp.diagnose(frame(0, ["blue", "red"]), later).advice[0]


def test_sparse_matrices_and_other_array_libraries(xp, rng):
    X, Z = shifted(rng, 0.5, n=80)
    plain = cp.diagnose(X, Z, losses=X[:, 0])
    other = cp.diagnose(xp.asarray(X), xp.asarray(Z), losses=xp.asarray(X[:, 0]))
    assert str(other) == str(plain)
    assert cp.diagnose(sparse.csr_array(X), sparse.csr_array(Z)).n_effective == pytest.approx(
        plain.n_effective
    )


def test_estimators_are_not_changed_and_the_record_is_frozen(rng):
    X, Z = shifted(rng, 0.5, n=80)
    estimator = GaussianRatio()
    d = cp.diagnose(X, Z, weights=estimator)
    assert not hasattr(estimator, "weights_")
    np.testing.assert_allclose(d.weights, GaussianRatio().fit(X, Z).weights_)
    with pytest.raises(FrozenInstanceError):
        d.verdict = "trust"
    assert str(d) == str(cp.diagnose(X, Z, weights="gaussian"))


def test_three_rows_say_nothing_about_a_shift(rng):
    for n, m in ((3, 3), (300, 3), (3, 300)):
        d = cp.diagnose(rng.normal(size=(n, 1)), rng.normal(size=(m, 1)), weights=None)
        assert d.verdict == "do not trust"
        assert "nan" not in str(d)
        assert "3 rows of a sample are too few" in d.shift.words
        assert "No shift was found" not in str(d)
        assert d.advice[0].startswith("Pass more rows")


def test_one_row_each():
    d = cp.diagnose([[0.0]], [[1.0]], weights=None, losses=[2.0])
    assert d.verdict == "do not trust"
    assert d.sensitivity(3) == (2.0, 2.0)
    assert "Verdict" in str(d)


X, Z = np.arange(20.0).reshape(10, 2), np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        (X, Z[:, :1], {}, "`X_target` has 1 features, `X_source` has 2"),
        (X, Z[:0], {}, "`X_target` must have at least 1 row"),
        (X[:, 0], Z, {}, "`X_source` must be a data frame or a 2-D array"),
        (X, sparse.csr_array((0, 2)), {}, "`X_target` must have at least 1 row"),
        (X, np.full((2, 2), np.inf), {}, "`X_target` must be finite; 4 of its 4"),
        (X, Z, {"weights": np.ones(9)}, "`weights` has 9 values.*there are 10 samples"),
        (X, Z, {"weights": np.r_[np.nan, np.ones(9)]}, "`weights` must be finite; 1 of its 10"),
        (X, Z, {"weights": -np.ones(10)}, "`weights` must not be negative"),
        (X, Z, {"weights": "magic"}, "`weights` must be one of 'auto'"),
        (X, Z, {"losses": np.ones(9)}, r"`losses` must have shape \(10,\).*\(9,\)"),
        (X, Z, {"losses": np.ones((10, 1))}, r"`losses` must have shape \(10,\).*\(10, 1\)"),
        (X, Z, {"losses": np.r_[np.nan, np.ones(9)]}, "`losses` must be finite; 1 of its 10"),
        (X, Z, {"random_state": "no"}, "`random_state` must be an integer at least 0"),
    ],
)
def test_bad_input_is_named(source, target, options, message):
    with pytest.raises(ValueError, match=message):
        cp.diagnose(source, target, **options)


def test_columns_that_differ_are_named():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"`X_target` must have the columns.*lacks \['b'\]"):
        cp.diagnose(pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(Z, columns=["a", "c"]))
