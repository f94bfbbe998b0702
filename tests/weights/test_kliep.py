"""KLIEP and the mixture solver beneath it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from counterpoise._arrays import array_namespace, to_numpy
from counterpoise.weights import kliep
from counterpoise.weights._convex import mixture
from counterpoise.weights._convex.mixture import MixtureFit, maximize_likelihood, without_dust
from counterpoise.weights._widths import WidthFolds, width_scores
from counterpoise.weights.kliep import KLIEP, fit_kliep, kliep_log_ratio


def mixture_proportions(L, *, tol=1e-8, max_iter=100):
    """Scale the rows of L (..., rows, components), and solve for each matrix."""
    xp = array_namespace(L)
    stack = xp.reshape(L, (-1, *L.shape[-2:]))
    peak = xp.max(stack, axis=-1)
    scaled = without_dust(xp, stack / peak[..., None])
    fit = maximize_likelihood(scaled, tol=tol, max_iter=max_iter)
    objective = fit.objective + xp.mean(xp.log(peak), axis=-1)
    fields = fit.proportions, objective, fit.gap, fit.n_iter
    return MixtureFit(*(xp.reshape(f, (*L.shape[:-2], *f.shape[1:])) for f in fields))


def gaussians(n, m, dimension=2, *, shift=1.0, variance=1.0, seed=0):
    """Source N((-shift, 0, ...), variance I), target N(0, I), and the true ratio at the source."""
    rng = np.random.default_rng(seed)
    X_source = rng.normal(size=(n, dimension)) * np.sqrt(variance)
    X_source[:, 0] -= shift
    X_target = rng.normal(size=(m, dimension))
    moved = X_source.copy()
    moved[:, 0] += shift
    log_ratio = 0.5 * (moved**2).sum(1) / variance - 0.5 * (X_source**2).sum(1)
    return X_source, X_target, np.exp(log_ratio) * variance ** (dimension / 2)


def kernel(A, B, width):
    return np.exp(-((A[:, None, :] - B[None, :, :]) ** 2).sum(-1) / (2 * width**2))


def optimum_by_scipy(L):
    """Best of several general-purpose runs over the simplex."""
    components = L.shape[1]

    def loss(p):
        y = L @ p
        return -np.log(y).mean(), -(L / y[:, None]).mean(0)

    start = np.full(components, 1 / components)
    constraint = {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like}
    options = {"ftol": 1e-14, "maxiter": 1000}
    bounds = [(0, 1)] * components
    result = minimize(
        loss,
        start,
        jac=True,
        bounds=bounds,
        constraints=constraint,
        method="SLSQP",
        options=options,
    )
    p = np.maximum(result.x, 0) / np.maximum(result.x, 0).sum()
    return -loss(p)[0]


class TestMixtureProportions:
    def test_disjoint_components_get_their_counts(self, xp):
        L = np.repeat(np.eye(3), [5, 2, 13], axis=0) * 7.0
        fit = mixture_proportions(xp.asarray(L))
        assert_allclose(to_numpy(fit.proportions), [0.25, 0.1, 0.65], atol=1e-8)
        expected = np.log(7.0) + (np.asarray([0.25, 0.1, 0.65]) * np.log([0.25, 0.1, 0.65])).sum()
        assert_allclose(float(fit.objective), expected, atol=1e-8)

    def test_two_components_against_a_line_search(self, rng):
        L = rng.gamma(1.0, size=(30, 2))
        best = minimize_scalar(
            lambda q: -np.log(L @ [q, 1 - q]).mean(), bounds=(0, 1), options={"xatol": 1e-12}
        )
        fit = mixture_proportions(L, tol=1e-12)
        assert_allclose(fit.proportions, [best.x, 1 - best.x], atol=1e-6)

    @pytest.mark.parametrize("shape", [(40, 6), (15, 25), (200, 3), (1, 4)])
    def test_optimum_against_scipy(self, rng, shape):
        L = rng.gamma(0.3, size=shape) + 1e-9
        fit = mixture_proportions(L)
        assert float(fit.objective) >= optimum_by_scipy(L) - 1e-8
        assert_allclose(np.log(L @ fit.proportions).mean(), float(fit.objective), atol=1e-12)

    def test_certificate_and_simplex(self, rng):
        L = rng.gamma(0.2, size=(7, 80, 30)) + 1e-12
        fit = mixture_proportions(L)
        gradient = (L / (L @ fit.proportions[..., None])).mean(-2)
        assert_allclose(gradient.max(-1) - 1, fit.gap, atol=1e-12)
        assert fit.gap.max() <= 1e-8
        assert fit.proportions.min() >= 0
        assert_allclose(fit.proportions.sum(-1), 1, atol=1e-14)
        # Complementarity: what is not used is exactly 0, what is used has gradient 1.
        assert (fit.proportions == 0).any()
        assert np.abs(gradient[fit.proportions > 0] - 1).max() < 1e-4

    def test_a_batch_equals_a_loop(self, xp, rng):
        # Problems of very different difficulty leave the batch at different steps.
        scales = np.asarray([0.02, 0.1, 0.5, 2.0, 8.0, 30.0])[:, None, None]
        L = rng.gamma(scales, size=(6, 50, 12)) + 1e-14
        batch = mixture_proportions(xp.asarray(L.reshape(2, 3, 50, 12)))
        assert len(set(to_numpy(batch.n_iter).ravel().tolist())) > 1
        for k, one in enumerate(mixture_proportions(xp.asarray(L[k])) for k in range(6)):
            place = divmod(k, 3)
            assert_allclose(
                to_numpy(batch.proportions)[place], one.proportions, rtol=1e-6, atol=1e-8
            )
            assert_allclose(to_numpy(batch.objective)[place], one.objective, atol=1e-9)

    def test_scaling_rows_changes_nothing(self, rng):
        L = rng.gamma(0.5, size=(60, 8))
        scale = 10.0 ** rng.uniform(-200, 100, size=(60, 1))
        one, other = mixture_proportions(L), mixture_proportions(L * scale)
        assert_allclose(one.proportions, other.proportions, atol=1e-7)
        assert_allclose(other.objective - one.objective, np.log(scale).mean(), rtol=1e-10)

    def test_one_component_that_beats_all_others(self, rng):
        L = rng.uniform(size=(20, 5))
        L[:, 2] = 2.0
        assert_allclose(mixture_proportions(L).proportions, np.eye(5)[2], atol=1e-12)

    def test_duplicated_components_do_no_harm(self, rng):
        L = rng.gamma(0.5, size=(50, 6))
        single, double = mixture_proportions(L), mixture_proportions(np.hstack([L, L]))
        assert_allclose(double.objective, single.objective, atol=1e-8)
        assert_allclose(double.proportions.reshape(2, 6).sum(0), single.proportions, atol=1e-6)

    def test_float32(self, xp, rng):
        L = rng.gamma(0.5, size=(100, 20)) + 1e-6
        fit = mixture_proportions(xp.asarray(L, dtype=xp.float32))
        assert fit.proportions.dtype == xp.float32
        assert float(fit.gap) < 3e-5
        assert_allclose(float(fit.objective), float(mixture_proportions(L).objective), atol=3e-5)

    def test_too_few_steps_give_an_honest_gap(self, rng):
        L = rng.gamma(0.1, size=(100, 30)) + 1e-10
        best = float(mixture_proportions(L).objective)
        for steps in (1, 2, 3):
            fit = mixture_proportions(L, max_iter=steps)
            assert int(fit.n_iter) == steps
            assert 1e-8 < best - float(fit.objective) <= float(fit.gap)


# Optimal mean log ratio of KLIEP by Clarabel 0.11 through cvxpy 1.9, in exactly this setting:
# X, Z, _ = gaussians(50, 1000, variance=v, seed=s); C = Z[:100]; width 0.5;
# L = k(Z, C) / k(X, C).mean(0); L /= L.max(1)[:, None] (its log added back);
# maximise sum(log(L @ p)) / 1000 over p >= 0, sum(p) == 1, all tolerances 1e-10.
CLARABEL = {(0.5, 0): 2.270147785410, (1.0, 1): 1.467739011936}


class TestFitKliep:
    @pytest.mark.parametrize(("variance", "seed"), list(CLARABEL))
    def test_optimum_of_a_cone_solver(self, variance, seed):
        X_source, X_target, _ = gaussians(50, 1000, variance=variance, seed=seed)
        fit = fit_kliep(X_source, X_target, width=0.5)
        assert abs(float(fit.objective) - CLARABEL[variance, seed]) < 1e-6
        assert float(fit.gap) <= 1e-8
        assert abs(fit.weights.mean() - 1) < 1e-10

    def test_the_problem_as_stated(self):
        # Sequential quadratic programming on alpha itself, with the constraint on the source.
        X_source, X_target, _ = gaussians(30, 40)
        A, b = kernel(X_target, X_target[:8], 1.0), kernel(X_source, X_target[:8], 1.0).mean(0)
        result = minimize(
            lambda a: -np.log(A @ a).mean(),
            np.ones(8) / b.sum(),
            jac=lambda a: -(A / (A @ a)[:, None]).mean(0),
            bounds=[(0, None)] * 8,
            constraints={"type": "eq", "fun": lambda a: b @ a - 1, "jac": lambda a: b},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        fit = fit_kliep(X_source, X_target, width=1.0, centers=8)
        assert_allclose(float(fit.objective), -result.fun, atol=1e-8)
        assert_allclose(fit.coef, result.x, atol=1e-3)
        assert_allclose(b @ fit.coef, 1, atol=1e-12)
        assert_allclose(np.log(A @ fit.coef).mean(), float(fit.objective), atol=1e-12)

    def test_blocks_of_data_sets_do_not_change_the_result(self, monkeypatch):
        sets = [gaussians(20, 60, variance=v, seed=s)[:2] for s, v in enumerate((0.4, 0.7, 1))]
        samples = [np.stack(part) for part in zip(*sets, strict=True)]
        whole = fit_kliep(*samples, centers=15)
        blocks = kliep.blocks

        def cut(length, size, like):  # the three data sets; rows as they are
            return [slice(2), slice(2, 3)] if length == 3 else blocks(length, size, like=like)

        monkeypatch.setattr(kliep, "blocks", cut)
        parts = fit_kliep(*samples, centers=15)
        for name in ("weights", "coef", "objective"):
            got, want = getattr(parts, name), getattr(whole, name)
            assert got.shape == want.shape
            assert_allclose(got, want, rtol=1e-5, atol=1e-6)

    def test_a_batch_equals_a_loop(self, xp):
        sets = [gaussians(20, 60, variance=v, seed=s)[:2] for s, v in enumerate((0.4, 0.7, 1, 2))]
        X_source, X_target = (xp.asarray(np.stack(part)) for part in zip(*sets, strict=True))
        batch = fit_kliep(X_source, X_target, centers=15)
        for k, (source, target) in enumerate(sets):
            one = fit_kliep(source, target, centers=15)
            assert_allclose(to_numpy(batch.weights)[k], one.weights, rtol=1e-5, atol=1e-7)
            assert_allclose(to_numpy(batch.objective)[k], one.objective, atol=1e-7)
            assert_allclose(to_numpy(batch.width)[k], one.width, rtol=1e-12)

    def test_widths_and_samples_broadcast(self):
        X_source, X_target, _ = gaussians(20, 30)
        widths = np.asarray([0.3, 1.0, 3.0])
        fit = fit_kliep(X_source[None], X_target[None], width=widths)
        assert fit.weights.shape == (3, 20)
        one = fit_kliep(X_source, X_target, width=1.0)
        assert_allclose(fit.weights[1], one.weights, atol=1e-6)
        log_ratio = kliep_log_ratio(X_source[None], fit)
        assert_allclose(np.exp(log_ratio), fit.weights, rtol=1e-9)

    @pytest.mark.parametrize("width", [1e-3, 0.02, 500.0])
    def test_extreme_widths_neither_underflow_nor_divide_by_zero(self, width):
        X_source, X_target, _ = gaussians(40, 80)
        fit = fit_kliep(X_source, X_target, width=width)
        assert abs(fit.weights.mean() - 1) < 1e-10
        assert np.isfinite(float(fit.objective))
        assert float(fit.gap) <= 1e-8

    def test_float32(self, xp):
        X_source, X_target, _ = gaussians(50, 200)
        single = fit_kliep(
            xp.asarray(X_source, dtype=xp.float32),
            xp.asarray(X_target, dtype=xp.float32),
            width=1.0,
        )
        assert single.weights.dtype == xp.float32
        double = fit_kliep(X_source, X_target, width=1.0)
        assert_allclose(to_numpy(single.weights), double.weights, atol=2e-2)
        assert_allclose(float(single.objective), float(double.objective), atol=1e-4)

    def test_bad_centers(self):
        X_source, X_target, _ = gaussians(5, 6)
        with pytest.raises(ValueError, match="`centers` has 3 features"):
            fit_kliep(X_source, X_target, centers=np.zeros((2, 3)))
        with pytest.raises(ValueError, match="`centers` must be an integer at least 1"):
            fit_kliep(X_source, X_target, centers=0)


class TestKLIEP:
    @pytest.mark.parametrize("dimension", [1, 2, 20])
    def test_weighted_source_mean_moves_to_the_target(self, dimension):
        X_source, X_target, _ = gaussians(400, 700, dimension, shift=0.5)
        ratio = KLIEP().fit(X_source, X_target)
        assert abs(ratio.weights_.mean() - 1) < 1e-10
        before = X_source[:, 0].mean() - X_target[:, 0].mean()
        terms = ratio.weights_ * X_source[:, 0]
        after = terms.mean() - X_target[:, 0].mean()
        error = np.hypot(terms.std() / 20, X_target[:, 0].std() / np.sqrt(700))
        # In 20 dimensions a local method removes a part of the shift only.
        assert abs(after) < (4 * error if dimension < 20 else 0.7 * abs(before))

    def test_weights_near_one_without_a_shift(self):
        X_source, X_target, _ = gaussians(500, 500, shift=0.0)
        weights = KLIEP().fit(X_source, X_target).weights_
        assert weights.std() < 0.25

    def test_close_to_the_true_ratio(self):
        X_source, X_target, truth = gaussians(500, 1000, 1, variance=0.8)
        weights = KLIEP().fit(X_source, X_target).weights_
        assert np.corrcoef(weights, truth)[0, 1] > 0.95
        assert np.sqrt(((weights - truth) ** 2).mean()) < 0.5 * truth.std()

    def test_reverse_problem_gives_about_the_inverse(self):
        X_source, X_target, _ = gaussians(500, 500, shift=0.5)
        forward = KLIEP().fit(X_source, X_target)
        backward = KLIEP().fit(X_target, X_source)
        middle = X_source[np.abs(X_source[:, 0] + 0.25) < 1]
        product = forward.predict(middle) * backward.predict(middle)
        assert abs(np.log(product).mean()) < 0.15
        assert np.log(product).std() < 0.35

    @pytest.mark.parametrize("width", ["cv", "knn", "median", "silverman", 0.7])
    def test_row_order_does_not_matter(self, width, rng):
        X_source, X_target, _ = gaussians(60, 150, shift=0.5)
        order = rng.permutation(60)
        options = {"width": width, "n_centers": 20}
        one = KLIEP(**options).fit(X_source, X_target)
        other = KLIEP(**options).fit(X_source[order], X_target[rng.permutation(150)])
        assert_allclose(other.weights_, one.weights_[order], rtol=1e-6, atol=1e-9)
        assert other.width_ == pytest.approx(one.width_, rel=1e-12)

    @pytest.mark.parametrize("width", ["cv", "knn", "median", "silverman"])
    def test_units_do_not_matter(self, width):
        X_source, X_target, _ = gaussians(60, 150, shift=0.5)
        one = KLIEP(width=width).fit(X_source, X_target)
        other = KLIEP(width=width).fit(X_source * 1024 + 512, X_target * 1024 + 512)
        assert_allclose(other.weights_, one.weights_, rtol=1e-5, atol=1e-8)

    def test_standardize_makes_feature_units_irrelevant(self):
        X_source, X_target, _ = gaussians(60, 150, shift=0.5)
        unit = np.asarray([1000.0, 0.01])
        one = KLIEP(standardize=True).fit(X_source, X_target)
        other = KLIEP(standardize=True).fit(X_source * unit, X_target * unit)
        assert_allclose(other.weights_, one.weights_, rtol=1e-5, atol=1e-8)
        assert_allclose(other.predict(X_source * unit), one.weights_, rtol=1e-5, atol=1e-8)

    def test_predict_gives_the_weights_back(self, xp):
        X_source, X_target, _ = gaussians(40, 90, shift=0.5)
        X_source, X_target = xp.asarray(X_source), xp.asarray(X_target)
        ratio = KLIEP(n_centers=30).fit(X_source, X_target)
        assert_allclose(to_numpy(ratio.predict(X_source)), to_numpy(ratio.weights_), rtol=1e-9)
        expansion = kernel(to_numpy(X_source), to_numpy(ratio.centers_), ratio.width_)
        assert_allclose(expansion @ to_numpy(ratio.coef_), to_numpy(ratio.weights_), rtol=1e-9)

    def test_many_rows_go_through_in_blocks(self):
        # Large enough for several blocks in each pass; the same as in one.
        X_source, X_target, _ = gaussians(25000, 23000, shift=0.5)
        ratio = KLIEP(width=1.0).fit(X_source, X_target)
        small = ratio.predict(X_source[:100])
        assert_allclose(small, ratio.weights_[:100], rtol=1e-9)
        assert abs(ratio.weights_.mean() - 1) < 1e-10
        log_ratio = np.log(kernel(X_target, ratio.centers_, 1.0) @ ratio.coef_)
        assert_allclose(log_ratio.mean(), ratio.objective_, rtol=1e-9)

    def test_cross_validation_holds_out_both_samples(self):
        # Held-out target points alone would favour the narrowest kernel here.
        X_source, X_target, truth = gaussians(50, 1000, variance=0.5)
        ratio = KLIEP().fit(X_source, X_target)
        widths = sorted(ratio.cv_scores_)
        assert len(widths) == 10
        best = max(ratio.cv_scores_.values())
        assert ratio.width_ == max(w for w, s in ratio.cv_scores_.items() if s >= best - 1e-3)
        assert ratio.width_ > widths[3]
        narrow = KLIEP(width=widths[0]).fit(X_source, X_target)
        assert narrow.objective_ > ratio.objective_
        error, narrow_error = (((r.weights_ - truth) ** 2).mean() for r in (ratio, narrow))
        assert error < 0.5 * narrow_error

    @pytest.mark.filterwarnings("ignore:Source and target hardly overlap")
    def test_cross_validation_does_not_reward_the_impossible(self):
        # Far from the source, a narrow kernel gives ratios without bound. No score exceeds log 2,
        # and of widths that all separate the samples a wide one is taken.
        X_source, X_target, _ = gaussians(30, 300, variance=0.5, shift=6.0)
        ratio = KLIEP().fit(X_source, X_target)
        assert max(ratio.cv_scores_.values()) <= np.log(2)
        assert ratio.width_ > 5 * min(ratio.cv_scores_)

    def test_score_far_from_all_centers(self):
        X_source, X_target, _ = gaussians(40, 60, shift=0.3)
        ratio = KLIEP(width=0.5).fit(X_source, X_target)
        far = np.full((1, 2), 1e4)
        assert ratio.predict(far)[0] == 0
        assert ratio.score(X_source, far) == -np.inf

    def test_random_state_chooses_the_centers(self):
        X_source, X_target, _ = gaussians(40, 200)
        options = {"width": 1.0, "n_centers": 10}
        one, same, other = (
            KLIEP(random_state=s, **options).fit(X_source, X_target) for s in (1, 1, 2)
        )
        assert np.array_equal(one.weights_, same.weights_)
        assert not np.array_equal(one.centers_, other.centers_)
        assert clone(other).get_params()["random_state"] == 2

    def test_disjoint_supports_warn(self):
        X_source, X_target, _ = gaussians(40, 60, shift=30.0)
        for width in ("cv", "knn", "median", 0.5):
            with pytest.warns(RuntimeWarning, match="hardly overlap"):
                ratio = KLIEP(width=width).fit(X_source, X_target)
            assert np.isfinite(ratio.weights_).all()

    def test_too_few_steps_warn(self):
        X_source, X_target, _ = gaussians(40, 60)
        with pytest.warns(ConvergenceWarning, match="gap"):
            KLIEP(width=0.5, max_iter=1).fit(X_source, X_target)

    def test_constant_features_and_duplicates(self):
        X_source, X_target, _ = gaussians(40, 60, shift=0.3)
        plain = KLIEP(width=1.0).fit(X_source, X_target)
        constant = (np.hstack([X, np.ones((len(X), 1))]) for X in (X_source, X_target))
        assert_allclose(KLIEP(width=1.0).fit(*constant).weights_, plain.weights_, rtol=1e-6)
        double = KLIEP(width=1.0, n_centers=200).fit(
            np.vstack([X_source, X_source]), np.vstack([X_target, X_target])
        )
        assert_allclose(double.weights_[:40], plain.weights_, rtol=1e-4, atol=1e-6)
        with pytest.raises(ValueError, match="`width"):
            KLIEP().fit(np.ones((5, 2)), np.ones((6, 2)))
        assert_allclose(KLIEP(width=1.0).fit(np.ones((5, 2)), np.ones((6, 2))).weights_, 1.0)

    def test_one_row(self):
        X_source, X_target, _ = gaussians(40, 60, shift=0.3)
        assert_allclose(KLIEP().fit(X_target[:1], X_target).weights_, [1.0], rtol=1e-12)
        ratio = KLIEP().fit(X_source, X_target[:1])
        assert abs(ratio.weights_.mean() - 1) < 1e-10
        nearest = ((X_source - X_target[:1]) ** 2).sum(1).argmin()
        assert ratio.weights_.argmax() == nearest

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"width": 0.0}, "`width` must be"),
            ({"width": "wide"}, "`width` must be"),
            ({"n_centers": 0}, "`n_centers` must be an integer at least 1"),
            ({"tol": 0}, "`tol` must be a number above 0"),
            ({"max_iter": 0}, "`max_iter` must be an integer at least 1"),
        ],
    )
    def test_bad_parameters(self, options, message):
        X_source, X_target, _ = gaussians(10, 12)
        with pytest.raises(ValueError, match=message):
            KLIEP(**options).fit(X_source, X_target)


class TestNewtonOnTheSupport:
    @pytest.mark.parametrize("scale", [0.02, 0.5, 8.0])
    def test_agrees_with_interior_points(self, scale, rng):
        L = rng.gamma(scale, size=(3, 200, 25)) + 1e-14
        L = without_dust(np, L / L.max(axis=-1, keepdims=True))
        newton = maximize_likelihood(L, tol=1e-9, max_iter=100)
        interior = mixture._interior_points(L, 1e-9, 100)
        assert np.all(newton.gap <= 1e-9)
        assert_allclose(newton.objective, interior.objective, atol=2e-9)
        for one, other in zip(newton.proportions, interior.proportions, strict=True):
            assert_allclose(one, other, atol=1e-4)

    def test_is_taken_and_gives_exact_zeros(self, rng, monkeypatch):
        L = rng.gamma(0.5, size=(300, 30)) + 1e-14
        L = without_dust(np, L / L.max(axis=-1, keepdims=True))
        monkeypatch.setattr(mixture, "_interior_points", lambda *_: pytest.fail("not taken"))
        fit = maximize_likelihood(L[None], tol=1e-8, max_iter=100)
        assert np.any(fit.proportions == 0)
        # A start at the solution needs the one step that tells exact zeros.
        again = maximize_likelihood(L[None], tol=1e-8, max_iter=100, start=fit.proportions)
        assert int(again.n_iter[0]) <= 1
        assert_allclose(again.objective, fit.objective, atol=1e-8)

    def test_a_poor_start_does_no_harm(self, rng):
        L = rng.gamma(0.1, size=(300, 30)) + 1e-14
        L = without_dust(np, L / L.max(axis=-1, keepdims=True))
        want = maximize_likelihood(L[None], tol=1e-8, max_iter=100)
        poor = np.zeros((1, 30))
        poor[0, 7] = 1.0
        got = maximize_likelihood(L[None], tol=1e-8, max_iter=100, start=poor)
        assert_allclose(got.objective, want.objective, atol=1e-8)

    def test_interior_points_take_over(self, rng, monkeypatch):
        L = rng.gamma(0.5, size=(2, 100, 10)) + 1e-14
        L = L / L.max(axis=-1, keepdims=True)
        want = maximize_likelihood(L, tol=1e-8, max_iter=100)
        monkeypatch.setattr(mixture, "newton_on_support", lambda *_, **__: None)
        got = maximize_likelihood(L, tol=1e-8, max_iter=100)
        assert_allclose(got.objective, want.objective, atol=2e-8)


@pytest.mark.parametrize("shift", [0.5, 4.0])
@pytest.mark.parametrize("change", [10.0, -1.0])
def test_width_scores_are_those_of_separate_fits(shift, change, monkeypatch):
    # With a change of -1 no kernel is reused between folds; far samples have narrow kernels that
    # no training row of a fold reaches.
    monkeypatch.setattr(kliep, "_CV_CHANGE", change)
    X_source, X_target, _ = gaussians(150, 210, shift=shift, seed=3)
    fitted = KLIEP(n_centers=30).fit(X_source, X_target)
    folds = WidthFolds.draw(
        X_source, X_target, factors=kliep._CV_FACTORS, rng=_after_centers(X_target)
    )

    def separately(train, test, width):
        fit = fit_kliep(*train, width=width, centers=fitted.centers_)
        return [kliep_log_ratio(X, fit) for X in test]

    want = width_scores(separately, folds)
    assert list(fitted.cv_scores_) == list(want)
    assert_allclose(list(fitted.cv_scores_.values()), list(want.values()), atol=2e-4)


def _after_centers(X_target):
    """Return the random state that `KLIEP` has when it draws the folds."""
    rng = check_random_state(0)
    rng.choice(X_target.shape[0], 30, replace=False)
    return rng
