"""How well a classifier separates two samples, and the share of the target beyond the source."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtr, ndtri
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from counterpoise._neighbors import Neighbors
from counterpoise.encoding.rows import some_rows

__all__ = [
    "EXPECTED_OUTSIDE",
    "TwoSampleTest",
    "delong",
    "outside_by_chance",
    "outside_share",
    "two_sample_test",
]

# Share of rows of the source's own distribution that count as outside, by construction.
EXPECTED_OUTSIDE = 0.01
# Rows of each domain that are looked at; what they say is sharp enough.
_ROWS = 5000
# Source rows among which the nearest is sought.
_SOURCE_ROWS = 50_000
# Features up to which products of two features are offered to the classifier.
_PRODUCTS = 20
# Distances, in pooled standard deviations, that differ by less count as equal.
_SLACK = 1e-6


@dataclass(frozen=True)
class TwoSampleTest:
    """How well a classifier tells target rows from source rows that it has not seen.

    Attributes
    ----------
    auc : float
        Area under the curve, averaged over folds; 0.5 for equal domains, 1 for disjoint ones.
        NaN with fewer than 4 rows in a domain.
    standard_error : float
        By DeLong within each fold; folds count as independent, which is too small by up to
        sqrt(2) for domains that are nearly equal.
    p_value : float
        One-sided, normal. Uses the larger of DeLong's standard error and sqrt(2) times that of
        the rank-sum statistic, which allows for the dependence of folds under equality.
    """

    auc: float
    standard_error: float
    p_value: float


def two_sample_test(source: Any, target: Any, /, *, rng: np.random.Generator) -> TwoSampleTest:
    """Cross-validate a quadratic logistic regression that tells target from source.

    Features are replaced by normal scores of their pooled ranks, their squares and, up to 20
    features, their products: the test sees means, spreads and correlations, whatever the units
    and tails, and is blind to finer differences. At most 5000 rows of each domain, five folds.

    Only rows of one fold are compared with each other. Scores of different models are not on one
    scale, and pooling them draws the area under equality below 0.5.
    """
    source, target = _subsample(source, _ROWS, rng), _subsample(target, _ROWS, rng)
    smaller = min(source.shape[0], target.shape[0])
    if smaller < 4:
        return TwoSampleTest(math.nan, math.nan, math.nan)
    X = np.concatenate([source, target])
    is_target = np.repeat([0, 1], [source.shape[0], target.shape[0]])
    # Ranks are taken without looking at the domains: nothing leaks into the held-out rows.
    X = _normal_scores(X)
    products = [PolynomialFeatures(2, include_bias=False)] if X.shape[1] <= _PRODUCTS else []
    if not products:
        X = np.concatenate([X, X**2], axis=1)
    model = make_pipeline(*products, StandardScaler(), LogisticRegression(C=0.1, max_iter=200))
    folds = StratifiedKFold(
        min(5, smaller // 2), shuffle=True, random_state=int(rng.integers(2**31))
    )
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for train, test in folds.split(X, is_target):
            score = model.fit(X[train], is_target[train]).decision_function(X[test])
            found.append(_fold(score[is_target[test] == 0], score[is_target[test] == 1]))
    pairs, areas, variances, nulls = np.asarray(found).T
    share = pairs / np.sum(pairs)
    auc = float(share @ areas)
    error, null = (math.sqrt(float(share**2 @ v)) for v in (variances, nulls))
    # For equal domains every score is noise fitted in other folds: each pair of folds meets twice,
    # once as training and once as test, with the same sign, which doubles the variance.
    null *= math.sqrt(2.0)
    return TwoSampleTest(auc, error, float(ndtr((0.5 - auc) / max(error, null))))


def _normal_scores(X: np.ndarray) -> np.ndarray:
    """Return normal quantiles of the ranks in each column, ties at their mean; cut at 1e-7.

    Rows at the ends of a column are at the ends of the scores, however many they are: a mass of
    zeros stands apart. These are the scores of scikit-learn's `QuantileTransformer` with as many
    quantiles as rows, without its loop over columns.
    """
    share = (rankdata(X, axis=0) - 1) / (X.shape[0] - 1)
    share = np.where(np.min(X, axis=0) == X, 0.0, share)
    share = np.where(np.max(X, axis=0) == X, 1.0, share)
    scores: np.ndarray = ndtri(np.clip(share, 1e-7, 1 - 1e-7))
    return scores


def _fold(low: np.ndarray, high: np.ndarray) -> tuple[float, float, float, float]:
    """Pairs, area, its variance, and its variance if the domains were equal."""
    n, m = low.shape[0], high.shape[0]
    return (n * m, *delong(low, high), (n + m + 1) / (12 * n * m))


def delong(low: np.ndarray, high: np.ndarray, /) -> tuple[float, float]:
    """Area under the curve P(low < high) + P(low = high) / 2, and DeLong's variance of it.

    var = var_i V10 / m + var_j V01 / n, where V10_i is the share of `low` below the i-th of the m
    `high` scores and V01_j the share of `high` above the j-th of the n `low` scores; from ranks,
    in n log n.

    Parameters
    ----------
    low, high : arrays of shape (n,) and (m,), at least 2 scores each

    References
    ----------
    E. DeLong et al., Biometrics 44 (1988) 837-845, doi:10.2307/2531595.
    """
    n, m = low.shape[0], high.shape[0]
    ranks = rankdata(np.concatenate([low, high]))
    above = (ranks[n:] - rankdata(high)) / n
    below = 1.0 - (ranks[:n] - rankdata(low)) / m
    return float(np.mean(above)), float(np.var(above, ddof=1) / m + np.var(below, ddof=1) / n)


def outside_share(
    source: Any, target: Any, /, *, rng: np.random.Generator, spread: np.ndarray | None = None
) -> float:
    """Share of target rows outside the source's support.

    A row is outside when its distance to the nearest source row exceeds the 0.99 quantile of the
    source rows' distances to the nearest *other* source row. Features are divided by the spread
    within the domains, pooled. If the domains are equal, about 1 % of the target is outside.

    At most 5000 rows of each domain are asked, and at most 50 000 source rows answer. In many
    dimensions all distances are alike and the share is too low: it then sees only gaps that are
    large in most features.

    `spread`, of shape (D,), saves a look at all rows where it is known.
    """
    if spread is None:
        spread = np.sqrt((np.var(source, axis=0) + np.var(target, axis=0)) / 2)
    spread = np.where(spread > 0, spread, 1.0)
    source = _subsample(source, _SOURCE_ROWS, rng) / spread
    asked, target = _subsample(source, _ROWS, rng), _subsample(target, _ROWS, rng) / spread
    neighbors = Neighbors(source)
    limit = 0.0
    if source.shape[0] > 1:
        # The nearest of all is the row itself.
        limit = float(np.quantile(neighbors.kth_distance(asked, 2), 1 - EXPECTED_OUTSIDE))
    return float(np.mean(neighbors.kth_distance(target, 1) > limit + _SLACK))


def outside_by_chance(n_source: int, n_target: int, /) -> float:
    """Return the share outside that equal domains exceed with a probability of about 0.1 %.

    The limit of `outside_share` is about the k-th largest of n distances, k = 0.01 n + 2: a new row
    exceeds it with a probability that has about a gamma distribution of shape k and scale 1 / n.
    Three standard errors for the target rows are added.
    """
    k = math.floor(EXPECTED_OUTSIDE * (n_source - 1)) + 2
    share = float(gammaincinv(k, 0.999)) / n_source
    return share + 3 * math.sqrt(share / n_target)


def _subsample(X: Any, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return at most `most` rows. Which ones depends on their number only."""
    rows: np.ndarray = X[some_rows(X.shape[0], most, rng)]
    return rows
