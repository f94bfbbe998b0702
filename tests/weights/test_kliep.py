"""KLIEP and the mixture solver beneath it."""

from __future__ import annotations

import numpy as np
import pytest
from normal_samples import gaussians, kernel
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from counterpoise._arrays import array_namespace, sort_rows, to_numpy
from counterpoise.weights import kliep
from counterpoise.weights._convex import mixture
from counterpoise.weights._convex.mixture import MixtureFit, maximize_likelihood, without_dust
from counterpoise.weights.base import held_out_scores
from counterpoise.weights.kliep import KLIEP, fit_kliep


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


class TestMixtureProportions:
    def test_disjoint_components_get_their_counts(self, xp):
        L = np.repeat(np.eye(3), [5, 2, 13], axis=0) * 7.0
        fit = mixture_proportions(xp.asarray(L))
        assert_allclose(to_numpy(fit.proportions), [0.25, 0.1, 0.65], atol=1e-8)
        expected = np.log(7.0) + (np.asarray([0.25, 0.1, 0.65]) * np.log([0.25, 0.1, 0.65])).sum()
        assert_allclose(float(fit.objective), expected, atol=1e-8)

    @pytest.mark.parametrize("shape", [(7, 80, 30), (3, 15, 25), (3, 1, 4)])
    def test_certificate_and_simplex(self, rng, shape):
        L = rng.gamma(0.2, size=shape) + 1e-12
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

    def test_too_few_steps_give_an_honest_gap(self, rng):
        L = rng.gamma(0.1, size=(100, 30)) + 1e-10
        best = float(mixture_proportions(L).objective)
        for steps in (1, 2, 3):
            fit = mixture_proportions(L, max_iter=steps)
            assert int(fit.n_iter) == steps
            assert 1e-8 < best - float(fit.objective) <= float(fit.gap)


class TestNewtonOnTheSupport:
    @pytest.mark.parametrize("scale", [0.02, 0.5, 8.0])
    def test_agrees_with_interior_points(self, scale, rng):
        L = rng.gamma(scale, size=(3, 200, 25)) + 1e-14
        L = without_dust(np, L / L.max(axis=-1, keepdims=True))
        newton = maximize_likelihood(L, tol=1e-9, max_iter=100)
        interior = mixture._interior_points(L, 1e-9, 100)
        stopped = mixture._interior_points(L, 1e-9, 2).proportions  # far from the solution
        assert_allclose(stopped.sum(-1), 1, atol=1e-14)
        assert np.all(newton.gap <= 1e-9)
        assert_allclose(newton.objective, interior.objective, atol=2e-9)
        for one, other in zip(newton.proportions, interior.proportions, strict=True):
            assert_allclose(one, other, atol=1e-4)

    def test_is_taken_and_gives_exact_zeros_from_any_start(self, rng, monkeypatch):
        L = rng.gamma(0.5, size=(300, 30)) + 1e-14
        L = without_dust(np, L / L.max(axis=-1, keepdims=True))
        monkeypatch.setattr(mixture, "_interior_points", lambda *_: pytest.fail("not taken"))
        fit = maximize_likelihood(L[None], tol=1e-8, max_iter=100)
        assert np.any(fit.proportions == 0)
        # A start at the solution needs the one step that tells exact zeros.
        again = maximize_likelihood(L[None], tol=1e-8, max_iter=100, start=fit.proportions)
        assert int(again.n_iter[0]) <= 1
        poor = np.eye(30)[7:8]
        for other in (again, maximize_likelihood(L[None], tol=1e-8, max_iter=100, start=poor)):
            assert_allclose(other.objective, fit.objective, atol=1e-8)


class TestSteps:
    """A fault in a step leaves the solution where it is, but more steps are taken to get there."""

    def problems(self, width):
        X = np.random.default_rng(0).normal(size=(40, 100, 1))
        centers = X[:, np.arange(20) % 15]  # some of them twice
        exponent = -((X - np.swapaxes(centers, 1, 2)) ** 2) / (2 * width**2)
        return without_dust(np, np.exp(exponent - exponent.max(axis=-1, keepdims=True)))

    @pytest.mark.parametrize(
        ("width", "interior", "newton"), [(0.05, 159, 128), (0.3, 247, 144), (1.5, 198, 60)]
    )
    def test_few_steps_solve_40_problems(self, width, interior, newton):
        L = self.problems(width)
        for fit, steps in (
            (mixture._interior_points(L, 1e-8, 100), interior),
            (maximize_likelihood(L, tol=1e-8, max_iter=100), newton),
        ):
            assert np.all(fit.gap <= 1e-8)
            assert np.sum(fit.n_iter) <= 1.03 * steps

    def test_without_a_component_nothing_is_certain(self):
        assert mixture._certify(np, np.ones((1, 3, 2)), np.zeros((1, 2)))[1] > 1e100

    def test_a_start_is_used_where_it_is_near(self):
        L = self.problems(0.3)
        fit = maximize_likelihood(L, tol=1e-8, max_iter=100)
        near, far = 0.98 * fit.proportions + 0.001, np.repeat(np.eye(20)[:1], 40, axis=0)
        steps = [
            np.sum(maximize_likelihood(L, tol=1e-8, max_iter=100, start=start).n_iter)
            for start in (near, far)
        ]
        assert steps[0] < 110
        assert steps[1] == np.sum(fit.n_iter)


class TestFitKliep:
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
        coef = np.exp(fit.log_coef)
        assert_allclose(float(fit.objective), -result.fun, atol=1e-8)
        assert_allclose(coef, result.x, atol=1e-3)
        assert_allclose(b @ coef, 1, atol=1e-12)
        assert_allclose(np.log(A @ coef).mean(), float(fit.objective), atol=1e-12)

    def test_a_batch_equals_a_loop_in_blocks_too(self, xp, monkeypatch):
        sets = [gaussians(20, 60, variance=v, seed=s)[:2] for s, v in enumerate((0.4, 0.7, 1))]
        samples = [xp.asarray(np.stack(part)) for part in zip(*sets, strict=True)]
        single = [fit_kliep(*pair, centers=15) for pair in sets]
        blocks = kliep.blocks

        def cut(length, size, like):  # the three data sets, and the rows
            return [slice(0, 2), slice(2, length)]

        for block in (blocks, cut):
            monkeypatch.setattr(kliep, "blocks", block)
            batch = fit_kliep(*samples, centers=15)
            for k, one in enumerate(single):
                assert_allclose(to_numpy(batch.weights)[k], one.weights, rtol=1e-5, atol=1e-6)
                assert_allclose(to_numpy(batch.objective)[k], one.objective, atol=1e-7)
                assert_allclose(to_numpy(batch.width)[k], one.width, rtol=1e-12)

    @pytest.mark.parametrize("width", [1e-3, 0.02, 500.0])
    def test_extreme_widths_neither_underflow_nor_divide_by_zero(self, width):
        X_source, X_target, _ = gaussians(40, 80)
        fit = fit_kliep(X_source, X_target, width=width)
        assert abs(fit.weights.mean() - 1) < 1e-10
        assert np.isfinite(float(fit.objective))
        assert float(fit.gap) <= 1e-8

    def test_float32(self, xp):
        X_source, X_target, _ = gaussians(50, 200)
        samples = (xp.asarray(X, dtype=xp.float32) for X in (X_source, X_target))
        single = fit_kliep(*samples, width=1.0)
        assert single.weights.dtype == xp.float32
        double = fit_kliep(X_source, X_target, width=1.0)
        assert_allclose(to_numpy(single.weights), double.weights, atol=2e-2)
        assert_allclose(float(single.objective), float(double.objective), atol=1e-4)


class TestKLIEP:
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

    @pytest.mark.parametrize("shift", [0.5, 4.0])
    @pytest.mark.parametrize("change", [10.0, -1.0])
    def test_width_scores_are_those_of_separate_fits(self, shift, change, monkeypatch):
        # With a change of -1 no kernel is reused between folds; far samples have narrow kernels
        # that no training row of a fold reaches.
        monkeypatch.setattr(kliep, "_CV_CHANGE", change)
        monkeypatch.setattr(kliep, "_CV_FACTORS", (0.05, 0.3, 2.0))
        samples = [sort_rows(X) for X in gaussians(150, 210, shift=shift, seed=3)[:2]]
        fitted = KLIEP(n_centers=30).fit(*samples)
        rng = check_random_state(0)
        rng.choice(210, 30, replace=False)  # the centres come first
        folds = [rng.permutation(len(X)) % 5 for X in samples]
        for width, score in fitted.cv_scores_.items():
            logs = [[], []]
            for k in range(5):
                train = [X[fold != k] for X, fold in zip(samples, folds, strict=True)]
                fit = fit_kliep(*train, width=width, centers=fitted.centers_)
                coef = fit.log_coef
                for values, X, fold in zip(logs, samples, folds, strict=True):
                    squares = ((X[fold == k, None] - fitted.centers_) ** 2).sum(-1)
                    values.append(np.logaddexp.reduce(coef - squares / (2 * width**2), axis=1))
            assert score == pytest.approx(np.mean(held_out_scores(*logs)), abs=2e-4)

    def test_every_library_gives_the_scores_of_numpy(self, xp, monkeypatch):
        monkeypatch.setattr(kliep, "_CV_FACTORS", (0.3, 1.0))
        samples = gaussians(30, 40)[:2]
        want = KLIEP(n_centers=10).fit(*samples).cv_scores_
        got = KLIEP(n_centers=10).fit(*(xp.asarray(X) for X in samples)).cv_scores_
        assert_allclose(list(got.values()), list(want.values()), atol=1e-3)

    def test_too_few_steps_warn(self, monkeypatch):
        X_source, X_target, _ = gaussians(40, 60)
        monkeypatch.setattr(kliep, "_MAX_ITER", 1)
        with pytest.warns(ConvergenceWarning, match="gap"):
            KLIEP(width=0.5).fit(X_source, X_target)
