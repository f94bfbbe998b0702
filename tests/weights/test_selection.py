import numpy as np
import pytest
from joblib import parallel_config
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from counterpoise.weights import (
    ClassifierRatio,
    DensityRatio,
    GaussianRatio,
    KernelDensityRatio,
    NearestNeighborRatio,
    select_weights,
)
from counterpoise.weights.base import held_out_scores
from counterpoise.weights.names import NAMES
from counterpoise.weights.resolve import resolve_weights


def shifted(rng, n=200, m=300, n_features=2):
    return rng.normal(-0.7, 1, (n, n_features)), rng.normal(0, 1, (m, n_features))


class Constant(DensityRatio):
    """No shift: ratio 1 everywhere."""

    def __init__(self, *, value=1.0, normalize=False, standardize=False):
        self.value, self.normalize, self.standardize = value, normalize, standardize

    def _fit(self, X_source, X_target):
        return self._ratio(X_source)

    def _ratio(self, X):
        return np.full(X.shape[0], self.value)


class Broken(Constant):
    """Fails on folds, or (late) on all rows only."""

    def __init__(self, *, rows=0, normalize=False, standardize=False):
        self.rows, self.normalize, self.standardize = rows, normalize, standardize
        self.value = 1e-3

    def _fit(self, X_source, X_target):
        if X_source.shape[0] > self.rows:
            raise RuntimeError("broken on purpose")
        return np.ones(X_source.shape[0])

    def _ratio(self, X):
        return np.exp(X[:, 0] + X[:, 1])


class Transductive(BaseEstimator):
    def fit(self, X_source, X_target):
        self.weights_ = np.ones(len(X_source))
        return self


def test_the_best_held_out_score_wins_and_is_fitted_on_all_rows(rng):
    samples = shifted(rng)
    candidates = {
        "ones": Constant(),
        "gaussian": "gaussian",
        "rough": KernelDensityRatio(width=0.05),
    }
    result = select_weights(candidates, *samples, cv=4)
    assert result.names == ("ones", "gaussian", "rough")
    assert result.scores.shape == (3, 4)
    np.testing.assert_allclose(result.mean, result.scores.mean(axis=1))
    np.testing.assert_allclose(result.standard_error, result.scores.std(axis=1, ddof=1) / 2)
    np.testing.assert_allclose(result.scores[0], 0, atol=1e-12)
    assert result.best_name == "gaussian"
    assert result.best_index == 1
    assert result.problems == {}
    np.testing.assert_array_equal(
        result.best_estimator.weights_, GaussianRatio().fit(*samples).weights_
    )
    # The Jensen-Shannon divergence, by quadrature of the log ratio: N(+-0.49, 0.98).
    points, mass = np.polynomial.hermite_e.hermegauss(60)
    log_ratio = 0.49 + np.sqrt(0.98) * points
    divergence = np.average(np.log(2) - np.logaddexp(0, -log_ratio), weights=mass)
    assert abs(result.mean[1] - divergence) < 4 * result.standard_error[1]


def test_scores_are_those_of_probabilities_at_the_best_scale_for_all_folds(rng):
    X_source, X_target = 0.5 * rng.normal(size=(90, 1)), 0.5 * rng.normal(size=(80, 1)) + 0.2
    result = select_weights([GaussianRatio()], X_source, X_target, cv=2, random_state=3)
    # Sort, shuffle, halve; fit on one half and predict the other.
    generator, parts = check_random_state(3), []
    for X in (X_source, X_target):
        order = np.argsort(X[:, 0])
        folds = KFold(2, shuffle=True, random_state=generator).split(order)
        parts.append([(order[train], order[test]) for train, test in folds])
    ratios = []
    for (train, test), (train_target, test_target) in zip(*parts, strict=True):
        model = GaussianRatio().fit(X_source[train], X_target[train_target])
        ratios.append((model.predict(X_source[test]), model.predict(X_target[test_target])))

    def scores(log_scale, folds):
        return [
            0.5 * np.mean(np.log(2 / (1 + np.exp(log_scale) * source)))
            + 0.5 * np.mean(np.log(2 / (1 + np.exp(-log_scale) / target)))
            for source, target in folds
        ]

    pooled = [tuple(np.concatenate(sample) for sample in zip(*ratios, strict=True))]
    best = minimize_scalar(lambda c: -scores(c, pooled)[0], options={"xtol": 1e-9}).x
    np.testing.assert_allclose(result.scores[0], scores(best, ratios), atol=1e-8)
    # `score` is the same with one fold.
    model = GaussianRatio().fit(X_source, X_target)
    fold = [(model.predict(X_source), model.predict(X_target))]
    best = minimize_scalar(lambda c: -scores(c, fold)[0], options={"xtol": 1e-9}).x
    assert model.score(X_source, X_target) == pytest.approx(scores(best, fold)[0], abs=1e-10)


def test_the_score_does_not_depend_on_the_scale_and_has_its_limits():
    source, target = [np.log([0.5, 2.0, 0.1])], [np.log([3.0, 0.7])]
    (score,) = held_out_scores(source, target)
    for factor in (1e-200, 1e200):
        moved = ([logs[0] + np.log(factor)] for logs in (source, target))
        np.testing.assert_allclose(held_out_scores(*moved), score, rtol=1e-9)
    zero = np.asarray([-np.inf, -np.inf])
    assert held_out_scores([zero], target)[0] == pytest.approx(np.log(2))
    assert held_out_scores(source, [zero])[0] == -np.inf
    assert held_out_scores([np.zeros(3)], [np.zeros(2)])[0] == pytest.approx(0, abs=1e-12)
    assert np.isnan(held_out_scores([np.asarray([np.nan])], target)[0])


def test_enormous_ratios_beyond_the_source_earn_little(rng):
    class Boaster(Constant):
        def _ratio(self, X):
            honest = np.exp(0.7 * X[:, 0] + 0.245)
            return np.where(X[:, 0] > 2.5, self.value * honest, honest)

    X_source, X_target = rng.normal(-0.7, 1, (200, 1)), rng.normal(0, 1, (3000, 1))
    X_source = np.minimum(X_source, 2.0)
    result = select_weights([Boaster(), Boaster(value=1e100)], X_source, X_target)
    assert abs(result.mean[1] - result.mean[0]) < 0.002


def test_failures_are_reported_and_not_fatal(rng):
    samples = shifted(rng, 100, 100)
    candidates = {
        "broken": Broken(),
        "late": Broken(rows=99),
        "zero": NearestNeighborRatio(smoothing=0),
        "transductive": Transductive(),
        "ones": Constant(),
    }
    result = select_weights(candidates, *samples)
    assert result.best_name == "ones"
    assert "broken on purpose" in result.problems["broken"]
    assert "RuntimeError on all rows" in result.problems["late"]
    assert "minus infinity" in result.problems["zero"]
    assert "no predict" in result.problems["transductive"]
    assert np.all(np.isnan(result.scores[[0, 3]]))
    assert np.isneginf(result.mean[2])
    assert "broken on purpose" in repr(result)
    assert repr(result).startswith("WeightSelection(best='ones')")


def test_all_failing_is_fatal_and_says_why(rng):
    with pytest.raises(ValueError, match=r"none could \(broken: RuntimeError in fold 0"):
        select_weights({"broken": Broken()}, *shifted(rng, 20, 20))


def test_lists_of_names_and_settings_are_named(rng):
    samples = shifted(rng, 60, 60)
    result = select_weights(
        ["gaussian", GaussianRatio(), GaussianRatio(regularization=0)], *samples
    )
    assert result.names == ("gaussian", "GaussianRatio()", "GaussianRatio(regularization=0)")
    twice = select_weights([Constant(), Constant()], *samples)
    assert twice.names == ("Constant()", "Constant() #2")
    assert twice.best_index == 0  # the first of equals


def test_rows_workers_and_repetition_do_not_matter(rng):
    X_source, X_target = shifted(rng, 60, 80)
    candidates = ["gaussian", ClassifierRatio(), "nearest"]
    one = select_weights(candidates, X_source, X_target).scores
    rows = rng.permutation(60)
    other = select_weights(candidates, X_source[rows], X_target[::-1]).scores
    np.testing.assert_allclose(other, one, rtol=1e-9)
    with parallel_config(backend="threading"):
        other = select_weights(candidates, X_source, X_target, n_jobs=2).scores
    np.testing.assert_allclose(other, one, rtol=1e-9)
    assert not np.allclose(
        select_weights(candidates, X_source, X_target, random_state=1).scores, one
    )


def test_candidates_are_not_touched(rng):
    model = ClassifierRatio()
    select_weights([model], *shifted(rng, 30, 30))
    assert not hasattr(model, "weights_")
    assert model.cv == "auto"


@pytest.mark.parametrize(
    ("candidates", "options", "message"),
    [
        ([], {}, "`candidates` must not be empty"),
        ("gaussian", {}, "`candidates` must be a list"),
        (["magic"], {}, "names among 'gaussian'.*got 'magic'"),
        ([GaussianRatio], {}, "`candidates` must hold estimators"),
        (["gaussian"], {"cv": 1}, "`cv` must be an integer at least 2"),
    ],
)
def test_bad_input_is_named(rng, candidates, options, message):
    with pytest.raises(ValueError, match=message):
        select_weights(candidates, *shifted(rng, 20, 20), **options)


def test_one_row_cannot_be_held_out(rng):
    X_source, X_target = shifted(rng, 1, 20)
    with pytest.raises(ValueError, match=r"`X_source` must have shape .* at least 2 rows"):
        select_weights(["gaussian"], X_source, X_target)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_name_means_its_estimator(rng, name):
    samples = shifted(rng, 40, 50)
    weights, estimator = resolve_weights(name, *samples)
    assert type(estimator) is type(NAMES[name]())
    np.testing.assert_array_equal(weights, NAMES[name]().fit(*samples).weights_)


def test_unknown_names_are_refused_with_the_known_ones(rng):
    with pytest.raises(ValueError, match=r"must be one of 'auto'.*'gaussian'.*got 'magic'"):
        resolve_weights("magic", *shifted(rng, 20, 20))
    with pytest.raises(ValueError, match="`X_target` is missing"):
        resolve_weights("auto", np.zeros((9, 1)), None)
