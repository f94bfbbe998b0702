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
# The number of rows sets a smoothing, a penalty or a width of these.
COUNTS_ROWS = ("gaussian", "kmm", "kliep", "ulsif", "classifier", "kernel_density")
COST = 2


def fit(name, X, Z):
    return quiet(NAMES[name]().fit, X, Z)


def assert_same(name, one, other, *, factor=1.0):
    """Compare weights to the precision of the estimator, relative to the largest."""
    rtol = factor * ROUNDING.get(name, 1e-8)
    assert_close(other, one, rtol=rtol, scale=max(1.0, np.max(one)))


@every_name
@holds_for(case=samples(), cost=COST)
def test_the_order_of_rows_does_not_matter(name, case):
    rows, others = case.rng.permutation(len(case.X)), case.rng.permutation(len(case.Z))
    one, other = fit(name, case.X, case.Z), fit(name, case.X[rows], case.Z[others])
    assert_same(name, one.weights_[rows], other.weights_)
    assert_same(name, quiet(one.predict, case.Z[:7]), quiet(other.predict, case.Z[:7]))


@every_name
@holds_for(case=samples(), cost=COST)
def test_the_order_of_columns_does_not_matter(name, case):
    if name in SORTS_BY_COLUMN:
        pytest.skip("its folds go by the first column")
    order = case.rng.permutation(case.X.shape[1])
    one, other = fit(name, case.X, case.Z), fit(name, case.X[:, order], case.Z[:, order])
    assert_same(name, one.weights_, other.weights_)


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
def test_weights_and_predictions_are_usable_numbers(name, case):
    model = fit(name, case.X, case.Z)
    new = np.concatenate([case.X[:5], case.Z[:5], 10 * case.Z[:2]])
    for found, rows in ((model.weights_, len(case.X)), (quiet(model.predict, new), 12)):
        assert found.shape == (rows,)
        assert found.dtype == np.float64
        assert np.all(np.isfinite(found))
        assert np.all(found >= 0)
    assert model.weights_.max() > 0


@every_name
@holds_for(case=samples(), cost=COST)
def test_a_batch_of_predictions_is_its_parts(name, case):
    model = fit(name, case.X, case.Z)
    points = np.concatenate([case.X, case.Z])
    order = case.rng.permutation(len(points))
    cut = int(case.rng.integers(1, len(points)))
    whole = quiet(model.predict, points)
    parts = [quiet(model.predict, own) for own in np.split(points[order], [cut])]
    assert_close(np.concatenate(parts), whole[order], rtol=1e-9)


@every_name
@holds_for(case=samples(), cost=COST)
def test_storage_does_not_matter_and_nothing_is_written(name, case):
    for A in (case.X, case.Z):
        A.setflags(write=False)
    one = fit(name, case.X, case.Z).weights_

    def strided(A):
        wide = np.zeros((2 * A.shape[0], 2 * A.shape[1]))
        wide[::2, ::2] = A
        return wide[::2, ::2]

    for kind in (np.asfortranarray, strided, np.ndarray.tolist):
        assert_same(name, one, fit(name, kind(case.X), kind(case.Z)).weights_)


@every_name
@holds_for(case=samples(), cost=COST)
def test_integers_are_numbers(name, case):
    X, Z = (np.round(8 * A / np.abs(case.X).max(axis=0)).astype(np.int32) for A in (case.X, case.Z))
    X[0], X[1] = -9, 9  # no constant columns
    Z[0], Z[1] = -9, 9
    one = fit(name, X.astype(np.float64), Z.astype(np.float64)).weights_
    assert_same(name, one, fit(name, X, Z).weights_)


@every_name
@holds_for(case=samples(), cost=COST)
def test_frames_are_arrays(name, case):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    one = fit(name, case.X, case.Z)
    names = [f"x{j}" for j in range(case.X.shape[1])]
    index = case.rng.permutation(len(case.X)) + 7
    for X, Z in (
        (
            pandas.DataFrame(case.X, columns=names, index=index),
            pandas.DataFrame(case.Z, columns=names),
        ),
        (polars.DataFrame(case.X, schema=names), polars.DataFrame(case.Z, schema=names)),
    ):
        other = fit(name, X, Z)
        assert_same(name, one.weights_, np.asarray(other.weights_))
        assert_same(name, quiet(one.predict, case.Z), np.asarray(quiet(other.predict, Z)))


@every_name
@holds_for(case=samples(ties=False), cost=COST)
def test_both_samples_twice_say_the_same(name, case):
    # Up to what depends on the number of rows, which must be little.
    one = fit(name, case.X, case.Z).weights_
    twice = fit(name, np.tile(case.X, (2, 1)), np.tile(case.Z, (2, 1))).weights_
    n = len(case.X)
    # Copies of a row are alike.
    assert_same(name, twice[:n], twice[n:], factor=10)
    if name not in COUNTS_ROWS:
        s = 1 / np.sqrt(n)
        t = 1 / np.sqrt(2 * n)
        # Voronoi counts, smoothed by a share that falls with the number of rows.
        assert_close((twice[:n] - t / (1 + t)) * (1 + t), (one - s / (1 + s)) * (1 + s), rtol=1e-9)


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
