"""The synthetic problem's densities, risks and samples, against quadrature and simulation."""

import numpy as np
import pytest
from monte_carlo import matches

from counterpoise.datasets import gaussian_2d

CASES = [(g, p) for p in ("paper", "released") for g in (0.6, 1.0)]


@pytest.fixture(scope="module", params=CASES, ids=[f"{p}-{g}" for g, p in CASES])
def problem(request):
    gamma, protocol = request.param
    return gaussian_2d(gamma, protocol=protocol)


@pytest.fixture(scope="module")
def grid():
    """Points and the area of a cell: the trapezoidal rule converges exponentially here."""
    axis = np.linspace(-12, 12, 481)
    X = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    return X, (axis[1] - axis[0]) ** 2


def features(X):
    x1, x2 = X[..., 0], X[..., 1]
    return [np.ones_like(x1), x1, x2, x1 * x2, x1**2, x2**2, np.tanh(x1 - x2)]


def risk_on(grid, problem, prediction, density, domain):
    """Integrate the squared loss of predictions at the points of the grid."""
    X, area = grid
    positive = problem.posterior(X, domain=domain)
    losses = positive * (prediction - 1) ** 2 + (1 - positive) * (prediction + 1) ** 2
    return np.sum(losses * density) * area


def test_weighted_risk_is_the_target_risk_only_under_covariate_shift(problem, grid):
    X, _ = grid
    rows = grid, problem, np.tanh(-1 - X.sum(axis=-1))
    truth = risk_on(*rows, problem.target_density(X), "target")
    weighted = risk_on(*rows, problem.weights(X) * problem.source_density(X), "source")
    if problem.protocol == "paper":
        np.testing.assert_allclose(weighted, truth, rtol=1e-9)
    else:
        assert abs(weighted - truth) > 0.01


def test_linear_risk_against_the_grid(problem, grid):
    X, _ = grid
    coef, intercept = np.array([-0.4, 0.3]), 0.2
    truth = risk_on(grid, problem, X @ coef + intercept, problem.target_density(X), "target")
    np.testing.assert_allclose(problem.linear_risk(coef, intercept), truth, rtol=1e-9)


def test_no_fit_beats_the_best_linear_predictor(problem):
    _, _, X, y = problem.sample(1, 200_000, random_state=6)
    design = np.column_stack([X, np.ones(len(X))])
    solution = np.linalg.lstsq(design, y, rcond=None)[0]
    best = problem.best_linear()
    matches((X @ best.coef + best.intercept - y) ** 2, best.risk)
    excess = problem.linear_risk(solution[:2], solution[2]) - best.risk
    assert 0 < excess < 50 / len(X)  # of the order of D / n
    np.testing.assert_allclose(solution, [*best.coef, best.intercept], atol=0.01)


@pytest.mark.parametrize("domain", ["source", "target"])
def test_samples_have_the_stated_moments(problem, grid, domain):
    points, area = grid
    sample = problem.sample(200_000, 200_000, random_state=8)
    X, y = getattr(sample, f"X_{domain}"), getattr(sample, f"y_{domain}")
    density = getattr(problem, f"{domain}_density")(points) * area
    posterior = problem.posterior(points, domain=domain)
    for sign, joint in ((1, posterior * density), (-1, (1 - posterior) * density)):
        for truth, terms in zip(features(points), features(X), strict=True):
            matches(terms * (y == sign), np.sum(truth * joint))
