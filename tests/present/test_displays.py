"""Displays draw the numbers they are given, in any style, few or many."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.present import BalanceDisplay, ForestDisplay, ShiftMapDisplay
from counterpoise.present.palette import DARK, LIGHT

VALUES = np.array([0.01, 0.1, 1.0, 10.0])
RISKS = (VALUES + 2, VALUES + 1, VALUES + 3)
EXAMPLES = {
    "forest": lambda: ForestDisplay(
        list("abcd"), RISKS, chosen=0, truth=VALUES, reference=("whole", 2.0), doubtful=[1]
    ),
    "balance": lambda: BalanceDisplay(list("abcd"), VALUES, VALUES / 2),
    "map": lambda: ShiftMapDisplay(np.eye(2), np.eye(2) + 1, [0.5, 5.0]),
}


X, y, X_target, _ = cp.datasets.gaussian_2d(gamma=0.7).sample(150, 300, random_state=0)


def labels(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def test_a_forest_has_the_values_and_both_intervals():
    risk = cp.target_risk(np.abs(np.random.default_rng(0).normal(size=(3, 60))), np.ones(60))
    display = ForestDisplay(["a", "b", "c"], risk, chosen=1, doubtful=[2]).plot()
    assert labels(display) == ["a", "b", "c"]
    points = [point.get_xdata()[0] for point in display.points_]
    np.testing.assert_array_equal(points, risk.value)
    wide, narrow = display.ax_.collections[:2]
    for drawn, ends in ((wide, risk.interval()), (narrow, risk.interval(drift=False))):
        segments = np.array([path.vertices[:, 0] for path in drawn.get_paths()])
        np.testing.assert_allclose(segments, np.transpose(ends))
    faces = [to_hex(point.get_markerfacecolor()) for point in display.points_]
    assert faces == [LIGHT.estimate, LIGHT.estimate, LIGHT.paper]
    assert display.ax_.get_yticklabels()[1].get_fontweight() == "bold"
    same = ForestDisplay(["a", "b", "c"], [risk[i] for i in range(3)])
    np.testing.assert_array_equal(same.wide_.low, display.wide_.low)


def test_candidates_of_a_search_are_drawn_best_first():
    search = cp.ShiftGridSearchCV(LogisticRegression(), {"C": [0.01, 0.1, 1.0]}, weights="gaussian")
    search.fit(X, y, X_target=X_target)
    display = ForestDisplay.from_estimator(search, truth=[1.0, 2.0, 3.0])
    order = np.argsort(search.risk_.value)
    np.testing.assert_array_equal(display.wide_.value, search.risk_.value[order])
    np.testing.assert_array_equal(display.truth, order + 1)
    assert labels(display) == [f"C={[0.01, 0.1, 1][i]:g}" for i in order]
    assert order[display.chosen] == search.best_index_
    many = ForestDisplay.from_estimator(cp.ShiftRidgeCV().fit(X, y, X_target=X_target))
    assert len(many.points_) == 30
    assert "The first 30 of 200" in many.ax_.get_legend().get_title().get_text()


def test_groups_are_drawn_highest_first_beside_the_whole(answers):
    groups = answers["select"].estimates.groups
    display = ForestDisplay.from_groups(groups)
    values = [point.get_xdata()[0] for point in display.points_]
    assert values == sorted((group.risk.value for group in groups.values()), reverse=True)
    assert display.reference == ("whole target", groups.overall.value)


def test_one_huge_interval_does_not_squeeze_the_others_and_failures_say_so():
    low, high = VALUES - 1, VALUES + 1
    high[2] = 1e6
    assert ForestDisplay(list("abcd"), (VALUES, low, high)).plot().ax_.get_xlim()[1] < 100
    most = [1.0, 1.0, 2.0], [0.0, 0.0, 1.0], [1e7, 1e6, 3.0]
    assert ForestDisplay(list("abc"), most).plot().ax_.get_xlim()[1] < 10
    model = [1.33, 1.36, 1.36], [0.7, 1.34, 0.7], [2.5, 1.38, 2.6]  # one is narrow: none is huge
    assert ForestDisplay(list("abc"), model).plot().ax_.get_xlim()[1] > 2.6
    failed = ForestDisplay(["good", "bad"], [1.0, np.nan]).plot()
    assert "failed" in [text.get_text() for text in failed.ax_.texts]


def test_balance_is_signed_and_infinite_differences_stay_at_the_edge():
    display = BalanceDisplay(
        ["age", "dose", "same"], [0.5, -1.0, np.inf], [0.1, -0.2, np.nan]
    ).plot()
    assert labels(display) == ["same", "dose", "age"]
    before, after = (display.points_[k].get_xdata() for k in ("before", "after"))
    assert before.tolist() == [1.0, -1.0, 0.5]
    assert np.isnan(after[0])
    assert after[1:].tolist() == [-0.2, 0.1]
    assert [text.get_text() for text in display.ax_.texts] == ["→"]
    found = cp.diagnose(X, X_target)
    np.testing.assert_array_equal(BalanceDisplay.from_diagnostics(found).after, found.balance_after)


def test_the_map_sorts_source_rows_by_weight_class():
    weights = [0.1, 0.7, 1.5, 3.0, 9.0, 9.0]
    source = np.arange(12.0).reshape(6, 2)
    display = ShiftMapDisplay(source, source + 1, weights).plot()
    target, *classes = display.ax_.collections
    np.testing.assert_array_equal(target.get_offsets(), source + 1)
    assert [len(c.get_offsets()) for c in classes] == [1, 1, 1, 1, 2]
    np.testing.assert_array_equal(classes[-1].get_offsets(), source[4:])
    many = ShiftMapDisplay(np.zeros((5000, 2)), np.zeros((5000, 2)), np.ones(5000)).plot()
    assert sum(len(c.get_offsets()) for c in many.ax_.collections) == 1200


def test_the_map_takes_any_width(rng):
    X, Z = rng.normal(size=(60, 200)), rng.normal(size=(70, 200)) + 1
    display = ShiftMapDisplay.from_samples(X, Z, weights=np.ones(60))
    assert display.source.shape == (60, 2)
    assert "principal component" in display.ax_.get_xlabel()


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_themes_set_text_and_background_and_nothing_stays_behind(name, theme):
    before = dict(matplotlib.rcParams)
    display = EXAMPLES[name]().plot(theme=theme)
    assert dict(matplotlib.rcParams) == before
    palette = {"light": LIGHT, "dark": DARK}[theme]
    assert to_hex(display.figure_.get_facecolor()) == palette.paper
    assert to_hex(display.ax_.xaxis.label.get_color()) == palette.ink


@pytest.mark.parametrize("name", EXAMPLES)
def test_given_axes_are_drawn_on_without_pyplot(name):
    figure = Figure()
    display = EXAMPLES[name]().plot(figure.subplots())
    assert display.figure_ is figure
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", ["$x_1$", "$", "a $\\frac{$", "_hidden", "<b>", "x" * 400])
def test_names_are_drawn_as_they_are(name):
    for display in (
        ForestDisplay([name], [1.0], risk_name=name, reference=(name, 1.0)),
        BalanceDisplay([name], [0.1], [0.0]),
        ShiftMapDisplay(np.eye(2), np.eye(2), [1, 1], axis_labels=(name, name)),
    ):
        display.plot().figure_.canvas.draw()
    assert display.ax_.get_xlabel().startswith(name[:20])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ForestDisplay(["a", "b"], [1.0]), "one value per name"),
        (lambda: BalanceDisplay(["a"], [1.0, 2.0], [1.0]), "`before` must hold"),
        (lambda: ShiftMapDisplay(np.eye(3), np.eye(3), [1, 1, 1]), "must have two columns"),
        (lambda: ShiftMapDisplay(np.eye(2), np.eye(2), [1]), "one weight per source row"),
        (lambda: EXAMPLES["forest"]().plot(theme="sepia"), "`theme` must be one of"),
        (lambda: ForestDisplay.from_estimator(LogisticRegression()), "must be a fitted search"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
