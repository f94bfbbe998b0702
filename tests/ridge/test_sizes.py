"""One meaning of the errors at every size: judged row by row, or by sums and a sample of rows."""

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.ridge import cross_validation

ALPHAS = np.logspace(-2, 4, 20)


def sample(n, seed=0, m=500):
    """A heavy but bounded shift: the tail of the weights counts."""
    return cp.datasets.gaussian_2d(0.8).sample(n, m, random_state=seed)


def fit(n, seed=0, alphas=ALPHAS, **options):
    X, y, X_target, _ = sample(n, seed)
    return cp.ShiftRidgeCV(alphas, **{"weights": "gaussian", **options}).fit(
        X, y, X_target=X_target
    )


def test_errors_exist_on_both_sides_of_the_threshold():
    alphas = np.logspace(-3, 6, 200)
    below, above = (fit(n, alphas=alphas).best_risk_ for n in (5200, 5300))
    assert below.tail_error > 0
    assert above.tail_error == pytest.approx(below.tail_error, rel=0.3)
    errors = [
        np.ptp(risk.interval(kind="bootstrap", n_resamples=40)) / 2 for risk in (below, above)
    ]
    # 40 resamples tell a standard error to about 11 percent.
    assert errors[1] == pytest.approx(errors[0], rel=0.5)


@pytest.mark.parametrize("method", ["controlled", "weighted", "normalized"])
def test_a_sample_of_rows_estimates_the_errors_of_all_rows(monkeypatch, method):
    ratios = []
    for seed in range(12):
        rows = fit(3000, seed, alphas=[1.0], method=method).best_risk_
        with monkeypatch.context() as patch:
            patch.setattr(cross_validation, "_MOST_LOSSES", 0)
            patch.setattr(cross_validation, "_SAMPLE_ROWS", (1000, 1000))
            sums = fit(3000, seed, alphas=[1.0], method=method).best_risk_
        errors = [
            risk.resample.standard_error(100, np.random.default_rng(seed)) for risk in (rows, sums)
        ]
        ratios.append([sums.tail_error / rows.tail_error, errors[1] / errors[0]])
    mean, spread = np.mean(ratios, axis=0), np.std(ratios, axis=0, ddof=1) / np.sqrt(12)
    assert np.all(np.abs(mean - 1) < 4 * spread + 0.03), (mean, spread)


def test_all_rows_in_the_sample_give_the_errors_of_rows(monkeypatch):
    rows = fit(700).risk_curve_
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    sums = fit(700).risk_curve_
    np.testing.assert_allclose(sums.tail_error, rows.tail_error, rtol=1e-9)
    want, got = (risk[3].interval(kind="bootstrap", n_resamples=50) for risk in (rows, sums))
    np.testing.assert_allclose(got[1] - got[0], want[1] - want[0], rtol=1e-2)


def test_a_small_target_counts_in_the_bootstrap_whatever_the_sample(monkeypatch):
    # The weights come from 40 target rows: their share of the variance does not shrink with the
    # source rows, and a sample of the source rows must not shrink it either.
    X, y, X_target, _ = sample(4000, m=40)
    model = cp.ShiftRidgeCV([1.0], weights="gaussian", method="normalized")
    rows = model.fit(X, y, X_target=X_target).best_risk_
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    monkeypatch.setattr(cross_validation, "_SAMPLE_ROWS", (400, 400))
    sums = model.fit(X, y, X_target=X_target).best_risk_
    errors = [r.resample.standard_error(300, np.random.default_rng(0)) for r in (rows, sums)]
    assert errors[1] == pytest.approx(errors[0], rel=0.3)
    assert errors[0] > 2 * rows.standard_error


def test_a_sample_keeps_the_cap_of_all_rows(monkeypatch):
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    monkeypatch.setattr(cross_validation, "_SAMPLE_ROWS", (400, 400))
    risk = fit(2500, method="truncated").best_risk_
    assert risk.resample.method.cap == 50.0
    assert risk.method == "truncated"


@pytest.mark.parametrize("repeats", [1, 3])
def test_repeated_splits_have_the_tail_error_of_their_rows(monkeypatch, repeats):
    X, y, X_target, _ = sample(600)
    rows = np.arange(600)
    splits = [(rows[rows % 4 != k], rows[rows % 4 == k]) for k in range(4)] * repeats
    model = cp.ShiftRidgeCV(ALPHAS, weights="gaussian", cv=splits)
    want = model.fit(X, y, X_target=X_target).risk_curve_
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    got = model.fit(X, y, X_target=X_target).risk_curve_
    np.testing.assert_allclose(got.tail_error, want.tail_error, rtol=1e-9)
