"""uLSIF and RuLSIF."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from counterpoise._arrays import to_numpy
from counterpoise.weights.ulsif import ULSIF, _kernels, loo_scores


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
    @pytest.mark.parametrize(("n", "m"), [(12, 17), (17, 12), (2, 9), (9, 2)])
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

    def test_the_estimator_scores_all_pairs_with_a_cap(self):
        X_source, X_target, _ = gaussians(12, 17)
        model = ULSIF(width=[0.4, 2.0], regularization=[1e-3, 0.1], n_centers=6)
        model.fit(X_source, X_target)
        rest = model.centers_, [0.4, 2.0], np.asarray([1e-3, 0.1]), 0.0, np.sqrt(12)
        assert_allclose(model.loo_scores_, scores_of_widths(X_source, X_target, *rest), rtol=1e-8)


class TestULSIF:
    @pytest.mark.parametrize("dimension", [1, 2, 20])
    def test_weighted_source_mean_moves_to_the_target(self, dimension):
        X_source, X_target, _ = gaussians(400, 700, dimension, shift=0.5)
        weights = ULSIF(normalize=True).fit(X_source, X_target).weights_
        assert weights.mean() == pytest.approx(1, abs=1e-12)
        terms = weights * X_source[:, 0]
        after = terms.mean() - X_target[:, 0].mean()
        error = np.hypot(terms.std() / 20, X_target[:, 0].std() / np.sqrt(700))
        # In 20 dimensions a local method removes a part of the shift only.
        before = X_source[:, 0].mean() - X_target[:, 0].mean()
        assert abs(after) < (4 * error if dimension < 20 else 0.7 * abs(before))

    def test_weights_near_one_without_a_shift(self):
        X_source, X_target, _ = gaussians(500, 500, shift=0.0)
        weights = ULSIF().fit(X_source, X_target).weights_
        assert abs(weights.mean() - 1) < 0.05
        assert weights.std() < 0.2

    def test_close_to_the_true_ratio(self):
        X_source, X_target, truth = gaussians(500, 1000, 1, variance=0.8)
        weights = ULSIF().fit(X_source, X_target).weights_
        assert np.corrcoef(weights, truth)[0, 1] > 0.9
        assert np.sqrt(((weights - truth) ** 2).mean()) < 0.5 * truth.std()

    def test_relative_ratio_is_what_it_says(self):
        X_source, X_target, truth = gaussians(2000, 2000, 1)
        alpha = 0.5
        weights = ULSIF(alpha=alpha).fit(X_source, X_target).weights_
        relative = truth / (alpha * truth + 1 - alpha)
        assert np.abs(weights - relative).mean() < 0.1
        assert weights.max() < 1.1 / alpha

    def test_reverse_problem_gives_about_the_inverse(self):
        X_source, X_target, _ = gaussians(500, 500, shift=0.5)
        forward = ULSIF().fit(X_source, X_target)
        backward = ULSIF().fit(X_target, X_source)
        middle = X_source[(np.abs(X_source[:, 0] + 0.25) < 1) & (np.abs(X_source[:, 1]) < 1)]
        product = forward.predict(middle) * backward.predict(middle)
        assert abs(np.log(product).mean()) < 0.15
        assert np.log(product).std() < 0.35

    @pytest.mark.parametrize("width", ["cv", "knn", "median", "silverman", 0.7, [0.5, 1.0]])
    def test_row_order_does_not_matter(self, width, rng):
        X_source, X_target, _ = gaussians(60, 150, shift=0.5)
        order = rng.permutation(60)
        options = {"width": width, "n_centers": 20}
        one = ULSIF(**options).fit(X_source, X_target)
        other = ULSIF(**options).fit(X_source[order], X_target[rng.permutation(150)])
        assert_allclose(other.weights_, one.weights_[order], rtol=1e-7, atol=1e-9)
        assert other.regularization_ == one.regularization_

    def test_units_do_not_matter(self):
        X_source, X_target, _ = gaussians(60, 150, shift=0.5)
        one = ULSIF().fit(X_source, X_target)
        other = ULSIF().fit(X_source * 1024 + 512, X_target * 1024 + 512)
        assert_allclose(other.weights_, one.weights_, rtol=1e-6, atol=1e-8)
        assert other.regularization_ == one.regularization_

    def test_the_best_pair_of_the_grid_is_used(self):
        X_source, X_target, _ = gaussians(80, 90)
        widths, penalties = [0.3, 1.0, 3.0], [0.01, 0.1, 1.0]
        ratio = ULSIF(width=widths, regularization=penalties, n_centers=15)
        ratio.fit(X_source, X_target)
        expected = [
            [
                loo_by_refits(X_source, X_target, ratio.centers_, w, p, 0.0, cap=np.sqrt(80))
                for p in penalties
            ]
            for w in widths
        ]
        assert_allclose(ratio.loo_scores_, expected, rtol=1e-7)
        row, column = np.unravel_index(np.argmax(expected), (3, 3))
        assert (ratio.width_, ratio.regularization_) == (widths[row], penalties[column])

    def test_predict_gives_the_weights_back(self, xp):
        X_source, X_target, _ = gaussians(40, 90, shift=0.5)
        X_source, X_target = xp.asarray(X_source), xp.asarray(X_target)
        ratio = ULSIF(n_centers=30, alpha=0.1).fit(X_source, X_target)
        assert_allclose(to_numpy(ratio.predict(X_source)), to_numpy(ratio.weights_), rtol=1e-9)

    def test_many_rows_go_through_in_blocks(self):
        # Large enough for several blocks in each pass; against moments of the whole.
        X_source, X_target, _ = gaussians(90000, 85000, 1, shift=0.5)
        ratio = ULSIF(width=1.0, regularization=0.1).fit(X_source, X_target)
        expected = coef_by_definition(X_source, X_target, ratio.centers_, 1.0, 0.1, 0.0)
        assert_allclose(ratio.coef_, expected, rtol=1e-8, atol=1e-10)
        assert_allclose(ratio.predict(X_source[:100]), ratio.weights_[:100], rtol=1e-9)
        small = ULSIF(width=1.0, regularization=0.1).fit(X_source[::9], X_target[::9])
        assert_allclose(ratio.loo_scores_, small.loo_scores_, rtol=0.05)

    def test_disjoint_supports_warn(self):
        X_source, X_target, _ = gaussians(40, 60, shift=30.0)
        for width in ("cv", "knn", 0.5):
            with pytest.warns(RuntimeWarning, match="hardly overlap"):
                ratio = ULSIF(width=width).fit(X_source, X_target)
            assert np.isfinite(ratio.weights_).all()

    def test_constant_features_and_duplicates(self):
        X_source, X_target, _ = gaussians(40, 60, shift=0.3)
        options = {"width": 1.0, "regularization": 0.1}
        plain = ULSIF(**options).fit(X_source, X_target)
        constant = (np.hstack([X, np.ones((len(X), 1))]) for X in (X_source, X_target))
        assert_allclose(ULSIF(**options).fit(*constant).weights_, plain.weights_, rtol=1e-7)
        twice = (np.vstack([X, X]) for X in (X_source, X_target))
        double = ULSIF(width=1.0, regularization=0.2, n_centers=200).fit(*twice)
        assert_allclose(double.weights_[:40], plain.weights_, rtol=1e-7)
        with pytest.raises(ValueError, match="`width"):
            ULSIF().fit(np.ones((5, 2)), np.ones((6, 2)))

    def test_one_row(self):
        _, X_target, _ = gaussians(1, 60)
        ratio = ULSIF().fit(X_target[:1], X_target)
        assert np.isnan(ratio.loo_scores_).all()
        assert ratio.regularization_ == pytest.approx(0.1)
        assert np.isfinite(ratio.weights_).all()

    def test_clone_and_random_state(self):
        X_source, X_target, _ = gaussians(40, 200)
        one, same, other = (
            clone(ULSIF(random_state=s, n_centers=10)).fit(X_source, X_target) for s in (1, 1, 2)
        )
        assert np.array_equal(one.weights_, same.weights_)
        assert not np.array_equal(one.centers_, other.centers_)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"regularization": 0.0}, "`regularization` must be a number above 0"),
            ({"regularization": [0.1, -1.0]}, "`regularization` must be a number above 0"),
            ({"regularization": []}, "`regularization` must not be empty"),
            ({"regularization": "auto"}, "`regularization` must be a number above 0"),
            ({"alpha": 1.0}, "`alpha` must be a number at least 0 and below 1"),
            ({"alpha": -0.1}, "`alpha` must be a number at least 0 and below 1"),
            ({"width": -1.0}, "`width` must be"),
            ({"width": []}, "`width` must not be empty"),
            ({"n_centers": 2.5}, "`n_centers` must be an integer"),
        ],
    )
    def test_bad_parameters(self, options, message):
        X_source, X_target, _ = gaussians(10, 12)
        with pytest.raises(ValueError, match=message):
            ULSIF(**options).fit(X_source, X_target)
