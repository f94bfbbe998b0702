"""The record: its numbers, its words on whole samples, and its errors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import counterpoise as cp
from counterpoise.diagnostics import diagnose_encoded, pareto_k
from counterpoise.diagnostics.verdict import decide_verdict
from counterpoise.encoding import encode_pair
from counterpoise.risk import LabelTest
from counterpoise.weights import GaussianRatio


def shifted(rng, shift, n=400, n_features=2):
    target = rng.normal(size=(n, n_features))
    target[:, 0] += shift
    return rng.normal(size=(n, n_features)), target


def test_two_samples_of_one_distribution():
    found = [cp.diagnose(*shifted(np.random.default_rng(seed), 0.0)) for seed in range(8)]
    # Weights fitted to noise may have a tail of their own; the advice is to leave them.
    assert sum(d.verdict == "plausible" for d in found) >= 7
    assert all("Use no weights" in d.advice[0] for d in found)
    assert np.mean([d.auc for d in found]) == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("weights", ["gaussian", "kmm", "nearest", "classifier", None])
@pytest.mark.parametrize("distance", [8.0, -1000.0])
def test_disjoint_supports_are_not_to_be_trusted(weights, distance, rng):
    # 1000 away every Gaussian weight is 0; warnings of the estimators would be errors here.
    d = cp.diagnose(*shifted(rng, distance, n=100, n_features=3), weights=weights)
    assert d.verdict == "do not trust"
    assert d.reasons[0].startswith("Source and target do not overlap in x0: x0 is ")
    assert d.outside_share == 1.0
    (advice,) = d.advice
    assert advice.startswith("Leave out x0 if that only tells the two samples apart")
    side = "above 2." if distance > 0 else "below -2."
    assert f"collect labels where x0 is {side}" in advice


@pytest.mark.parametrize("n", [20, 300])
def test_no_fallback_of_the_default_weights_hides_disjoint_supports(n, rng):
    X, Z = rng.normal(0, 1, size=(n, 1)), rng.normal(50, 1, size=(n, 1))
    # uLSIF's weights are all close to 0 and nearly equal: many effective rows, and no overlap.
    with pytest.warns(RuntimeWarning, match="'ulsif' .* is used because 'kmm' has an effective"):
        d = cp.diagnose(X, Z)
    assert d.n_effective > n / 2
    assert d.verdict == "do not trust"
    assert d.outside_share == 1.0


def test_loss_numbers(rng):
    X, Z = shifted(rng, 0.5)
    w, losses = rng.exponential(size=400), rng.normal(size=400)
    d = cp.diagnose(X, Z, weights=w, losses=losses)
    assert d.pareto_k_losses == pytest.approx(pareto_k(np.abs(w * losses)))
    # Residuals of a regression of w loss on w.
    terms = w * losses - np.polyval(np.polyfit(w, w * losses, 1), w)
    rows = np.sum(terms**2) ** 2 / np.sum(terms**4)
    assert d.rows_deciding == pytest.approx(rows)
    assert cp.diagnose(X, Z, weights=w, losses=1e9 * losses).rows_deciding == pytest.approx(rows)
    # Of equal weights, the losses decide: one of them, four of them, none.
    for losses, rows in ((np.eye(400)[0], 1), (np.arange(400) < 4, 4), (np.full(400, 0.3), np.inf)):
        d = cp.diagnose(X, Z, weights=None, losses=1.0 * losses)
        assert d.rows_deciding == pytest.approx(rows, rel=0.05)
    d = cp.diagnose(X, Z, weights=w)
    assert d.pareto_k_losses is d.rows_deciding is d.losses is None


def test_columns_that_give_the_split_away_are_to_be_dropped(pd, rng):
    columns = [
        {"data_id": ["PSID"] * 200, "home": ["owner"] * 200, "year": rng.integers(1990, 2000, 200)},
        {"data_id": ["CPS1"] * 200, "home": ["rent", "parents"] * 100, "year": [2005] * 200},
    ]
    # A column that tells most rows apart is no giveaway.
    sites = ["a"] * 200, ["a"] * 10 + ["b"] * 190
    source, target = (
        pd.DataFrame({"x": rng.normal(size=200), "site": site, **own})
        for own, site in zip(columns, sites, strict=True)
    )
    d = cp.diagnose(source, target, weights=None)
    assert d.verdict == "do not trust"
    assert [gap.column for gap in d.separating] == ["data_id", "year", "home"]
    assert "data_id is 'CPS1' (100% of the target, hardly any of the source)" in d.reasons[0]
    assert "home is 'parents' or 'rent' (100%" in d.reasons[0]
    # What follows from these columns is not said again.
    assert len(d.reasons) == 1
    (advice,) = d.advice
    assert advice.startswith("Leave out data_id, year, home if that only tells")
    assert "data_id=CPS1 (no overlap)" in d.shift.words
    # The advice works.
    assert cp.diagnose(source[["x"]], target[["x"]], weights=None).verdict == "plausible"
    d = cp.diagnose(source[["x", "site"]], target[["x", "site"]], weights=None)
    assert "Collect labels where site is 'b' (95% of the target" in " ".join(d.advice)


def test_mixed_data_frames(pd, rng):
    def frame(shift=0, colours=("blue", "red"), n=300):
        age, day = rng.normal(40 + shift, 8, size=n), rng.integers(0, 90, size=n).astype("m8[D]")
        age[:9] = np.nan
        colour, owner = rng.choice(np.array(colours, dtype=object), size=n), rng.random(n) < 0.5
        columns = {"age": age, "paint_colour": colour, "owner": owner}
        return pd.DataFrame({**columns, "day": np.datetime64("2024-01-01") + day})

    same = cp.diagnose(frame(), frame())
    assert same.verdict == "plausible"
    assert same.features == [
        *("age", "age missing", "paint_colour=blue", "paint_colour=red", "owner"),
        *("day days", "day month", "day weekday"),
    ]
    assert same.feature_columns[1:4] == ["age", "paint_colour", "paint_colour"]
    older = cp.diagnose(frame(), frame(40), weights="classifier")
    assert older.verdict == "do not trust"
    assert "where age is above 6" in older.advice[0]
    assert older.shift.columns == ["age"]
    painted = cp.diagnose(frame(), frame(0, ["blue", "green", None, "red"]))
    assert "paint_colour=" in painted.shift.words
    words = {"paint_colour is 'green'", "paint_colour is missing"}
    assert {gap.words for gap in painted.gaps} == words
    later = frame()
    later["day"] += np.timedelta64(400, "D")
    assert "day is above 2024-03-3" in cp.diagnose(frame(), later).advice[0]


def test_encoded_tables_and_other_array_libraries_get_the_same_record(xp, rng):
    X, Z = shifted(rng, 0.5, n=80)
    test, ratio = LabelTest(0.01, 9, 1.0, 2.0, 0.9), GaussianRatio()
    plain = cp.diagnose(X, Z, weights=ratio, losses=X[:, 0], label_test=test)
    assert plain.label_test is test
    assert not hasattr(ratio, "weights_")
    assert decide_verdict(replace(plain, verdict="")) == (
        *(plain.verdict, plain.reasons, plain.advice),
    )
    encoded = diagnose_encoded(encode_pair(X, Z), plain.weights, X[:, 0], label_test=test)
    np.testing.assert_equal(vars(encoded), vars(plain))
    other = [xp.asarray(array) for array in (X, Z, X[:, 0])]
    again = cp.diagnose(*other[:2], weights=ratio, losses=other[2], label_test=test)
    np.testing.assert_equal(vars(again), vars(plain))
    thin = cp.diagnose(sparse.csr_array(X), sparse.csr_array(Z), weights=ratio)
    assert thin.n_effective == pytest.approx(plain.n_effective)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (300, 3), (3, 300), (1, 1)])
def test_three_rows_say_nothing_about_a_shift(n, m, rng):
    d = cp.diagnose(
        rng.normal(size=(n, 1)), rng.normal(size=(m, 1)), weights=None, losses=np.ones(n)
    )
    assert d.verdict == "do not trust"
    assert f"{min(n, m)} rows of a sample are too few" in d.shift.words
    said = " ".join([*d.reasons, *d.advice, d.shift.words])
    assert "nan" not in said
    assert "No shift was found" not in said
    assert d.advice[0].startswith("Pass more rows")


X, Z = np.arange(20.0).reshape(10, 2), np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        (X, Z[:0], {}, "`X_target` must have at least 1 row"),
        (X, np.full((2, 2), np.inf), {}, "`X_target` must be finite; 4 of its 4"),
        (X, Z, {"weights": -np.ones(10)}, "`weights` must not be negative"),
        (X, Z, {"losses": np.ones((10, 1))}, r"`losses` must have shape \(10,\).*\(10, 1\)"),
        (X, Z, {"losses": np.r_[np.nan, np.ones(9)]}, "`losses` must be finite; 1 of its 10"),
    ],
)
def test_bad_input_is_named(source, target, options, message):
    with pytest.raises(ValueError, match=message):
        cp.diagnose(source, target, **options)
