"""Every search and ridge estimator, on generated tables.

The searches are found among the public names: a class that has `fit`, and ends in `CV`.
"""

import inspect

import numpy as np
import pytest
from fuzzing import assert_close, holds_for, quiet, samples
from hypothesis import reject
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression, Ridge

import counterpoise as cp

ALPHAS = [0.01, 0.3, 10.0]
COST = 3


def found_searches():
    named = {name: getattr(cp, name) for name in cp.__all__ if name.endswith("CV")}
    return {name: found for name, found in named.items() if inspect.isclass(found)}


SEARCHES = found_searches()
every_search = pytest.mark.parametrize("name", SEARCHES)
of_numbers = pytest.mark.parametrize("name", [n for n in SEARCHES if "Classifier" not in n])


def make(name, *, classes=False, grid=None, **options):
    """Return a search over a few penalties: of ridge regression, or logistic regression."""
    search = SEARCHES[name]
    if "alphas" in inspect.signature(search).parameters:
        return search(alphas=ALPHAS if grid is None else grid, **options)
    estimator = LogisticRegression() if classes else Ridge()
    space = {"C" if classes else "alpha": ALPHAS if grid is None else grid}
    if "n_iter" in inspect.signature(search).parameters:
        options |= {"n_iter": 3, "random_state": 0}
    return search(estimator, space, **options)


def curve(search):
    """Return value and standard error of every candidate."""
    risk = search.risk_ if hasattr(search, "risk_") else search.risk_curve_
    return np.stack([risk.value, risk.standard_error])


def labels_for(name, case, *, classes):
    """Return numbers, or as many labels -1 as 1."""
    if not (classes or "Classifier" in name):
        return case.y
    return np.where(case.y > np.median(case.y), 1, -1)


def splits_of(case, y, folds=3):
    """Return splits whose parts have both classes, in a random order of rows."""
    order = case.rng.permutation(len(y))
    order = order[np.argsort(y[order] > np.median(y), kind="stable")]
    parts = [np.sort(order[k::folds]) for k in range(folds)]
    return [(np.setdiff1d(np.arange(len(y)), part), part) for part in parts]


def fit(search, X, y, Z=None):
    try:
        return quiet(search.fit, X, y, X_target=Z)
    except ValueError as error:
        # Samples that lie hundreds of standard deviations apart are refused, as they should be.
        if "`weights` are all 0" in str(error):
            reject()
        raise


tables = samples(n=(24, 40), m=(20, 40), columns=(1, 3))
weights_kinds = st.sampled_from(["gaussian", "nearest", None, "given"])


def weights_for(kind, case):
    return case.rng.exponential(size=len(case.X)) if kind == "given" else kind


@every_search
@pytest.mark.parametrize("classes", [False, True])
@holds_for(case=tables, kind=weights_kinds, cost=COST)
def test_the_order_of_rows_does_not_matter(name, classes, case, kind):
    y, weights = labels_for(name, case, classes=classes), weights_for(kind, case)
    splits = splits_of(case, y)
    order, others = case.rng.permutation(len(y)), case.rng.permutation(len(case.Z))
    place = np.argsort(order)
    moved = [(np.sort(place[train]), np.sort(place[test])) for train, test in splits]
    given = weights[order] if kind == "given" else weights
    one = fit(make(name, classes=classes, cv=splits, weights=weights), case.X, y, case.Z)
    other = fit(
        make(name, classes=classes, cv=moved, weights=given),
        case.X[order],
        y[order],
        case.Z[others],
    )
    assert_close(curve(other), curve(one), rtol=1e-5 if classes else 1e-6)


@of_numbers
@holds_for(case=tables, power=st.integers(-10, 10), place=st.integers(-64, 64), cost=COST)
def test_the_unit_and_the_origin_of_the_labels_do_not_matter(name, case, power, place):
    splits = splits_of(case, case.y)
    one = fit(make(name, cv=splits, weights="gaussian"), case.X, case.y, case.Z)
    unit = 2.0**power
    other = fit(make(name, cv=splits, weights="gaussian"), case.X, unit * (case.y + place), case.Z)
    assert_close(curve(other), unit**2 * curve(one), rtol=1e-6)
    if other.best_index_ != one.best_index_:
        # Penalties far below the size of the features: rounding decides between equal models.
        tied = [curve(one)[0, search.best_index_] for search in (one, other)]
        assert tied[0] == pytest.approx(tied[1], rel=1e-5)
        return
    want = unit * (one.predict(case.Z) + place)
    assert_close(other.predict(case.Z), want, rtol=1e-6)


@every_search
@holds_for(case=tables, kind=weights_kinds, cost=COST)
def test_storage_and_frames_do_not_matter_and_nothing_is_written(name, case, kind):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    y, weights = labels_for(name, case, classes=False), weights_for(kind, case)
    splits = splits_of(case, y)
    for array in (case.X, case.Z, y):
        array.setflags(write=False)
    one = fit(make(name, cv=splits, weights=weights), case.X, y, case.Z)
    names = [f"x{j}" for j in range(case.X.shape[1])]
    for features, labels in (
        (np.asfortranarray, np.ndarray.tolist),
        (lambda A: np.repeat(A, 3, axis=1)[:, ::3], np.asarray),
        (lambda A: pandas.DataFrame(A, columns=names, index=3 + np.arange(len(A))[::-1]), None),
        (lambda A: polars.DataFrame(A, schema=names), polars.Series),
    ):
        X, Z = features(case.X), features(case.Z)
        known = pandas.Series(y, index=X.index) if labels is None else labels(y)
        other = fit(make(name, cv=splits, weights=weights), X, known, Z)
        assert_close(curve(other), curve(one), rtol=1e-8)
        assert_close(other.predict(Z), one.predict(case.Z), rtol=1e-8)


@pytest.mark.parametrize("name", [n for n in SEARCHES if n != "ShiftRidgeCV"])
@holds_for(
    case=tables,
    labels=st.sampled_from([(0, 1), (1, 0), ("no", "yes"), ("yes", "no"), (5, 2), (False, True)]),
    cost=COST,
)
def test_the_names_of_two_classes_do_not_matter(name, case, labels):
    y = labels_for(name, case, classes=True)
    splits = splits_of(case, y)
    named = np.asarray(labels)[(y > 0).astype(int)]
    one = fit(make(name, classes=True, cv=splits, weights="gaussian"), case.X, y, case.Z)
    other = fit(make(name, classes=True, cv=splits, weights="gaussian"), case.X, named, case.Z)
    assert is_classifier(one)
    assert_close(curve(other), curve(one), rtol=1e-5)
    agree = np.mean((other.predict(case.Z) == labels[1]) == (one.predict(case.Z) == 1))
    assert agree > 0.97  # a row on the boundary may fall to either side
