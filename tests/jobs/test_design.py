"""Design weights of either table, and targets that are known by their margins only."""

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise._validation import InputError
from counterpoise.jobs.judging import judge_pair, weigh


def survey(rng, shift, chance):
    """Draw 700 rows; labels vary more with x, and in rows of a hidden column."""
    n = 20_000
    x, hidden = rng.normal(shift, 1, n), rng.random(n) < 0.2
    noise = np.where(hidden, 3.0, 1.0) * np.exp(0.3 * x) * rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=n), "y": x + noise})
    p = chance(x, hidden)
    rows = rng.choice(n, 700, replace=False, p=p / p.sum())
    return frame.iloc[rows].assign(w=1 / p[rows])


def test_design_weights_give_the_risk_of_the_population():
    """A target row costs (0.8 + 0.2 * 9) exp(0.6 * 0.5 + 0.18) on average."""
    truth, names = 2.6 * np.exp(0.48), ("source_weight", "target_weight")
    values = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        source = survey(rng, 0.0, lambda x, hidden: np.where(hidden, 4.0, 1.0))
        target = survey(rng, 0.5, lambda x, hidden: np.exp(0.7 * x)).drop(columns="y")
        options = {"label": "y", "model": "ridge:alpha=1", "weights": "gaussian", "drop": ["w"]}
        uses = [names, names[:1], names[1:]]
        answers = [cp.select(source, target, **options, **dict.fromkeys(u, "w")) for u in uses]
        assert len(answers[0].predictions["prediction"]) == len(target)
        assert list(answers[0].tables.kinds) == ["x", "z"]
        values.append([answer.risk.value for answer in answers])
    mean, error = np.mean(values, axis=0), np.std(values, axis=0) / np.sqrt(15)
    assert abs(mean[0] - truth) < 3 * error[0] < 0.2 * truth
    assert np.all(mean[1:] - truth > 4 * error[1:])


def test_target_weights_move_the_target(rng):
    """Target rows were drawn with chance exp(x): with weights exp(-x) their mean is 0 again."""
    source, target = (
        pd.DataFrame({"x": rng.normal(m, 1, 3000), "z": rng.normal(size=3000)}) for m in (0, 1)
    )
    found = cp.audit(source, target.assign(w=np.exp(-target.x)), target_weight="w")
    assert found.tables.target.rows == 3000
    assert found.diagnostics.n_target < 2000
    assert abs({row[0]: row[2] for row in found.balance}["x"]) < 0.2
    assert cp.audit(source, target).balance[0][2] > 0.8


def test_new_rows_are_judged_with_the_design_weights(frames, no_page, tmp_path):
    source, target = frames
    source["v"] = np.linspace(0, 3, len(source))  # the first row is left out
    answer = cp.select(
        source, target.drop(columns="cost"), "cost", drop=["ill"], source_weight="v", model="ridge"
    )
    assert answer.tables.source.rows == len(source) - 1 == len(answer.kept.weights)
    assert any("1 row of source with weight 0 left out" in note for note in answer.tables.notes)
    answer.save(tmp_path / "out")
    kept = cp.load(tmp_path / "out").kept
    _, estimates = judge_pair(*weigh(kept, target[kept.frame.columns], "auto"), metrics=["rmse"])
    assert estimates.risk.value == pytest.approx(answer.risk.value, rel=1e-6)
    assert estimates.plain.value == pytest.approx(answer.estimates.plain.value)
    losses = answer.kept.losses
    assert estimates.plain.value == pytest.approx(
        np.average(losses, weights=source.v[1:]), rel=0.05
    )


MARGINS = "column,level,share,mean\nage,,,0.4\ncolour,red,0.5,\ncolour,green,0.5,\nsmoker,true,0.2,"


def test_margins_stand_in_place_of_a_target(frames, no_page, tmp_path):
    source = frames[0]
    (tmp_path / "margins.csv").write_text(f"{MARGINS}\nsmoker,false,0.8,\n")
    answer = cp.select(
        source, margins=tmp_path / "margins.csv", label="cost", drop=["ill"], model="ridge"
    )
    w = np.asarray(answer.diagnostics.weights)
    assert np.average(source.age, weights=w) == pytest.approx(0.4)
    assert np.average(source.smoker, weights=w) == pytest.approx(0.2)
    assert w[source.colour == "red"].sum() == pytest.approx(w[source.colour == "green"].sum())
    assert np.all(w[source.colour == "blue"] == 0)
    assert np.all(w[source.colour.isna()] > 0)
    assert answer.verdict in ("caution", "do not trust")
    assert answer.diagnostics.reasons[0].startswith("Only the margins of age, colour, smoker are")
    assert answer.predictions is None
    assert "known by its margins" in str(answer)
    answer.save(tmp_path / "out")
    assert not (tmp_path / "out" / "predictions.csv").exists()
    low, high = cp.load(tmp_path / "out").predict_interval(source.head(5))
    assert np.all(low < high)
    # New rows have about the weights of such source rows.
    encoder, rows = answer.kept.encoder, source[source.colour != "blue"]
    encoded = encoder.transform(rows[answer.kept.frame.columns])[:, encoder.independent_]
    weighed = answer.kept.estimator.predict(encoded)
    assert np.corrcoef(weighed, w[source.colour != "blue"])[0, 1] > 0.8


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("colour", "red", 0.5, None)], "must sum to 1; their sum is 0.5"),
        ([("colour", "pink", 1.0, None)], "'pink' of 'colour' a share of 100%"),
        ([("age", None, None, 99.0)], "'age' the mean 99.0; in source it is between"),
        (
            [("colour", None, None, 1.0)],
            "'colour', a column of source that is of the kind 'category'",
        ),
        ([(None, "red", 1.0, None), ("age", None, None, 0.0)], "rows without a column"),
        ([(None, None, None, None)], "rows without a column"),
        ([("day", "2024-01-01", 1.0, None)], "that is of the kind 'date'"),
        ([("weight", None, None, 1.0)], "'weight', a column of source that is not among age"),
        (
            [("age", None, None, 0.0), ("age", None, None, 0.1)],
            "must give 'age' one mean, or distinct levels",
        ),
    ],
)
def test_margins_that_cannot_be_reached_are_refused(frames, rows, words):
    margins = pd.DataFrame(rows, columns=["column", "level", "share", "mean"])
    with pytest.raises(InputError, match=words):
        cp.select(frames[0], margins=margins, label="cost", drop=["ill"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"source_weight": "colour"}, "rows 1, 2, 3, 4, 5 and others have none"),
        ({"source_weight": "noise"}, "rows 1, 2 have none"),
        ({"target_weight": "cost"}, "`target_weight` 'cost' is the label"),
        ({"margins": {"column": ["age"]}}, "`margins` stand in place of the target"),
    ],
)
def test_weights_that_are_none_are_refused(frames, options, words):
    source, target = frames
    source["noise"] = np.where(np.arange(len(source)) < 2, -1.0, 1.0)
    with pytest.raises(InputError, match=words):
        cp.select(source, target, label="cost", drop=["ill"], **options)
