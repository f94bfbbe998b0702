"""uLSIF and RuLSIF."""

from __future__ import annotations

import numpy as np
import pytest
from normal_samples import gaussians, kernel
from numpy.testing import assert_allclose

from counterpoise._arrays import to_numpy
from counterpoise.weights import _kernels as _kernels_module
from counterpoise.weights.ulsif import ULSIF, _kernels, loo_scores


def coef_by_definition(X_source, X_target, centers, width, penalty, alpha):
    k_source, k_target = (kernel(X, centers, width) for X in (X_source, X_target))
    H = (1 - alpha) * k_source.T @ k_source / len(X_source)
    H += alpha * k_target.T @ k_target / len(X_target)
    return np.linalg.solve(H + penalty * np.eye(len(centers)), k_target.mean(0))


def loo_by_refits(X_source, X_target, centers, width, penalty, alpha, cap=np.inf):
    def held_out(k, rows, refit):
        left = [
            kernel(rows[[i]], centers, width)[0] @ refit(np.delete(rows, i, axis=0))
            for i in range(k)
        ]
        return np.maximum(left, 0)

    rest = centers, width, penalty, alpha
    source = held_out(
        len(X_source), X_source, lambda kept: coef_by_definition(kept, X_target, *rest)
    )
    target = held_out(
        len(X_target), X_target, lambda kept: coef_by_definition(X_source, kept, *rest)
    )
    target = np.minimum(target, cap)
    square = (1 - alpha) * (source**2).mean() + alpha * (target**2).mean()
    return target.mean() - 0.5 * square


def scores_of_widths(X_source, X_target, centers, widths, penalties, alpha, cap=np.inf):
    samples = [[_kernels(X, centers, w) for X in (X_source, X_target)] for w in widths]
    return [to_numpy(loo_scores(*pair, penalties, alpha=alpha, cap=cap)) for pair in samples]


class TestFormulas:
    @pytest.mark.parametrize("alpha", [0.0, 0.3])
    def test_coefficients_solve_the_normal_equations(self, xp, alpha):
        X_source, X_target, _ = gaussians(30, 50)
        model = ULSIF(width=0.8, regularization=0.05, n_centers=12, alpha=alpha)
        model.fit(xp.asarray(X_source), xp.asarray(X_target))
        centers = to_numpy(model.centers_)
        assert centers.shape == (12, 2)
        expected = coef_by_definition(X_source, X_target, centers, 0.8, 0.05, alpha)
        assert_allclose(to_numpy(model.coef_), expected, rtol=1e-8)
        ratio = np.maximum(kernel(X_source, centers, 0.8) @ expected, 0)
        assert_allclose(to_numpy(model.weights_), ratio, rtol=1e-8, atol=1e-12)

    @pytest.mark.parametrize("cap", [np.inf, 1.5])
    @pytest.mark.parametrize(("n", "m"), [(12, 17), (2, 9), (9, 2)])
    @pytest.mark.parametrize("alpha", [0.0, 0.3])
    def test_leave_one_out_equals_refits(self, xp, alpha, n, m, cap):
        X_source, X_target, _ = gaussians(n, m)
        centers = X_target[:6]
        widths, penalties = [0.4, 2.0], [1e-3, 0.1, 5.0]
        arrays = (xp.asarray(a) for a in (X_source, X_target, centers))
        lam = xp.asarray(np.asarray(penalties))
        scores = scores_of_widths(*arrays, widths, lam, alpha, cap)
        expected = [
            [loo_by_refits(X_source, X_target, centers, w, p, alpha, cap) for p in penalties]
            for w in widths
        ]
        assert_allclose(scores, expected, rtol=1e-8)


class TestULSIF:
    @pytest.mark.parametrize("alpha", [0.0, 0.5])
    def test_the_relative_ratio_is_what_it_says(self, alpha):
        X_source, X_target, truth = gaussians(2000, 2000, 1)
        weights = ULSIF(alpha=alpha).fit(X_source, X_target).weights_
        relative = truth / (alpha * truth + 1 - alpha)
        assert np.corrcoef(weights, relative)[0, 1] > 0.9
        assert np.sqrt(((weights - relative) ** 2).mean()) < 0.5 * relative.std()
        assert alpha == 0 or weights.max() < 1.1 / alpha

    def test_the_best_pair_of_the_grid_is_used(self):
        X_source, X_target, _ = gaussians(30, 40, shift=0.5)
        widths, penalties = [0.2, 0.8, 3.0], [1e-3, 0.1, 1.0]
        ratio = ULSIF(width=widths, regularization=penalties).fit(X_source, X_target)
        cap = np.sqrt(30)
        expected = [
            [
                loo_by_refits(X_source, X_target, ratio.centers_, w, p, 0.0, cap=cap)
                for p in penalties
            ]
            for w in widths
        ]
        assert_allclose(ratio.loo_scores_, expected, rtol=1e-7)
        row, column = np.unravel_index(np.argmax(expected), (3, 3))
        assert (ratio.width_, ratio.regularization_) == (widths[row], penalties[column])
        default = ULSIF().fit(X_source, X_target)
        assert_allclose(default.loo_regularizations_, np.logspace(-3, 1, 9))

    def test_many_rows_go_through_in_blocks(self, monkeypatch):
        X_source, X_target, _ = gaussians(900, 850, 1, shift=0.5)
        options = {"width": [0.5, 1.0], "regularization": 0.1}
        whole = ULSIF(**options).fit(X_source, X_target)
        monkeypatch.setattr(_kernels_module, "CPU_BLOCK", 1000)
        blocks = ULSIF(**options).fit(X_source, X_target)
        assert_allclose(blocks.loo_scores_, whole.loo_scores_, rtol=1e-9)
        assert_allclose(blocks.weights_, whole.weights_, rtol=1e-7, atol=1e-10)
