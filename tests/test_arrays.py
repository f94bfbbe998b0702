import numpy as np
import pytest

from counterpoise._arrays import as_float, as_float_arrays, exclusive_sum, to_numpy


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_exclusive_sum_equals_deleting_each_entry(xp, rng, axis):
    values = rng.normal(size=(3, 4, 5))
    got = to_numpy(exclusive_sum(xp.asarray(values), axis=axis))
    for i in range(values.shape[axis]):
        rest = np.delete(values, i, axis=axis).sum(axis=axis)
        np.testing.assert_allclose(np.take(got, i, axis=axis), rest, rtol=1e-12)


def test_exclusive_sum_keeps_digits_beside_a_giant():
    # total - entry would give 0 here: 1e20 swallows the rest.
    assert exclusive_sum(np.asarray([1.0, 1e20, 2.0]))[1] == 3.0


def test_floating_dtypes_are_kept_and_integers_become_float64(xp):
    assert as_float(xp.asarray([1.0], dtype=xp.float32)).dtype == xp.float32
    assert as_float(xp.asarray([1])).dtype == xp.float64
    assert as_float([1, 2]).dtype == np.float64


def test_mixed_inputs_meet_in_the_foreign_library_and_widest_dtype(xp):
    namespace, (a, b) = as_float_arrays([1, 2], xp.asarray([1.0, 2.0], dtype=xp.float32))
    assert a.dtype == b.dtype == xp.float64
    np.testing.assert_array_equal(to_numpy(namespace.add(a, b)), [2.0, 4.0])
