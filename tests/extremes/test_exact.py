"""Risks, errors and ridge paths against exact rational and 60-digit arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.risk import Controlled, Normalized, Truncated, Weighted

mp = pytest.importorskip("mpmath")


def exact_sums(losses, weights):
    n = len(losses)
    wl = [w * x for w, x in zip(weights, losses, strict=True)]
    return n, sum(wl) / n, sum(weights) / n, wl


def weighted(losses, weights):
    return exact_sums(losses, weights)[1]


def normalized(losses, weights):
    _, mean, level, _ = exact_sums(losses, weights)
    return mean / level if level > 0 else Fraction(0)  # as documented


def controlled(losses, weights, center=Fraction(1)):
    _, mean, level, wl = exact_sums(losses, weights)
    middle = level if center is None else center
    spread = sum((w - 1) * (w - middle) for w in weights)
    if spread == 0:
        return mean
    beta = sum((t - mean) * (w - 1) for t, w in zip(wl, weights, strict=True)) / spread
    return mean - beta * (level - 1)


def truncated(losses, weights):
    return weighted(losses, [min(w, Fraction(3)) for w in weights])


METHODS = {
    "weighted": (Weighted(), weighted),
    "normalized": (Normalized(), normalized),
    "truncated": (Truncated(cap=3.0), truncated),
    "controlled": (Controlled(), controlled),
    "sample": (Controlled(center="sample"), lambda x, w: controlled(x, w, None)),
}


def jackknife(estimate, losses, weights):
    """Square of the standard error, exactly."""
    n = len(losses)
    left = [
        estimate(losses[:i] + losses[i + 1 :], weights[:i] + weights[i + 1 :]) for i in range(n)
    ]
    mean = sum(left) / n
    return Fraction(n - 1, n) * sum((x - mean) ** 2 for x in left)


CASES = {
    "ordinary": lambda rng: (rng.exponential(size=9), rng.exponential(size=9)),
    "n = 2": lambda rng: (rng.exponential(size=2), rng.exponential(size=2)),
    "n = 3": lambda rng: (rng.exponential(size=3), rng.exponential(size=3)),
    "losses of 1e149": lambda rng: (1e149 * rng.random(8), rng.exponential(size=8)),
    "losses of 1e-300": lambda rng: (1e-300 * rng.random(8), rng.exponential(size=8)),
    "losses of both signs": lambda rng: (rng.normal(size=8), rng.exponential(size=8)),
    "weights over 300 decades": lambda rng: (
        rng.random(8),
        np.exp(np.linspace(-690, np.log(7.0), 8)),
    ),
    "one weight": lambda rng: (rng.random(7), np.where(np.arange(7) == 2, 7.0, 0.0)),
    "nearly one weight": lambda rng: (rng.random(7), np.where(np.arange(7) == 2, 6.9, 1e-9)),
    "constant loss": lambda rng: (np.full(8, 2.5), rng.exponential(size=8)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", METHODS)
def test_value_and_standard_error(case, name):
    if (case, name) == ("weights over 300 decades", "sample"):
        pytest.skip("without its largest weight the others are equal to rounding: beta is 0")
    losses, weights = CASES[case](np.random.default_rng(3))
    method, formula = METHODS[name]
    rational = [[Fraction(float(x)) for x in values] for values in (losses, weights)]
    want = formula(*rational)
    risk = cp.target_risk(losses, weights, method=method)
    size = max(abs(x) for x in rational[0]) * max(1, max(rational[1]))
    if not risk.constrained:
        assert abs(Fraction(risk.value) - want) <= size * Fraction(1, 10**13)
        error = mp.sqrt(mp.mpf(0) + _mp(jackknife(formula, *rational)))
        assert risk.standard_error == pytest.approx(float(error), rel=1e-9, abs=1e-13 * float(size))
    else:  # below the range of the losses: the self-normalised mean replaces it
        assert want < 0
        assert risk.value == pytest.approx(float(normalized(*rational)), rel=1e-12)


def _mp(fraction):
    return mp.mpf(fraction.numerator) / mp.mpf(fraction.denominator)


def test_the_dominating_rows_are_counted_exactly():
    """(sum t^2)^2 / sum t^4 of the terms of the controlled estimate."""
    losses, weights = CASES["ordinary"](np.random.default_rng(5))
    x, w = ([Fraction(float(v)) for v in values] for values in (losses, weights))
    risk = cp.target_risk(losses, weights)
    _, mean, level, wl = exact_sums(x, w)
    spread = sum((v - 1) ** 2 for v in w)
    beta = sum((t - mean) * (v - 1) for t, v in zip(wl, w, strict=True)) / spread
    value = mean - beta * (level - 1)
    terms = [v * (t - beta) - (value - beta) for t, v in zip(x, w, strict=True)]
    count = sum(t**2 for t in terms) ** 2 / sum(t**4 for t in terms)
    most = float(min(sum(w) ** 2 / sum(v**2 for v in w) - 1, count))
    assert risk.degrees_of_freedom == pytest.approx(max(1.0, most), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-60, 1e-8, 1.0, 1e8, 1e60])
@pytest.mark.parametrize("alpha", [1e-250, 1e-8, 1.0, 1e8, 1e250])
def test_ridge_path_with_huge_and_tiny_penalties(scale, alpha):
    """60 digits, by the normal equations: penalties relative to the squared scale of X."""
    rng = np.random.default_rng(4)
    X, w = rng.normal(size=(12, 3)), rng.exponential(size=12)
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=12)
    penalty = alpha * scale**2
    if not 1e-300 < penalty < 1e300:
        pytest.skip("the penalty is no floating number")
    model = cp.ShiftRidgeCV([penalty], weights=w, cv=3).fit(scale * X, y)
    with mp.workdps(60):
        A = mp.matrix((scale * X).tolist())
        W, b = [mp.mpf(v) for v in w], [mp.mpf(v) for v in y]
        total = sum(W)
        level = sum(u * v for u, v in zip(W, b, strict=True)) / total
        mean = [sum(W[i] * A[i, j] for i in range(12)) / total for j in range(3)]
        C = mp.matrix(12, 3)
        for i in range(12):
            for j in range(3):
                C[i, j] = A[i, j] - mean[j]
        gram = mp.matrix(3, 3)
        right = mp.matrix(3, 1)
        for j in range(3):
            right[j] = sum(W[i] * C[i, j] * (b[i] - level) for i in range(12))
            for k in range(3):
                gram[j, k] = sum(W[i] * C[i, j] * C[i, k] for i in range(12))
            gram[j, j] += mp.mpf(penalty)
        coef = mp.lu_solve(gram, right)
        want = [float(c * scale) for c in coef]
    np.testing.assert_allclose(model.coef_ * scale, want, rtol=1e-11, atol=1e-300)
