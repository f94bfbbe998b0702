"""Every weight estimator that has a name, on generated samples."""

import numpy as np
import pytest
from fuzzing import assert_close, holds_for, quiet, samples
from hypothesis import strategies as st

from counterpoise.weights.names import NAMES

every_name = pytest.mark.parametrize("name", NAMES)

# Iterative solvers stop at a gap, not at the last digit.
ROUNDING = {"kmm": 2e-3, "kliep": 1e-3, "ulsif": 1e-5, "classifier": 1e-3}
# Folds of its rows, sorted by the first column, choose its width.
SORTS_BY_COLUMN = ("kliep",)
COST = 2


def fit(name, X, Z):
    return quiet(NAMES[name]().fit, X, Z)


def assert_same(name, one, other, *, factor=1.0):
    """Compare weights to the precision of the estimator, relative to the largest."""
    rtol = factor * ROUNDING.get(name, 1e-8)
    assert_close(other, one, rtol=rtol, scale=max(1.0, np.max(one)))


@every_name
@holds_for(case=samples(), cost=COST)
def test_the_order_of_rows_and_columns_does_not_matter(name, case):
    rows, others = case.rng.permutation(len(case.X)), case.rng.permutation(len(case.Z))
    columns = np.arange(case.X.shape[1])
    columns = columns if name in SORTS_BY_COLUMN else case.rng.permutation(columns)
    one = fit(name, case.X, case.Z)
    other = fit(name, case.X[rows][:, columns], case.Z[others][:, columns])
    assert_same(name, one.weights_[rows], other.weights_)
    there = quiet(other.predict, case.Z[:7][:, columns])
    assert_same(name, quiet(one.predict, case.Z[:7]), there)


@every_name
@holds_for(case=samples(), power=st.integers(1, 8), cost=COST)
def test_units_do_not_matter_to_an_estimator_named(name, case, power):
    unit = 2.0 ** (power * case.rng.integers(-1, 2, size=case.X.shape[1]))
    one, other = fit(name, case.X, case.Z), fit(name, case.X * unit, case.Z * unit)
    assert_same(name, one.weights_, other.weights_)
    place = unit * 4.0
    moved = fit(name, case.X * unit + place, case.Z * unit + place)
    assert_same(name, one.weights_, moved.weights_, factor=100)


@every_name
@holds_for(case=samples(ties=False), cost=COST)
def test_a_constant_column_changes_nothing(name, case):
    constant = float(case.rng.choice([0.1, 1.0, 1e6]))
    X, Z = (np.insert(A, 0, constant, axis=1) for A in (case.X, case.Z))
    assert_same(name, fit(name, case.X, case.Z).weights_, fit(name, X, Z).weights_)


@every_name
@holds_for(case=samples(), cost=COST)
def test_weights_and_predictions_are_usable_numbers_and_a_batch_is_its_parts(name, case):
    model = fit(name, case.X, case.Z)
    points = np.concatenate([case.X, case.Z, 10 * case.Z[:2]])
    whole = quiet(model.predict, points)
    for found, rows in ((model.weights_, len(case.X)), (whole, len(points))):
        assert found.shape == (rows,)
        assert found.dtype == np.float64
        assert np.all(np.isfinite(found) & (found >= 0))
    assert model.weights_.max() > 0
    order, cut = case.rng.permutation(len(points)), int(case.rng.integers(1, len(points)))
    parts = [quiet(model.predict, own) for own in np.split(points[order], [cut])]
    assert_close(np.concatenate(parts), whole[order], rtol=1e-9)


@every_name
@holds_for(case=samples(), cost=COST)
def test_storage_and_frames_do_not_matter_and_nothing_is_written(name, case):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for A in (case.X, case.Z):
        A.setflags(write=False)
    one = fit(name, case.X, case.Z)
    names = [f"x{j}" for j in range(case.X.shape[1])]
    for kind in (
        np.asfortranarray,
        lambda A: np.repeat(A, 2, axis=1)[:, ::2],
        np.ndarray.tolist,
        lambda A: pandas.DataFrame(A, columns=names, index=7 + np.arange(len(A))[::-1]),
        lambda A: polars.DataFrame(A, schema=names),
    ):
        X, Z = kind(case.X), kind(case.Z)
        other = fit(name, X, Z)
        assert_same(name, one.weights_, np.asarray(other.weights_))
        assert_same(name, quiet(one.predict, case.Z), np.asarray(quiet(other.predict, Z)))
    X, Z = (np.rint(99 * A / np.abs(case.X).max(axis=0)).astype(np.int32) for A in (case.X, case.Z))
    X[0] = Z[0] = -99  # no constant columns
    X[1] = Z[1] = 99
    floats = fit(name, X.astype(np.float64), Z.astype(np.float64)).weights_
    assert_same(name, floats, fit(name, X, Z).weights_)


@every_name
@holds_for(case=samples(), cost=COST)
def test_the_score_does_not_depend_on_the_scale_of_the_weights(name, case):
    plain = fit(name, case.X, case.Z)
    scaled = quiet(NAMES[name]().set_params(normalize=True).fit, case.X, case.Z)
    half = len(case.Z) // 2
    one = quiet(plain.score, case.X, case.Z[:half])
    other = quiet(scaled.score, case.X, case.Z[:half])
    if np.isfinite(one):
        assert other == pytest.approx(one, abs=1e-7)
        assert one <= np.log(2) + 1e-12
