"""One definition of the shift: false alarms are as rare as stated, and shifts are found."""

import numpy as np
import pytest
from scipy.stats import t

import counterpoise as cp
from counterpoise.diagnostics.overlap import TwoSampleTest
from counterpoise.diagnostics.row_sums import column_sums
from counterpoise.diagnostics.shift import find_shift, mean_p_values


def p_values(X, Z):
    return mean_p_values(column_sums(X, np.ones(len(X))), column_sums(Z))


def test_p_values_by_their_definition(rng):
    X, Z = rng.normal(size=(30, 4)), rng.normal(0.3, 2, size=(70, 4))
    gap = np.abs(X.mean(axis=0) - Z.mean(axis=0))
    apart = X.var(axis=0) / 30 + Z.var(axis=0) / 70
    pooled = np.concatenate([X, Z]).var(axis=0) * (1 / 30 + 1 / 70)
    want = 2 * t.sf(gap / np.sqrt(np.maximum(apart, pooled)), 29)
    np.testing.assert_allclose(p_values(X, Z), want)
    assert p_values(np.ones((9, 1)), np.ones((9, 1)))[0] == 1.0
    assert p_values(np.ones((9, 1)), np.zeros((9, 1)))[0] < 0.01


@pytest.mark.parametrize("kind", ["normal", "heavy", "rare"])
@pytest.mark.parametrize(("n", "m"), [(40, 40), (30, 600), (600, 30)])
def test_equal_means_are_called_different_as_often_as_stated(kind, n, m, rng):
    D, level = 20_000, 0.01
    draw = {
        "normal": lambda k: rng.normal(size=(k, D)),
        "heavy": lambda k: np.exp(1.5 * rng.normal(size=(k, D))),
        "rare": lambda k: (rng.random((k, D)) < 0.01).astype(float),
    }[kind]
    share = np.mean(p_values(draw(n), draw(m)) < level)
    # Three binomial standard errors.
    assert share < level + 3 * np.sqrt(level / D)
    if kind == "normal":
        assert share > 0.4 * level


@pytest.mark.parametrize("kind", ["50 numbers", "200 numbers", "10 texts"])
def test_false_alarms_are_rare_however_many_columns(kind):
    count, alarms = int(kind.split()[0]), 0
    share = 1 / np.arange(1, 26)
    for seed in range(20):
        rng = np.random.default_rng([count, seed])
        samples = [rng.normal(size=(n, count)) for n in (80, 100)]
        if "texts" in kind:
            drawn = [rng.choice(25, size=X.shape, p=share / share.sum()) for X in samples]
            samples = [np.char.add("w", X.astype(str)).astype(object) for X in drawn]
        alarms += cp.diagnose(*samples, weights=None).shift.size != "none"
    # At most 1 % of 20: three or more have a probability of 0.1 %.
    assert alarms <= 2


@pytest.mark.parametrize(("p", "size"), [(0.004, "mild"), (0.006, "none")])
def test_a_classifier_alone_needs_half_of_the_error_rate(rng, p, size):
    sums = column_sums(rng.normal(size=(50, 1)))
    test = TwoSampleTest(0.6, p)
    assert find_shift((sums, sums), test, 0.0, ["x"], ["x"]).size == size


def test_sizes_and_columns(rng):
    X = rng.normal(size=(400, 3))
    mild = cp.diagnose(X, rng.normal([0, 0.4, 0], 1, size=(400, 3))).shift
    assert (mild.size, mild.columns) == ("mild", ["x1"])
    assert mild.words.startswith("There is a mild shift: a classifier tells")
    assert "Means differ, in standard deviations, in x1 (+0." in mild.words
    both = cp.diagnose(X, rng.normal([1.0, 0, -2.0], 1, size=(400, 3))).shift
    assert (both.size, both.columns) == ("strong", ["x2", "x0"])
    spread = cp.diagnose(X, rng.normal(0, [1, 1, 2], size=(400, 3))).shift
    assert spread.size in ("mild", "strong")
    assert spread.columns == []
    assert "spreads or relations between columns differ" in spread.words


def test_tiny_differences_of_large_samples_are_no_shift_of_the_mean(rng):
    X, Z = rng.normal(size=(40_000, 1)), rng.normal(0.06, 1, size=(40_000, 1))
    assert p_values(X, Z)[0] < 1e-6
    assert cp.diagnose(X, Z).shift.columns == []
