"""Risks, errors and ridge paths against exact rational and 60-digit arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.risk import Controlled, HeldOut, Normalized, Truncated, Weighted, estimate_risk

mp = pytest.importorskip("mpmath")


def weighted(losses, weights):
    return sum(w * x for w, x in zip(weights, losses, strict=True)) / len(losses)


def normalized(losses, weights):
    total = sum(weights) / len(weights)
    return weighted(losses, weights) / total if total > 0 else Fraction(0)  # as documented


def controlled(losses, weights, center=Fraction(1)):
    mean, level = weighted(losses, weights), sum(weights) / len(weights)
    middle = level if center is None else center
    spread = sum((w - 1) * (w - middle) for w in weights)
    if spread == 0:
        return mean
    terms = ((w * x - mean) * (w - 1) for w, x in zip(weights, losses, strict=True))
    return mean - sum(terms) / spread * (level - 1)


METHODS = {
    "weighted": (Weighted(), weighted),
    "normalized": (Normalized(), normalized),
    "truncated": (Truncated(cap=3.0), lambda x, w: weighted(x, [min(v, Fraction(3)) for v in w])),
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
    "losses of 1e-99": lambda rng: (1e-99 * rng.random(8), rng.exponential(size=8)),
    "losses of both signs": lambda rng: (rng.normal(size=8), rng.exponential(size=8)),
    "300 decades": lambda rng: (rng.random(8), np.exp(np.linspace(-690, np.log(7.0), 8))),
    "one weight": lambda rng: (rng.random(7), np.where(np.arange(7) == 2, 7.0, 0.0)),
    "nearly one weight": lambda rng: (rng.random(7), np.where(np.arange(7) == 2, 6.9, 1e-9)),
    "constant loss": lambda rng: (np.full(8, 2.5), rng.exponential(size=8)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", METHODS)
def test_value_and_standard_error(case, name):
    if (case, name) == ("300 decades", "sample"):
        pytest.skip("without its largest weight the others are equal to rounding: beta is 0")
    losses, weights = CASES[case](np.random.default_rng(3))
    method, formula = METHODS[name]
    rational = [[Fraction(float(x)) for x in values] for values in (losses, weights)]
    want = formula(*rational)
    if want < 0 and losses.min() >= 0:  # outside the range of the losses
        formula, want = normalized, normalized(*rational)
    risk, _ = estimate_risk(HeldOut.of_sample(losses, weights), method)
    size = max(abs(x) for x in rational[0]) * max(1, max(rational[1]))
    assert abs(Fraction(risk.value) - want) <= size * Fraction(1, 10**13)
    square = jackknife(formula, *rational)
    error = float(mp.sqrt(mp.mpf(square.numerator) / mp.mpf(square.denominator)))
    assert risk.standard_error == pytest.approx(error, rel=1e-9, abs=1e-13 * float(size))


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("alpha", [1e-180, 1e-8, 1.0, 1e8, 1e180])
def test_ridge_path_with_huge_and_tiny_penalties(scale, alpha):
    """60 digits, by the normal equations: penalties relative to the squared scale of X."""
    rng = np.random.default_rng(4)
    X, w = rng.normal(size=(12, 3)), rng.exponential(size=12)
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=12)
    model = cp.ShiftRidgeCV([alpha * scale**2], weights=w, cv=3).fit(scale * X, y)
    with mp.workdps(60):
        A, W, b = mp.matrix((scale * X).tolist()), mp.diag(w.tolist()), mp.matrix(y.tolist())
        ones = mp.ones(12, 1)
        centre = mp.eye(12) - ones * ones.T * W / sum(w.tolist(), mp.mpf(0))
        A, b = centre * A, centre * b
        gram = A.T * W * A + mp.mpf(alpha * scale**2) * mp.eye(3)
        want = [float(c * scale) for c in mp.lu_solve(gram, A.T * W * b)]
    np.testing.assert_allclose(model.coef_ * scale, want, rtol=1e-11, atol=1e-300)
