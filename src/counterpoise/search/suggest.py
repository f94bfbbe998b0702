"""Which target rows to label: a random sample, denser where losses are expected to vary more.

The rows with the largest expected loss, or with the largest weight, would be a biased sample. So
target rows are divided into strata by their expected loss, and rows are drawn at random within
strata, more of them where the loss varies more (Neyman's allocation). Every row has a known
probability to be drawn, and the mean loss with strata counted by their size is unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from counterpoise._validation import check_number
from counterpoise.encoding import encode_pair
from counterpoise.search.cross_val import check_labelled
from counterpoise.search.labelled import TargetLabels, is_missing, join_strata

__all__ = ["Suggestion", "draw_rows", "expected_losses", "suggest_rows"]

# Rows drawn per stratum, on average, and the most strata.
_PER_STRATUM, _MOST_STRATA = 6, 8
# Part of the rows that is drawn evenly, whatever is expected: no row's probability is below this
# part of that of a plain random sample.
_EVEN = 0.5
# Trees of the forests, and the most source rows that they are fitted to.
_TREES, _MOST_ROWS = 200, 20_000


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Target rows to label, and how they were drawn.

    Attributes
    ----------
    rows : int array of shape (k,)
        Places among the target rows, ascending.
    strata : int array of shape (k,)
        Stratum of each, from 0, the least expected loss first.
    shares : array of shape (n_strata,)
        Share of the target's rows in each stratum.
    probability : array of shape (k,)
        Of being drawn, equal within a stratum.
    expected_loss, spread : arrays of shape (k,)
        Expected loss at the row, and how much losses vary around it: squared error for numbers,
        Brier score for classes, of a random forest.
    """

    rows: np.ndarray
    strata: np.ndarray
    shares: np.ndarray
    probability: np.ndarray
    expected_loss: np.ndarray
    spread: np.ndarray

    def labels(self, y: Any, /) -> TargetLabels:
        """Return the labels of `rows`, missing where unknown, for `y_target` of a search."""
        known = np.flatnonzero(~is_missing(y))
        strata, shares = join_strata(self.strata[known], self.shares)
        values = np.array(np.ma.getdata(np.asanyarray(y))[known].tolist())
        return TargetLabels(self.rows[known], values, strata, shares)


def suggest_rows(
    X: Any,
    y: Any,
    X_target: Any,
    count: int,
    /,
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Suggestion:
    """Draw target rows whose labels would narrow the interval of the target risk most.

    A random forest says what a target row is expected to cost and how much that varies: for classes
    by its probabilities, for numbers by a second forest of the first one's squared errors out of
    bag. No model of a later search is needed: rows that are hard for one model are mostly hard for
    others.

    Parameters
    ----------
    X : array or data frame of shape (n_source, n_features)
    y : array of shape (n_source,)
        Text, booleans and few whole numbers are classes.
    X_target : like X, of shape (n_target, n_features)
    count : int
        Rows to draw, at least 2 and at most half of the target.
    random_state : int, default=0
    n_jobs : int, optional
        Threads for the forests.

    Returns
    -------
    Suggestion

    Examples
    --------
    >>> import counterpoise as cp
    >>> problem = cp.datasets.gaussian_2d(gamma=0.6)
    >>> X, y, X_target, y_target = problem.sample(200, 500, random_state=0)
    >>> found = cp.search.suggest_rows(X, y, X_target, 20)
    >>> len(found.rows)
    20
    >>> labels = found.labels(y_target[found.rows])  # ask somebody for these
    """
    X, y, _ = check_labelled(X, y, None, "suggest_rows")
    pair = encode_pair(X, X_target)
    source, target = pair.independent(pair.source), pair.independent(pair.target)
    check_number(count, "count", low=2, high=len(target) // 2, closed="both", integer=True)
    rng = np.random.default_rng(random_state)
    if len(source) > _MOST_ROWS:
        kept = rng.choice(len(source), _MOST_ROWS, replace=False)
        source, y = source[kept], y[kept]
    forest = {"n_estimators": _TREES, "random_state": random_state, "n_jobs": n_jobs}
    return draw_rows(*expected_losses(source, y, target, forest), count, rng)


def expected_losses(
    X: np.ndarray, y: np.ndarray, target: np.ndarray, forest: dict[str, Any], /
) -> tuple[np.ndarray, np.ndarray]:
    """Return what target rows are expected to cost and how much that varies, (m,) each.

    `forest` holds options of scikit-learn's random forests.
    """
    expect = _expect_numbers if _is_number(y) else _expect_classes
    return expect(X, y, target, forest)


def _is_number(y: np.ndarray) -> bool:
    """Whether the labels are numbers; few whole numbers are classes."""
    if y.dtype.kind not in "fiu":
        return False
    return len(np.unique(y)) > min(10, len(y) / 2) or bool(np.any(y != np.round(y)))


def _expect_numbers(
    X: np.ndarray, y: np.ndarray, target: np.ndarray, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and spread of squared errors at the target rows, by a forest of them."""
    shared = {"max_features": 0.5, **options}
    model = RandomForestRegressor(min_samples_leaf=3, oob_score=True, **shared).fit(X, y)
    losses = (y - model.oob_prediction_) ** 2
    scale = np.mean(losses) or 1.0
    leaf = max(5, len(X) // 40)
    forest = RandomForestRegressor(min_samples_leaf=leaf, **shared)
    both = np.stack([losses / scale, (losses / scale) ** 2], axis=1)
    expected, square = forest.fit(X, both).predict(target).T
    return scale * expected, scale * np.sqrt(np.maximum(square - expected**2, 0.0))


def _expect_classes(
    X: np.ndarray, y: np.ndarray, target: np.ndarray, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and spread of the Brier score at the target rows, if a forest is right."""
    model = RandomForestClassifier(min_samples_leaf=3, **options).fit(X, y)
    chance = model.predict_proba(target)
    # Of each label: (1 - p_c)^2 + sum of the other p^2, halved.
    scores = 0.5 * (1 - 2 * chance + np.sum(chance**2, axis=1, keepdims=True))
    expected = np.sum(chance * scores, axis=1)
    return expected, np.sqrt(np.sum(chance * (scores - expected[:, None]) ** 2, axis=1))


def draw_rows(
    expected: np.ndarray, spread: np.ndarray, count: int, rng: np.random.Generator, /
) -> Suggestion:
    """Draw rows by strata of the expected loss (m,), with Neyman's allocation.

    k_h is proportional to m_h S_h, with S_h^2 the variance of losses in stratum h: the mean of
    `spread`^2 plus the variance of `expected`. Half of the rows are drawn in proportion to m_h.
    Strata are cut so that each gets about as many rows.
    """
    m = len(expected)
    wanted = int(np.clip(count // _PER_STRATUM, 1, _MOST_STRATA))
    order = np.lexsort((rng.random(m), expected))
    typical = np.sqrt(np.mean(spread**2)) or 1.0
    size = (1 - _EVEN) * spread / typical + _EVEN
    edges = np.cumsum(size[order]) / np.sum(size)
    cut = np.empty(m, dtype=np.int64)
    cut[order] = np.minimum((edges * wanted).astype(np.int64), wanted - 1)
    _, strata = np.unique(cut, return_inverse=True)
    sizes = np.bincount(strata)
    variances = [np.mean(spread[own] ** 2) + np.var(expected[own]) for own in _members(strata)]
    needs = sizes * np.sqrt(variances)
    neyman = needs / needs.sum() if needs.sum() > 0 else sizes / m
    drawn = _whole((1 - _EVEN) * neyman + _EVEN * sizes / m, sizes, count)
    parts = [
        rng.choice(members, drawn[h], replace=False) for h, members in enumerate(_members(strata))
    ]
    found = np.sort(np.concatenate(parts))
    own = strata[found]
    chance = (drawn / sizes)[own]
    return Suggestion(found, own, sizes / m, chance, expected[found], spread[found])


def _members(strata: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(strata == h) for h in range(int(strata.max()) + 1)]


def _whole(shares: np.ndarray, sizes: np.ndarray, count: int) -> np.ndarray:
    """Whole numbers near `count` times the shares: at least 2 or all, at most the sizes."""
    least = np.minimum(2, sizes)
    drawn: np.ndarray = np.clip(np.floor(shares * count).astype(np.int64), least, sizes)
    while drawn.sum() != count:
        step = 1 if drawn.sum() < count else -1
        room = drawn < sizes if step > 0 else drawn > least
        if not room.any():
            break
        gap = np.where(room, step * (shares * count - drawn), -np.inf)
        drawn[int(np.argmax(gap))] += step
    return drawn
