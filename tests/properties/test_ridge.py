"""The ridge estimators, on generated rows: in copies, in other units, under other names."""

import numpy as np
import pytest
from fuzzing import assert_close, holds_for, quiet, samples
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.risk.methods import METHODS

ALPHAS = np.asarray([0.01, 0.3, 10.0])
# Not of a forest: which of two equal splits it takes goes by the order of the columns.
every_method = pytest.mark.parametrize("method", sorted({*METHODS} - {"modelled"}))
rows = samples(n=(24, 60), m=(12, 40), columns=(1, 5))
COST = 2


def numbers(model):
    risk = model.risk_curve_
    return np.stack([risk.value, risk.standard_error])


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
    if other.alpha_ == one.alpha_:  # else two are as good, to rounding
        assert_close(other.coef_, one.coef_, rtol=1e-6)


@every_method
@holds_for(case=rows, power=st.integers(-8, 8), cost=COST)
def test_the_unit_and_the_order_of_columns_do_not_matter(method, case, power):
    # X times c and the penalty times c^2 is the same model.
    unit, order = 2.0**power, case.rng.permutation(case.X.shape[1])
    Y = np.stack([case.y, case.y**2], axis=1)
    options = {"cv": 3, "method": method, "weights": case.rng.exponential(size=len(Y)) + 0.05}
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
