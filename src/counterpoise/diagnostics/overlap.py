"""How well a classifier separates two samples, and the share of the target beyond the source."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import numpy as xp
from scipy.special import gammaincinv, ndtr, ndtri
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from counterpoise._neighbors import Neighbors
from counterpoise._pareto import FEWEST, fit_generalized_pareto, tail_size
from counterpoise.encoding.rows import some_rows


def pareto_k(values: np.ndarray, /) -> float:
    """Shape k of the upper tail of `values`, as in Pareto-smoothed importance sampling.

    The largest min(0.2 n, 3 sqrt(n)) values are taken as exceedances of the next largest one, and
    a generalised Pareto distribution is fitted to them. Moments of order 1/k and above do not
    exist: above k = 0.5 the variance is infinite, above 1 the mean (arXiv:1507.02646).

    Parameters
    ----------
    values : array of shape (n,)
        Not negative.

    Returns
    -------
    float
        NaN where fewer than 5 values exceed the threshold: too few values, or ties.

    Examples
    --------
    >>> import numpy as np
    >>> quantiles = (np.arange(2000) + 0.5) / 2000
    >>> heavy = (1 - quantiles) ** -0.8  # a Pareto tail with k = 0.8
    >>> round(pareto_k(heavy), 1)
    0.8
    """
    n = values.shape[0]
    return shape_of_largest(largest_values(values, tail_size(n) + 1), n)


def largest_values(values: np.ndarray, count: int, /) -> np.ndarray:
    """Return the `count` largest of values (n,), in increasing order; all of them if n is less."""
    start = max(values.shape[0] - count, 0)
    return np.sort(np.partition(values, start)[start:])


def shape_of_largest(largest: np.ndarray, n: int, /) -> float:
    """Return `pareto_k` of n values from the largest of them, at least `tail_size(n)` + 1."""
    size = tail_size(n)
    if size >= n:
        return math.nan
    largest = largest[largest.shape[0] - size - 1 :]
    exceedances = largest[1:] - largest[0]
    exceedances = exceedances[exceedances > 1e-12 * largest[0]]
    if exceedances.shape[0] < FEWEST:
        return math.nan
    return float(fit_generalized_pareto(xp, exceedances)[0])


# Share of rows of the source's own distribution that count as outside, by construction.
EXPECTED_OUTSIDE = 0.01
# Rows of each domain that are looked at, and source rows among which the nearest is sought.
_ROWS, _SOURCE_ROWS = 5000, 50_000
# Features up to which products of two features are offered to the classifier.
_PRODUCTS = 20
# Distances, in pooled standard deviations, that differ by less count as equal.
_SLACK = 1e-6


@dataclass(frozen=True)
class TwoSampleTest:
    """How well a classifier tells target rows from source rows that it has not seen."""

    # Area under the curve, averaged over folds; 0.5 for equal domains, 1 for disjoint ones. NaN
    # with fewer than 4 rows in a domain.
    auc: float
    # One-sided, for equal domains: normal, with sqrt(2) times the standard error of the rank-sum
    # statistics, which allows for the dependence of folds.
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
        return TwoSampleTest(math.nan, math.nan)
    X = np.concatenate([source, target])
    is_target = np.repeat([0, 1], [source.shape[0], target.shape[0]])
    # Ranks are taken without looking at the domains: nothing leaks into the held-out rows.
    X = ndtri((rankdata(X, axis=0) - 0.5) / len(X))
    products = [PolynomialFeatures(2, include_bias=False)] if X.shape[1] <= _PRODUCTS else []
    if not products:
        X = np.concatenate([X, X**2], axis=1)
    model = make_pipeline(*products, StandardScaler(), LogisticRegression(C=0.1, max_iter=200))
    seed = int(rng.integers(2**31))
    folds = StratifiedKFold(min(5, smaller // 2), shuffle=True, random_state=seed)
    judged = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for train, test in folds.split(X, is_target):
            score = model.fit(X[train], is_target[train]).decision_function(X[test])
            m = np.sum(is_target[test])
            judged.append((roc_auc_score(is_target[test], score), len(test) - m, m))
    areas, n, m = np.transpose(judged)
    share = n * m / np.sum(n * m)
    auc = float(share @ areas)
    # For equal domains every score is noise fitted in other folds: each pair of folds meets twice,
    # once as training and once as test, with the same sign, which doubles the variance.
    error = math.sqrt(2.0 * float(share**2 @ ((n + m + 1) / (12 * n * m))))
    return TwoSampleTest(auc, float(ndtr((0.5 - auc) / error)))


def outside_share(
    source: Any, target: Any, spread: np.ndarray, /, *, rng: np.random.Generator
) -> float:
    """Share of target rows outside the source's support.

    A row is outside when its distance to the nearest source row exceeds the 0.99 quantile of the
    source rows' distances to the nearest *other* source row. Features are divided by `spread`, the
    pooled one within the domains, (D,). If the domains are equal, about 1 % of the target is
    outside.

    At most 5000 rows of each domain are asked, and at most 50 000 source rows answer. In many
    dimensions all distances are alike and the share is too low: it then sees only gaps that are
    large in most features.
    """
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
