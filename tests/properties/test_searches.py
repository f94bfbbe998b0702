"""Every search and ridge estimator, and cross-validated risk, on generated tables.

The searches are found among the public names: a class that has `fit`, and ends in `CV`.
"""

import inspect

import numpy as np
import pytest
from fuzzing import assert_close, holds_for, quiet, samples
from hypothesis import reject
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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


@every_search
@holds_for(case=tables, kind=weights_kinds, cost=COST)
def test_the_order_of_candidates_does_not_matter(name, case, kind):
    y, weights = labels_for(name, case, classes=False), weights_for(kind, case)
    splits = splits_of(case, y)
    one = fit(make(name, cv=splits, weights=weights), case.X, y, case.Z)
    other = fit(make(name, cv=splits, weights=weights, grid=ALPHAS[::-1]), case.X, y, case.Z)
    first, second = (_by_penalty(search) for search in (one, other))
    assert first.keys() == second.keys()
    for key, numbers in first.items():
        assert_close(second[key], numbers, rtol=1e-7, scale=np.nanmax(curve(one)))


def _by_penalty(search):
    numbers = curve(search).T
    if hasattr(search, "alphas_"):
        return dict(zip(map(float, search.alphas_), numbers, strict=True))
    keys = [next(iter(params.values())) for params in search.cv_results_["params"]]
    return dict(zip(keys, numbers, strict=True))


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
def test_frames_are_arrays(name, case, kind):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    y, weights = labels_for(name, case, classes=False), weights_for(kind, case)
    splits = splits_of(case, y)
    one = fit(make(name, cv=splits, weights=weights), case.X, y, case.Z)
    names = [f"x{j}" for j in range(case.X.shape[1])]
    index = case.rng.permutation(len(y)) + 3
    for X, Z, labels in (
        (
            pandas.DataFrame(case.X, columns=names, index=index),
            pandas.DataFrame(case.Z, columns=names),
            pandas.Series(y, index=index),
        ),
        (
            polars.DataFrame(case.X, schema=names),
            polars.DataFrame(case.Z, schema=names),
            polars.Series(y),
        ),
    ):
        other = fit(make(name, cv=splits, weights=weights), X, labels, Z)
        assert_close(curve(other), curve(one), rtol=1e-9)
        assert_close(other.predict(Z), one.predict(case.Z), rtol=1e-9)


@every_search
@holds_for(case=tables, cost=COST)
def test_storage_does_not_matter_and_nothing_is_written(name, case):
    y = labels_for(name, case, classes=False)
    splits = splits_of(case, y)
    for array in (case.X, case.Z, y):
        array.setflags(write=False)
    one = fit(make(name, cv=splits, weights="gaussian"), case.X, y, case.Z)

    def strided(A):
        wide = np.zeros((2 * A.shape[0], 3 * A.shape[1]))
        wide[::2, ::3] = A
        return wide[::2, ::3]

    for kind in (np.asfortranarray, strided):
        other = fit(make(name, cv=splits, weights="gaussian"), kind(case.X), y, kind(case.Z))
        assert_close(curve(other), curve(one), rtol=1e-8)


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


@every_search
@holds_for(case=tables, cost=COST)
def test_ones_are_no_weights(name, case):
    y = labels_for(name, case, classes=False)
    splits, ones = splits_of(case, y), np.ones(len(y))
    one = fit(make(name, cv=splits, weights=None, method="source"), case.X, y)
    other = fit(make(name, cv=splits, weights=ones, method="source"), case.X, y)
    assert_close(curve(other), curve(one), rtol=1e-7)


@holds_for(case=tables, power=st.integers(1, 12), cost=COST)
def test_units_do_not_matter_to_the_risk_of_least_squares(case, power):
    # scikit-learn 1.9 takes columns of very different scales for dependent ones: scale them first.
    model = make_pipeline(StandardScaler(), LinearRegression())
    unit = 2.0 ** (power * case.rng.integers(-1, 2, size=case.X.shape[1]))
    options = {"weights": "gaussian", "cv": splits_of(case, case.y)}
    one, other = (
        quiet(cp.cross_val_risk, model, case.X * u, case.y, case.Z * u, **options)
        for u in (1.0, unit)
    )
    assert other.value == pytest.approx(one.value, rel=1e-6)
    assert other.standard_error == pytest.approx(one.standard_error, rel=1e-5)
