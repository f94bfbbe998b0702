"""The batched engine against a plain loop over the public estimators, on the same data."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from counterpoise import ShiftRidgeClassifierCV, _linalg
from counterpoise._arrays import to_numpy
from counterpoise._linalg import small_eigh
from counterpoise.datasets import gaussian_2d
from counterpoise.datasets.ozone import load_ozone
from counterpoise.experiments import engine
from counterpoise.experiments.engine import analyse, fixed_index, source_weights
from counterpoise.experiments.problems import draw_ozone, draw_synthetic, fold_masks, ozone_arrays
from counterpoise.experiments.protocols import METHODS, PROTOCOLS
from counterpoise.ridge.row_losses import ridge_held_out, ridge_refit
from counterpoise.weights import KMM, GaussianRatio
from counterpoise.weights.kliep import fit_kliep

OZONE = Path(__file__).parents[2].parent / "shared" / "data" / "eighthr.data"
REPETITIONS = 50


def loop_weights(kind, X, Z):
    """Weights of one data set, by the estimator that a user would take."""
    if kind == "gaussian":
        plain = GaussianRatio(regularization=0, normalize=False, standardize=False)
        return plain.fit(X, Z).weights_
    if kind == "kmm":
        return KMM(width="knn", regularization=0).fit(X, Z).weights_
    return fit_kliep(X, Z, width="knn", centers=Z[:100]).weights


def loop(batch, u, alphas, kind):
    """Run the experiment with one `ShiftRidgeClassifierCV` per data set and method."""
    results = []
    for r in range(len(batch.X)):
        X, y = batch.X[r], batch.y[r]
        Z = batch.X_target if batch.X_target.ndim == 2 else batch.X_target[r]
        labels = u if u.ndim == 1 else u[r]
        masks = batch.masks if batch.masks.ndim == 2 else batch.masks[r]
        cv = [(np.flatnonzero(m == 0), np.flatnonzero(m)) for m in masks if m.any()]
        w = loop_weights(kind, X, Z)
        row = {"weight_variance": w.var(ddof=1)}
        for name, method in [*METHODS.items(), ("unweighted", "source")]:
            model = ShiftRidgeClassifierCV(
                alphas,
                cv=cv,
                weights=None if name == "unweighted" else w,
                method=method,
                penalize_intercept=True,
            ).fit(X, y)
            row[f"choice_{name}"] = model.best_index_
            row[f"estimate_{name}"] = model.best_risk_.value
            row[f"risk_{name}"] = np.mean((model.decision_function(Z) - labels) ** 2)
            if name != "unweighted":
                row[f"fixed_{name}"] = model.risk_curve_.value[fixed_index(alphas)]
        coef, level = ridge_refit(X, y[:, None], w, alphas, intercept="penalized")
        risks = np.mean((Z @ coef[:, 0].T + level[:, 0] - labels[:, None]) ** 2, axis=0)
        row["choice_oracle"], row["risk_oracle"] = np.argmin(risks), np.min(risks)
        row["fixed_truth"] = sum(
            len(test) / len(y) * fold_risk(X, y, w, train, alphas, Z, labels) for train, test in cv
        )
        results.append(row)
    return {key: np.array([row[key] for row in results]) for key in results[0]}


def fold_risk(X, y, w, train, alphas, Z, labels):
    one = alphas[[fixed_index(alphas)]]
    coef, level = ridge_refit(X[train], y[train, None], w[train], one, intercept="penalized")
    return np.mean((Z @ coef[0, 0] + level[0, 0] - labels) ** 2)


def draw(problem, protocol):
    """A batch, and the labels of its target (which the engine only has as moments)."""
    rules = PROTOCOLS[protocol]
    if problem == "synthetic":
        batch = draw_synthetic(rules, 0.6, np.random.default_rng(7), REPETITIONS)
        data = gaussian_2d(0.6, protocol=protocol).sample(repetitions=REPETITIONS, random_state=7)
        assert np.array_equal(data.X_source, batch.X)
        return batch, data.y_target, rules
    if not OZONE.exists():
        pytest.skip("the ozone data is not here")
    arrays = ozone_arrays(rules, load_ozone(OZONE))
    return draw_ozone(rules, 0.6, arrays, np.random.default_rng(7), REPETITIONS), arrays[1], rules


@pytest.mark.parametrize(
    ("problem", "weights", "protocol"),
    [
        ("synthetic", "gaussian", "paper"),
        ("synthetic", "gaussian", "released"),
        ("synthetic", "kmm", "paper"),
        ("synthetic", "kliep", "paper"),
        ("ozone", "gaussian", "paper"),
        ("ozone", "gaussian", "released"),
    ],
)
def test_engine_and_loop_over_the_estimator_agree(problem, weights, protocol):
    batch, labels, rules = draw(problem, protocol)
    alphas = rules.grid(problem)
    engine = analyse(batch, alphas, weights=weights)
    for key, want in loop(batch, labels, alphas, weights).items():
        if key.startswith("choice"):
            assert np.array_equal(engine[key], want), key
        else:
            np.testing.assert_allclose(engine[key], want, rtol=1e-8, atol=1e-8, err_msg=key)


def test_equal_folds_are_equal_and_random_folds_are_not():
    rng = np.random.default_rng(0)
    blocks = fold_masks(rng, PROTOCOLS["paper"], 3, 50, shuffled=False)
    assert blocks.sum(axis=-1).tolist() == [10.0] * 5
    shuffled = fold_masks(rng, PROTOCOLS["paper"], 3, 80, shuffled=True)
    assert shuffled.shape == (3, 5, 80)
    assert np.all(shuffled.sum(axis=-1) == 16)
    assert np.all(shuffled.sum(axis=-2) == 1)
    released = fold_masks(rng, PROTOCOLS["released"], 200, 50, shuffled=False)
    assert np.all(released.sum(axis=-2) == 1)
    assert len(np.unique(released.sum(axis=-1))) > 5


def test_an_empty_fold_counts_for_nothing():
    batch, _, rules = draw("synthetic", "paper")
    alphas = rules.grid("synthetic")[::20]
    with_empty = np.concatenate([batch.masks, np.zeros((1, 50))])
    results = analyse(replace(batch, masks=with_empty), alphas, released_beta=True)
    for key, want in analyse(batch, alphas, released_beta=True).items():
        np.testing.assert_allclose(results[key], want, rtol=1e-9, err_msg=key)


def test_released_beta_is_the_outer_product_formula():
    batch, _, rules = draw("synthetic", "released")
    alphas = rules.grid("synthetic")[::20]
    engine = analyse(batch, alphas, released_beta=True)
    w = source_weights(batch, "gaussian")
    for r in range(5):
        folds = [(np.flatnonzero(m == 0), np.flatnonzero(m)) for m in batch.masks[r]]
        found = ridge_held_out(
            batch.X[r], batch.y[r][:, None], w[r], folds, alphas, intercept="penalized"
        )
        risk = np.zeros(len(alphas))
        for part in found.folds:
            v, fold_losses = found.weights[part], found.losses[:, part]
            covariance = np.mean((fold_losses - fold_losses.mean(-1)[:, None]) * (v - v.mean()), -1)
            beta = v * (covariance / v.var())[:, None]
            risk += np.sum(v * fold_losses - beta * (v - 1), axis=-1) / 50
        assert engine["choice_released_beta"][r] == np.argmin(risk)
        assert engine["estimate_released_beta"][r] == pytest.approx(risk.min(), rel=1e-9)


@pytest.mark.parametrize("D", [0, 2, 10])
def test_risks_are_sums_of_squared_residuals_in_every_array_library(xp, rng, D, monkeypatch):
    monkeypatch.setattr(engine, "_CACHED", 200)  # several portions
    R, K, m, M, alphas = 7, 3, 5, 2, np.logspace(-3, 3, 9)
    train, rows = rng.normal(size=(R, K + 1, 20, D + 2)), rng.normal(size=(R, K, m, D + 2))
    train[..., D], coefficients = 1.0, rng.normal(size=(R, M, K * m))
    moments = np.swapaxes(train, -1, -2) @ train
    gram = moments[..., None, :-1, :-1] + alphas[:, None, None] * np.eye(D + 1)
    theta = np.linalg.solve(gram, moments[..., None, :-1, -1:])[:, 1:, :, :, 0]
    residuals = rows[..., :-1] @ np.swapaxes(theta, -1, -2) - rows[..., -1:]
    want = coefficients @ (residuals**2).reshape(R, K * m, -1)
    paths = engine.RidgePaths.of(xp.asarray(moments))
    got = paths.risks(slice(1, K + 1), *map(xp.asarray, (rows, coefficients, alphas)))
    np.testing.assert_allclose(to_numpy(got), want, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 6, 7])
def test_eigenvectors_of_small_matrices_are_those_of_lapack(xp, rng, d):
    rows = rng.normal(size=(2, 50, d + 1, d)) * 10.0 ** rng.integers(-4, 5, size=(2, 50, 1, 1))
    matrices = np.swapaxes(rows, -1, -2) @ rows
    matrices[0, :3] = [np.zeros((d, d)), np.eye(d), np.ones((d, d))]  # with equal eigenvalues
    values, vectors = map(to_numpy, small_eigh(xp.asarray(matrices)))
    scale = np.max(np.abs(matrices), axis=(-1, -2), initial=1e-300)[..., None]
    want = np.linalg.eigvalsh(matrices)
    assert np.all(np.abs(np.sort(values) - want) <= 1e-13 * scale)
    turned = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    assert np.all(np.abs(turned - matrices) <= 1e-13 * scale[..., None])
    np.testing.assert_allclose(
        vectors @ np.swapaxes(vectors, -1, -2), np.eye(d) + 0 * matrices, atol=1e-13
    )


def test_an_accelerator_decomposes_a_few_matrices_at_a_time(rng, monkeypatch):
    monkeypatch.setattr(_linalg, "on_cpu", lambda array: False)
    monkeypatch.setattr(_linalg, "_EIGEN_BATCH", 4)
    rows = rng.normal(size=(2, 5, 9, 7))
    matrices = np.swapaxes(rows, -1, -2) @ rows
    values, vectors = small_eigh(matrices)
    turned = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    np.testing.assert_allclose(turned, matrices, atol=1e-11)
