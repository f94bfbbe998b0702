"""One answer: the ridge path, cross_val_risk and the search, by rows and by blocks."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

import counterpoise as cp
from counterpoise.ridge import cross_validation

ALPHAS = [0.1, 3.0, 100.0]
# A shifted problem with heavy losses: the weights' tail counts.
RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 3))
y = 20.0 + X @ [1.0, -1.0, 0.5] + (1 + X[:, 0] ** 2) * RNG.normal(size=300)
Z, drawn = RNG.normal(0.4, 1.1, size=(250, 3)), RNG.exponential(size=300)
METHODS = [
    *("source", "weighted", "normalized", "truncated", "controlled"),
    *("moment_controlled", "doubly_robust", "shrunk", "pareto_smoothed"),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("cv", [KFold(5), RepeatedKFold(n_splits=4, n_repeats=2, random_state=0)])
def test_three_ways_to_a_ridge_give_one_risk(same_risk, method, cv):
    """ShiftRidgeCV said 0.864 to 1.415 where the others said 0.824 to 1.484."""
    options = {"weights": "gaussian", "method": method, "cv": cv}
    ridge = cp.ShiftRidgeCV(ALPHAS, **options).fit(X, y, X_target=Z)
    search = cp.ShiftGridSearchCV(
        Ridge(), {"alpha": ALPHAS}, fit_weighted=True, selection="target", **options
    ).fit(X, y, X_target=Z)
    same_risk(ridge.risk_curve_, search.risk_)
    same_risk(ridge.best_risk_, search.best_risk_)
    assert ridge.alpha_ == search.best_params_["alpha"]
    if isinstance(cp.risk.get_method(method), cp.risk.Adjustment):
        return  # its regression on the features has one penalty for all candidates
    for i, alpha in enumerate(ALPHAS):
        alone = cp.cross_val_risk(Ridge(alpha=alpha), X, y, Z, fit_weighted=True, **options)
        same_risk(ridge.risk_curve_[i], alone)


@pytest.mark.parametrize("weights", ["given", None])
@pytest.mark.parametrize("columns", [3, 400])  # the second takes the dual
def test_given_weights_and_none_agree_too(same_risk, weights, columns):
    own = np.random.default_rng(0).normal(size=(300, columns)) if columns > 300 else X
    given = drawn if weights == "given" else None
    ridge = cp.ShiftRidgeCV(ALPHAS, weights=given).fit(own, y)
    options = {"weights": given, "fit_weighted": given is not None}
    alone = cp.cross_val_risk(Ridge(alpha=3.0), own, y, **options)
    same_risk(ridge.risk_curve_[1], alone)


@pytest.mark.parametrize("method", ["source", "normalized", "truncated", "controlled"])
@pytest.mark.parametrize("weights", ["gaussian", None])
def test_blocks_of_single_rows_are_rows(same_risk, monkeypatch, method, weights):
    """With as many blocks as rows the two routes are one, down to the errors."""
    model = cp.ShiftRidgeCV(ALPHAS, weights=weights, method=method)
    want = model.fit(X[:40], y[:40], X_target=Z).risk_curve_
    monkeypatch.setattr(cross_validation, "few_rows", lambda *_: False)
    monkeypatch.setattr(
        "counterpoise.ridge.block_sums.block_numbers", lambda rows, count: rows % count
    )
    same_risk(model.fit(X[:40], y[:40], X_target=Z).risk_curve_, want, rtol=1e-7)


@pytest.mark.parametrize("method", ["weighted", "controlled"])
def test_the_jackknife_of_blocks_is_close_to_that_of_rows(method, request):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(6000, 2)), rng.normal(0.3, 1, size=(4000, 2))
    X = X[np.argsort(X[:, 0])]
    y = X[:, 0] + rng.normal(size=6000)
    model = cp.ShiftRidgeCV(ALPHAS, weights="gaussian", method=method)
    rows = model.fit(X, y, X_target=Z).risk_curve_
    given = cp.ShiftRidgeCV(ALPHAS, weights=model.weights_, method=method).fit(X, y).risk_curve_
    request.getfixturevalue("many")
    blocks = model.fit(X, y, X_target=Z).risk_curve_
    np.testing.assert_allclose(blocks.value, rows.value, rtol=1e-9)
    np.testing.assert_allclose(blocks.drift, rows.drift, rtol=1e-9)
    np.testing.assert_allclose(blocks.n_effective, rows.n_effective, rtol=1e-9)
    low, high = (np.log(np.asarray(risk.interval())) for risk in (rows, blocks))
    np.testing.assert_allclose(high[1] - high[0], low[1] - low[0], rtol=0.15)
    # A variance from 100 blocks has a relative error of about sqrt(2 / 95) = 0.145.
    again = cp.ShiftRidgeCV(ALPHAS, weights=model.weights_, method=method).fit(X, y).risk_curve_
    ratio = (again.standard_error / given.standard_error) ** 2
    assert np.all(np.abs(ratio - 1) < 4 * np.sqrt(2 / 95))


def test_a_sample_of_rows_tells_the_tail_of_all(monkeypatch, many):
    """The tail error comes from the sampled rows' mean squared loss."""
    problem, ratios = cp.datasets.gaussian_2d(0.8), []
    for seed in range(12):
        X, y, Z, _ = problem.sample(3000, 500, random_state=seed)
        model = cp.ShiftRidgeCV([1.0], weights="gaussian")
        whole = model.fit(X, y, X_target=Z).best_risk_
        with monkeypatch.context() as patch:
            patch.setattr(cross_validation, "_SAMPLE_ROWS", (600, 600))
            some = model.fit(X, y, X_target=Z).best_risk_
        ratios.append(some.standard_error / whole.standard_error)
    error = np.std(ratios, ddof=1) / np.sqrt(12)
    assert 0 < error < 0.1
    assert abs(np.mean(ratios) - 1) < 4 * error + 0.02


def test_splits_that_repeat_rows_and_too_many_losses(same_risk, monkeypatch, many):
    cv = ShuffleSplit(3, test_size=0.4, random_state=0)
    model = cp.ShiftRidgeCV(ALPHAS, weights=drawn, cv=cv).fit(X, y)
    alone = cp.cross_val_risk(Ridge(3.0), X, y, weights=drawn, fit_weighted=True, cv=cv)
    same_risk(model.risk_curve_[1], alone)
    monkeypatch.setattr(cross_validation, "_MOST_ROW_LOSSES", 1000)
    with pytest.raises(ValueError, match="needs the loss of every row under every penalty"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="`method` 'shrunk' with this `cv` needs the loss"):
        cp.ShiftRidgeCV(weights=drawn, method="shrunk").fit(X, y)
