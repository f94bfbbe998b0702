"""The ridge estimators, on generated rows: in chunks, in copies, and in other units."""

from itertools import pairwise

import numpy as np
import pytest
from fuzzing import assert_close, holds_for, quiet, samples
from hypothesis import assume
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.risk.methods import METHODS

ALPHAS = np.asarray([0.01, 0.3, 10.0])
# Smoothing sorts all weights.
SUMS = [n for n, m in METHODS.items() if not m.needs_rows and n != "pareto_smoothed"]
from_sums = pytest.mark.parametrize("method", SUMS)
every_method = pytest.mark.parametrize("method", METHODS)
rows = samples(n=(24, 60), m=(12, 40), columns=(1, 5))
COST = 2


def numbers(model):
    risk = model.risk_curve_
    return np.stack([risk.value, risk.standard_error])


def cut(case, arrays, most=5):
    """Cut arrays into chunks at random places."""
    n = len(arrays[0])
    places = np.sort(case.rng.integers(0, n + 1, size=int(case.rng.integers(0, most))))
    edges = [0, *places.tolist(), n]
    return [tuple(a[i:j] for a in arrays) for i, j in pairwise(edges) if j > i]


@from_sums
@pytest.mark.parametrize("few", [True, False])
@holds_for(case=rows, weights=st.sampled_from(["gaussian", None, "given"]), cost=COST)
def test_chunks_are_memory(method, few, case, weights):
    given = case.rng.exponential(size=len(case.y)) if weights == "given" else weights
    options = {"alphas": ALPHAS, "cv": 3, "method": method, "weights": given}
    one = quiet(cp.ShiftRidgeCV(**options).fit, case.X, case.y, X_target=case.Z)
    assume(one.weights_.max() < 1e6)  # beyond, a single row decides, and digits are lost
    chunks = cut(case, (case.X, case.y))
    model = cp.ShiftRidgeCV(**options)
    with pytest.MonkeyPatch.context() as patch:
        fit = {"X_target": case.Z, "n_jobs": 1}
        if not few:  # sums over blocks, and two passes unless the weights are fitted to all rows
            patch.setattr("counterpoise.ridge.cross_validation.few_rows", lambda *_: False)
            fit |= {} if weights == "gaussian" else {"weight_rows": 8}
        other = quiet(model.fit_chunks, lambda: iter(chunks), **fit)
    scale = np.nanmax(one.risk_curve_.value)
    assert_close(other.risk_curve_.value, one.risk_curve_.value, rtol=1e-6, scale=scale)
    assert_close(other.coef_, one.coef_, rtol=1e-6)
    assert other.alpha_ == one.alpha_


@pytest.mark.parametrize("route", ["rows", "dual"])
@holds_for(case=samples(n=(8, 20), m=(12, 40), columns=(2, 30), ties=False), cost=COST)
def test_a_row_that_comes_twice_is_a_row_of_twice_the_weight(route, case):
    w = case.rng.exponential(size=len(case.y)) + 0.05
    copies = case.rng.integers(1, 3, size=len(w))
    owner = np.repeat(np.arange(len(w)), copies)
    parts = np.array_split(case.rng.permutation(len(w)), 3)
    splits = [(np.setdiff1d(np.arange(len(w)), p), p) for p in parts]
    again = [tuple(np.flatnonzero(np.isin(owner, rows)) for rows in split) for split in splits]
    y = case.y if route == "rows" else np.stack([case.y, -2 * case.y], axis=1)
    options = {"alphas": ALPHAS, "method": "normalized"}
    one = cp.ShiftRidgeCV(cv=splits[:1], weights=w * copies, **options).fit(case.X, y)
    other = cp.ShiftRidgeCV(cv=again[:1], weights=w[owner], **options).fit(case.X[owner], y[owner])
    assert_close(other.risk_curve_.value, one.risk_curve_.value, rtol=1e-6)
    assert other.alpha_ == one.alpha_
    assert_close(other.coef_, one.coef_, rtol=1e-6)


@every_method
@holds_for(case=rows, power=st.integers(-8, 8), cost=COST)
def test_the_unit_and_the_order_of_columns_do_not_matter(method, case, power):
    # X times c and the penalty times c^2 is the same model.
    unit, order = 2.0**power, case.rng.permutation(case.X.shape[1])
    Y = np.stack([case.y, case.y**2], axis=1)
    options = {"cv": 3, "method": method, "weights": "gaussian"}
    one = quiet(cp.ShiftRidgeCV(alphas=ALPHAS, **options).fit, case.X, Y, X_target=case.Z)
    X, Z = (unit * rows[:, order] for rows in (case.X, case.Z))
    other = cp.ShiftRidgeCV(alphas=unit**2 * ALPHAS, **options)
    quiet(other.fit, X, Y[:, ::-1], X_target=Z)
    assert_close(other.risk_curve_.value, one.risk_curve_.value, rtol=1e-5)
    if other.alpha_ == unit**2 * one.alpha_:
        assert_close(unit * other.coef_, one.coef_[::-1, order], rtol=1e-5)


@holds_for(
    case=rows,
    names=st.permutations(["a", "b", "c"]),
    kind=st.sampled_from([str, object]),
    cost=COST,
)
def test_the_names_of_three_classes_do_not_matter(case, names, kind):
    order = np.argsort(case.y)
    index = np.argsort(order) % 3
    parts = [order[np.arange(len(index)) // 3 % 3 == k] for k in range(3)]
    splits = [(np.setdiff1d(np.arange(len(index)), part), part) for part in parts]
    options = {"alphas": ALPHAS, "cv": splits, "weights": "gaussian"}
    one = quiet(cp.ShiftRidgeClassifierCV(**options).fit, case.X, index, X_target=case.Z)
    named = np.asarray(names, dtype=kind)[index]
    other = quiet(cp.ShiftRidgeClassifierCV(**options).fit, case.X, named, X_target=case.Z)
    assert_close(numbers(other), numbers(one), rtol=1e-6)
    place = [list(other.classes_).index(name) for name in names]
    found = other.decision_function(case.Z)[:, place]
    assert_close(found, one.decision_function(case.Z), rtol=1e-6)
