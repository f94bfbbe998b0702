"""Kernel mean matching: optimality without a solver, against a solver, and edge cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpoise.weights._convex import box_qp, interior_point, problem
from counterpoise.weights._convex.box_qp import QPSolution, solve_box_qp
from counterpoise.weights._convex.problem import Constraints, Dense, LowRank, Problem
from counterpoise.weights._kernels import gaussian_kernel, kernel_mean
from counterpoise.weights.kmm import KMM, kernel_mean_matching, mean_constraints, pivoted_cholesky

WIDTHS = [0.15, 0.5, 1.7, 5.0]  # from nearly diagonal kernel matrices to numerically rank 10


def samples(rng, n=50, m=200, batch=(), gamma=0.7, features=2):
    X_source = rng.normal(size=(*batch, n, features)) * math.sqrt(gamma)
    X_source[..., 0] -= 1
    return X_source, rng.normal(size=(*batch, m, features))


def matrices(rng, n=50, m=200, batch=(), width=0.5, **options):
    X_source, X_target = samples(rng, n, m, batch, **options)
    return gaussian_kernel(X_source, X_source, width), n * kernel_mean(X_source, X_target, width)


def kmm_weights(K, kappa, *, bound=1000.0, tolerance=None, **options):
    """Solve the programme for matrices K (..., n, n) and kappa (..., n)."""
    n, batch = kappa.shape[-1], kappa.shape[:-1]
    constraints = mean_constraints(n, bound, tolerance)
    K, kappa = K.reshape(-1, n, n), kappa.reshape(-1, n)
    solution = solve_box_qp(Dense(K), kappa, constraints, **options)
    return QPSolution(*(v.reshape((*batch, *v.shape[1:])) for v in solution))


def largest_kkt_violation(K, kappa, solution, bound, tolerance):
    """How far one solution is from the Karush-Kuhn-Tucker conditions, relative to max kappa.

    Feasibility, stationarity split by the bound that each weight touches, sign and
    complementarity of the multiplier of the mean.
    """
    n = kappa.shape[-1]
    w, nu = solution.weights, float(solution.multiplier)
    slope = K @ w - kappa + nu
    level = np.max(kappa)
    mean = float(np.mean(w))
    violations = [np.max(-w), np.max(w - bound), abs(mean - 1) - tolerance]
    # w * slope is 0 unless the slope pushes into the lower bound, and likewise above.
    violations.append(np.max(np.minimum(np.maximum(slope, 0) / level, w)))
    violations.append(np.max(np.minimum(np.maximum(-slope, 0) / level, bound - w)))
    violations.append(min(max(nu, 0) / level, 1 + tolerance - mean))
    violations.append(min(max(-nu, 0) / level, mean - 1 + tolerance))
    assert w.shape == (n,)
    return max(violations)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("tolerance", [0.0, 0.1, 0.8])
@pytest.mark.parametrize("bound", [math.inf, 2.5])
def test_optimality_conditions_hold(rng, monkeypatch, width, tolerance, bound):
    K, kappa = matrices(rng, batch=(2,), width=width)
    batch = kmm_weights(K, kappa, bound=bound, tolerance=tolerance)
    assert np.all(batch.gap <= 1e-9)
    monkeypatch.setattr(problem, "_GAP", 1e-12)
    for i in range(2):
        one = kmm_weights(K[i], kappa[i], bound=bound, tolerance=tolerance)
        # A product of weight and slope of 1e-12 leaves the smaller of them below 1e-5 or so.
        assert largest_kkt_violation(K[i], kappa[i], one, bound, tolerance) < 1e-5
        mean = np.mean(batch.weights[i])
        assert abs(mean - 1) <= tolerance + 1e-12
        assert np.min(batch.weights[i]) >= 0
        assert np.max(batch.weights[i]) <= bound


def test_gap_bounds_the_true_distance_to_the_optimum(rng, monkeypatch):
    K, kappa = matrices(rng, n=30)
    monkeypatch.setattr(problem, "_GAP", 1e-12)
    best = kmm_weights(K, kappa, tolerance=0.2)
    stated = Problem(Constraints(1000.0, 30 * 0.8, 30 * 1.2), kappa)
    for _ in range(20):
        w = rng.exponential(size=30)
        w /= w.mean()
        scale = 0.5 * w @ K @ w + kappa @ w
        objective = 0.5 * w @ K @ w - kappa @ w
        gap = stated.relative_gap(w[None], (K @ w)[None], kappa[None])[0]
        assert objective - best.objective <= gap * scale
    bounded = Problem(Constraints(2.5, 4.0, 4.0), kappa)
    feasible = bounded.feasible(np.array([[1.0, 4.0, -1.0, 1.5]]))
    np.testing.assert_allclose(feasible, [[0.8, 2.0, 0.0, 1.2]])


@pytest.mark.parametrize("bound", [1000.0, 1.2])
def test_active_set_alone_solves_narrow_kernels(rng, monkeypatch, bound):
    K, kappa = matrices(rng, batch=(30,), width=0.1)

    def refuse(*args):
        raise AssertionError("the interior point method was needed")

    monkeypatch.setattr(box_qp, "interior_point", refuse)
    found = kmm_weights(K, kappa, bound=bound, tolerance=0.1)
    assert np.all(found.gap <= 1e-9)
    assert np.any(found.weights == 0)
    assert bound == 1000.0 or np.any(found.weights == bound)


# A fault in a step leaves the solution where it is, but more systems are solved to get there.
@pytest.mark.parametrize(
    ("bound", "tolerance", "interior", "active"),
    [
        (math.inf, 0.0, 415, 113),
        (math.inf, 0.1, 426, 117),
        (2.5, 0.0, 352, 172),
        (2.5, 0.1, 354, 167),
    ],
)
def test_few_systems_are_solved(monkeypatch, bound, tolerance, interior, active):
    K, kappa = matrices(np.random.default_rng(0), batch=(40,), width=np.repeat(WIDTHS, 10))
    systems = []

    def count(owner, name):
        solve = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a: systems.append(len(a[2])) or solve(*a))

    count(box_qp, "_solve_free")
    ridge = 0.1 * np.eye(50)
    kmm_weights(K + ridge, kappa + 0.1, bound=bound, tolerance=tolerance, penalised=True)
    assert sum(systems) <= 1.03 * active
    systems.clear()
    count(interior_point._Box, "step")
    monkeypatch.setattr(box_qp, "_active_set", lambda problem, K, kappa, index, *rest: index)
    assert np.all(kmm_weights(K, kappa, bound=bound, tolerance=tolerance).gap <= 1e-9)
    assert sum(systems) <= 1.03 * interior


def test_no_problem_cycles():
    # With the full second-order correction alone, number 47 of these never gets there.
    K, kappa = matrices(np.random.default_rng(29), m=100, batch=(100,), width=4.0)
    assert np.all(kmm_weights(K, kappa, tolerance=0.1).gap <= 1e-9)


def test_batch_equals_loop_whatever_finishes_when(rng):
    # Narrow and wide kernels in one batch leave it at different iterations.
    X_source, X_target = samples(rng, n=20, m=60, batch=(2, 4))
    widths = np.asarray([[0.1, 0.3, 1.0, 3.0], [5.0, 0.2, 2.0, 0.5]])
    batch = kernel_mean_matching(X_source, X_target, width=widths)
    assert batch.weights.shape == (2, 4, 20)
    for i in np.ndindex(2, 4):
        single = kernel_mean_matching(X_source[i], X_target[i], width=widths[i])
        np.testing.assert_allclose(batch.objective[i], single.objective, rtol=1e-9)
        np.testing.assert_allclose(batch.gap[i], single.gap, atol=1e-9)
        np.testing.assert_allclose(batch.weights[i], single.weights, atol=1e-6)


def test_libraries_and_dtypes_agree(xp, rng):
    X_source, X_target = samples(rng, n=15, m=30, batch=(3,))
    widths = [0.2, 0.6, 2.0]
    expected = kernel_mean_matching(X_source, X_target, width=np.asarray(widths))
    for dtype, tolerance in ((xp.float64, 1e-8), (xp.float32, 2e-4)):
        arrays = (xp.asarray(X, dtype=dtype) for X in (X_source, X_target))
        found = kernel_mean_matching(*arrays, width=xp.asarray(widths, dtype=dtype))
        assert found.weights.dtype == dtype
        scale = np.max(np.abs(expected.objective))
        np.testing.assert_allclose(
            np.asarray(found.objective), expected.objective, atol=tolerance * scale
        )


def test_kappa_counts_both_sample_sizes(rng):
    # The unconstrained optimum of far apart source points: w_i = n/m sum_j k(x_i, z_j).
    X_source = np.asarray([[0.0], [100.0]])
    X_target = np.asarray([[0.0], [0.0], [100.0]])
    found = kernel_mean_matching(X_source, X_target, width=1.0)
    np.testing.assert_allclose(found.weights, [4 / 3, 2 / 3], rtol=1e-11)
    np.testing.assert_allclose(found.objective, -(16 + 4) / 18, rtol=1e-11)


def test_disjoint_supports_warn_at_low_rank_and_in_a_batch(rng):
    X = rng.normal(size=(30, 2))
    with pytest.warns(RuntimeWarning, match="hardly overlap.*cp.diagnose says how far"):
        kmm = KMM(rank=5).fit(X, X + 60.0)
    assert np.all(np.isfinite(kmm.weights_))
    with pytest.warns(RuntimeWarning, match="in 1 of 2 data sets"):
        kernel_mean_matching(np.stack([X, X]), np.stack([X, X + 60.0]), width=1.0)


def test_unsolved_problems_are_reported(rng, monkeypatch):
    monkeypatch.setattr(interior_point, "_MOST_ITERATIONS", 2)
    with pytest.warns(RuntimeWarning, match="not solved"):
        unsolved = kernel_mean_matching(*samples(rng), width=3.0)
    assert unsolved.gap > 1e-6
    assert abs(np.mean(unsolved.weights) - 1) < 1


def test_a_low_rank_form_is_not_for_batches(rng):
    with pytest.raises(ValueError, match="`rank` must be None for a batch"):
        kernel_mean_matching(*samples(rng, n=10, m=10, batch=(2,)), rank=3)


def test_pivoted_cholesky_is_below_the_matrix_and_exact_at_full_rank(xp, rng):
    X = rng.normal(size=(30, 2))

    def factor(X, rank):
        K = xp.asarray(gaussian_kernel(X, X, 0.5))
        found = pivoted_cholesky(lambda i: K[:, i], xp.linalg.diagonal(K), rank, 1e-12)
        return np.asarray(K), np.asarray(found[0]), np.asarray(found[1]), found[2]

    K, half, left_over, pivots = factor(X, 10)
    rest = K - half @ half.T
    assert np.min(np.linalg.eigvalsh(rest)) > -1e-12
    np.testing.assert_allclose(np.diagonal(rest), left_over, atol=1e-12)
    # In the order of the pivots it is the Cholesky factor.
    exact = np.linalg.cholesky(K[np.ix_(pivots, pivots)])
    np.testing.assert_allclose(half[pivots], exact, atol=1e-10)
    K, full, _, _ = factor(X, 30)
    np.testing.assert_allclose(full @ full.T, K, atol=1e-10)
    # Ends early once everything is explained: three distinct points have rank three.
    assert factor(np.repeat(X[:3], 5, axis=0), 10)[1].shape == (15, 3)


@pytest.mark.parametrize(("width", "form"), [(30.0, LowRank), (0.1, Dense)])
def test_a_matrix_is_factorised_only_where_that_is_exact(rng, width, form):
    X = rng.normal(size=(60, 1))
    K = Dense(np.exp(-((X - X.T) ** 2) / (2 * width**2))[None])
    found, w = K.low_rank(1e-9), rng.random((1, 60))
    assert type(found) is form
    np.testing.assert_allclose(found.times(w), K.times(w), atol=1e-6)


def test_low_rank_operator_equals_its_dense_form(rng):
    F, d = rng.normal(size=(1, 12, 3)), rng.uniform(0.1, 1, size=(1, 12))
    dense = Dense(F @ np.swapaxes(F, -1, -2) + np.eye(12) * d[..., None])
    low = LowRank(F, d)
    w, shift, b = rng.normal(size=(1, 12)), rng.uniform(1, 2, (1, 12)), rng.normal(size=(1, 12, 2))
    np.testing.assert_allclose(low.times(w), dense.times(w), rtol=1e-10)
    np.testing.assert_allclose(
        low.plus_diagonal(shift)(b), dense.plus_diagonal(shift)(b), rtol=1e-8
    )
    free = np.asarray([[1.0, 0.0] * 6])
    for change in (0, 3, 8):  # one row in or out: the last system is brought up to date
        free[0, change] = 1 - free[0, change]
        there = b * free[..., None]
        np.testing.assert_allclose(
            low.restricted(free, 1e-9)(there),
            dense.restricted(free, 1e-9)(there),
            rtol=1e-7,
            atol=1e-12,
        )


@pytest.mark.parametrize("bound", [1000.0, 2.0])
def test_low_rank_form_is_the_programme_in_its_features(rng, bound):
    # By hand: Nystrom's kernel k(x, C) k(C, C)^-1 k(C, z) in place of k(x, z).
    X_source, X_target = samples(rng, n=80, m=90)
    model = KMM(width=0.8, rank=12, regularization=0.2, bound=bound).fit(X_source, X_target)
    C = model.centers_
    inner = np.linalg.inv(gaussian_kernel(C, C, 0.8))
    kernel = lambda A, B: gaussian_kernel(A, C, 0.8) @ inner @ gaussian_kernel(C, B, 0.8)  # noqa: E731
    K, kappa = kernel(X_source, X_source), 80 * kernel(X_source, X_target).mean(axis=1)
    want = kmm_weights(K + 0.2 * np.eye(80), kappa + 0.2, bound=bound)
    np.testing.assert_allclose(model.weights_, want.weights, atol=1e-4)
    assert model.objective_ == pytest.approx(float(want.objective), rel=1e-7)
    new = rng.normal(size=(9, 2))
    matched = 80 * kernel(new, X_target).mean(axis=1) - kernel(new, X_source) @ want.weights
    extended = np.clip(1 + (matched - float(want.multiplier)) / 0.2, 0.5 / 170, bound)
    np.testing.assert_allclose(model.predict(new), extended, atol=1e-3)


def test_low_rank_form_warns_when_it_is_too_coarse(rng):
    X_source, X_target = samples(rng, n=200, m=200)
    with pytest.warns(RuntimeWarning, match="leaves out"):
        KMM(width=0.2, rank=5).fit(X_source, X_target)


@pytest.mark.parametrize("rank", [None, 58])
def test_the_penalty_is_a_ridge_on_weights_that_differ_from_one(rng, rank):
    X_source, X_target = samples(rng, n=60, m=90)
    kmm = KMM(width=1.0, regularization=0.3, rank=rank).fit(X_source, X_target)
    K = gaussian_kernel(X_source, X_source, 1.0) + 0.3 * np.eye(60)
    kappa = 60 * gaussian_kernel(X_source, X_target, 1.0).mean(axis=1) + 0.3
    want = kmm_weights(K, kappa)
    np.testing.assert_allclose(kmm.weights_, want.weights, atol=1e-4)
    assert kmm.objective_ == pytest.approx(float(want.objective), rel=1e-6)


def test_the_default_is_calm_where_there_is_no_shift_and_the_plain_programme_is_not(rng):
    X_source, X_target = rng.normal(size=(300, 1)), rng.normal(size=(450, 1))
    assert KMM().fit(X_source, X_target).weights_.std() < 0.4
    assert KMM(regularization=0).fit(X_source, X_target).weights_.std() > 2


@pytest.mark.parametrize("options", [{}, {"bound": 2.0}, {"tolerance": 0.0}, {"rank": 5}])
def test_with_a_penalty_the_prediction_at_source_points_is_the_weights(rng, options):
    X_source, X_target = samples(rng, n=80, m=120)
    kmm = KMM(**options).fit(X_source, X_target)
    floor = 0.5 / 200
    np.testing.assert_allclose(kmm.predict(X_source), np.maximum(kmm.weights_, floor), atol=1e-5)
    assert kmm.predict(X_source + 1e3).shape == (80,)
