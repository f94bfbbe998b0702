"""One definition of the shift: false alarms are as rare as stated, and shifts are found."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

import counterpoise as cp
from counterpoise.diagnostics.overlap import outside_by_chance, outside_share
from counterpoise.diagnostics.row_sums import column_sums
from counterpoise.diagnostics.shift import ERROR_RATE, mean_p_values
from counterpoise.diagnostics.verdict import decide_verdict


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


def text_columns(pd, rng, n):
    words = [f"w{i}" for i in range(25)]
    share = 1 / np.arange(1, 26)
    chosen = rng.choice(words, size=(n, 10), p=share / share.sum())
    return pd.DataFrame(chosen, columns=[f"c{j}" for j in range(10)])


@pytest.mark.parametrize("kind", ["50 numbers", "200 numbers", "10 texts"])
def test_false_alarms_are_rare_however_many_columns(kind):
    pd = pytest.importorskip("pandas")
    count, runs, alarms = int(kind.split()[0]), 20, 0
    for seed in range(runs):
        rng = np.random.default_rng([count, seed])
        if "texts" in kind:
            samples = [text_columns(pd, rng, n) for n in (80, 100)]
        else:
            samples = [rng.normal(size=(n, count)) for n in (80, 100)]
        alarms += cp.diagnose(*samples, weights=None).shift.size != "none"
    # At most 1 % of 20: three or more have a probability of 0.1 %.
    assert ERROR_RATE == 0.01
    assert alarms <= 2


def test_the_share_outside_exceeds_its_limit_by_chance_only():
    for n, m in ((40, 400), (150, 100)):
        shares = []
        for seed in range(150):
            rng = np.random.default_rng([n, seed])
            X, Z = np.exp(2 * rng.normal(size=(n, 3))), np.exp(2 * rng.normal(size=(m, 3)))
            shares.append(outside_share(X, Z, rng=rng))
        assert np.sum(np.asarray(shares) > outside_by_chance(n, m)) <= 2  # 0.1 % is expected
        assert outside_by_chance(n, m) < 0.4


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
    shift = cp.diagnose(X, Z).shift
    assert shift.mean_p_value < 1e-6
    assert shift.columns == []


def test_a_mixed_frame_is_spoken_of_by_its_columns(rng):
    pd = pytest.importorskip("pandas")

    def frame(n, age, cities, missing):
        income = np.where(rng.random(n) < missing, np.nan, rng.lognormal(size=n))
        return pd.DataFrame(
            {"age": rng.normal(age, 8, n), "city": rng.choice(cities, n), "income": income}
        )

    source = frame(400, 40, ["Delft", "Riga", "Riga"], 0.0)
    found = cp.diagnose(source, frame(500, 48, ["Delft", "Delft", "Riga"], 0.3))
    assert set(found.shift.columns) == {"age", "city", "income"}
    for feature in ("age (+", "city=", "income missing ("):
        assert feature in found.shift.words
    assert any(gap.words == "income is missing" for gap in found.gaps)
    for sentence in (*found.reasons, *found.advice, found.shift.words):
        assert "x0" not in sentence
    assert found.shift.words in str(found)


def test_a_trusted_verdict_states_its_assumption_and_no_shift_asks_for_no_weights(rng):
    same = cp.diagnose(rng.normal(size=(300, 2)), rng.normal(size=(300, 2)))
    assert same.verdict == "trust"
    assert same.reasons[0] == "No shift was found."
    assert same.advice[0].startswith("Use no weights")
    moved = cp.diagnose(rng.normal(size=(300, 2)), rng.normal(0.4, 1, size=(300, 2)))
    assert moved.verdict == "trust"
    assert moved.reasons[0] == f"There is a {moved.shift.size} shift."
    assert moved.advice[0] == "Use the weights."
    careful = cp.diagnose(
        rng.normal(size=(300, 2)), rng.normal(size=(300, 2)), weights=np.full(300, 1.1)
    )
    assert careful.verdict == "caution"
    assert careful.advice[0].startswith("Use no weights")
    # Without a shift nothing else is to be done about the weights.
    assert len(careful.advice) == 2
    for found in (same, moved, careful):
        assert "same way in source and target. Rows without labels cannot show" in found.reasons[-1]
        assert found.advice[-1].startswith("Check the assumption: label a few target rows")
        assert found.reasons[-1] in str(found)
    _, _, advice = decide_verdict(replace(moved, weight_variance=0.0))
    assert "every source row was given the same weight" in advice[0]
