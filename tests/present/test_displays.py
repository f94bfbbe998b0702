"""Displays draw the numbers they are given, in any style, few or many."""

from itertools import pairwise

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise._format import candidate_names, shorten_names
from counterpoise.present import (
    BalanceDisplay,
    BlendDisplay,
    CandidatesDisplay,
    RiskCurveDisplay,
    ShiftMapDisplay,
    VarianceReductionDisplay,
    WeightsDisplay,
)
from counterpoise.present.axes import fit_label, row_labels, thin_ticks
from counterpoise.present.palette import BOTH, DARK, LIGHT, method_look

VALUES = np.array([0.01, 0.1, 1.0, 10.0])
RISKS = {
    "source": (VALUES + 1, VALUES + 0.5, VALUES + 1.5),
    "controlled": (VALUES + 2, VALUES + 1, VALUES + 3),
}


@pytest.fixture(scope="module")
def data():
    problem = cp.datasets.gaussian_2d(gamma=0.7)
    return problem.sample(150, 300, random_state=0)


@pytest.fixture(scope="module")
def ridge(data):
    model = cp.ShiftRidgeClassifierCV(alphas=np.logspace(-1, 3, 9))
    return model.fit(data.X_source, data.y_source, X_target=data.X_target)


@pytest.fixture(scope="module")
def grid(data):
    search = cp.ShiftGridSearchCV(
        LogisticRegression(),
        {"C": [0.01, 0.1, 1.0], "fit_intercept": [True, False]},
        weights="gaussian",
        random_state=0,
    )
    return search.fit(data.X_source, data.y_source, X_target=data.X_target)


EXAMPLES = {
    "curve": lambda: RiskCurveDisplay(VALUES, RISKS, chosen=1, truth=VALUES + 1.9),
    "candidates": lambda: CandidatesDisplay(
        list("abcd"), RISKS, chosen=0, indistinguishable=[0, 1]
    ),
    "variance": lambda: VarianceReductionDisplay(list("abcd"), {"controlled": VALUES / 10}),
    "balance": lambda: BalanceDisplay(list("abcd"), VALUES, VALUES / 2),
    "weights": lambda: WeightsDisplay(np.array([0.0, 0.1, 1.0, 5.0, 20.0])),
    "map": lambda: ShiftMapDisplay(np.eye(2), np.eye(2) + 1, [0.5, 5.0]),
}


def test_the_curve_is_the_numbers_given():
    display = RiskCurveDisplay(VALUES, RISKS, parameter="C", chosen=2, truth=VALUES).plot()
    for name, (value, _, _) in RISKS.items():
        np.testing.assert_array_equal(display.lines_[name].get_xdata(), VALUES)
        np.testing.assert_array_equal(display.lines_[name].get_ydata(), value)
    np.testing.assert_array_equal(display.lines_["truth"].get_ydata(), VALUES)
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "C"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["truth", "unweighted", "controlled", "chosen: 1"]
    bands = [c.get_paths()[0].get_extents() for c in display.ax_.collections]
    assert [b.y0 for b in bands] == [low.min() for _, low, _ in RISKS.values()]
    assert [b.y1 for b in bands] == [high.max() for _, _, high in RISKS.values()]


def test_values_within_a_decade_have_a_linear_axis_and_words_are_spaced_evenly():
    risks = {"controlled": [1.0, 2.0, 3.0]}
    assert RiskCurveDisplay([1, 2, 3], risks).plot().ax_.get_xscale() == "linear"
    display = RiskCurveDisplay(["rbf", None, True], risks).plot()
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["rbf", "None", "True"]


def test_the_curve_is_drawn_in_order_of_the_values():
    display = RiskCurveDisplay([3.0, 1.0, 2.0], {"controlled": [30.0, 10.0, 20.0]}).plot()
    np.testing.assert_array_equal(display.lines_["controlled"].get_ydata(), [10, 20, 30])


def test_other_methods_of_a_ridge_are_those_of_a_ridge_with_that_method(data, ridge):
    display = RiskCurveDisplay.from_estimator(ridge, data.X_source, data.y_source)
    for name in ("source", "weighted", "controlled"):
        other = cp.ShiftRidgeClassifierCV(
            alphas=ridge.alphas_, weights=ridge.weights_, method=name
        ).fit(data.X_source, data.y_source)
        np.testing.assert_allclose(display.bands_[name].value, other.risk_curve_.value)
    # The ridge was fitted to target rows, and its intervals know more than those of the weights.
    band = display.bands_["controlled"]
    np.testing.assert_allclose((band.low, band.high), ridge.risk_curve_.interval())
    assert list(RiskCurveDisplay.from_estimator(ridge).bands_) == ["controlled"]
    with pytest.raises(ValueError, match="Pass X and y, the rows that it was fitted on"):
        RiskCurveDisplay.from_estimator(ridge, methods=["weighted"])


def test_a_search_is_drawn_along_one_parameter_the_others_as_chosen(grid):
    params = grid.cv_results_["params"]
    display = RiskCurveDisplay.from_estimator(grid)
    # Trained with weights or without, as the choice is.
    alike = grid.cv_results_["fit_weighted"] == grid.best_candidate_.fit_weighted
    intercept = grid.best_params_["fit_intercept"]
    own = [i for i, p in enumerate(params) if alike[i] and p["fit_intercept"] == intercept]
    assert display.values == [params[i]["C"] for i in own]
    np.testing.assert_array_equal(display.bands_["controlled"].value, grid.risk_.value[own])
    np.testing.assert_allclose(display.bands_["source"].value, grid.cv_results_["source_risk"][own])
    assert display.values[display.chosen] == grid.best_params_["C"]
    other = RiskCurveDisplay.from_estimator(grid, param="fit_intercept")
    assert sorted(other.values) == [False, True]
    with pytest.raises(ValueError, match="`param` must be a parameter"):
        RiskCurveDisplay.from_estimator(grid, param="max_depth")


def test_other_methods_of_a_search_come_from_its_held_out_losses(data, grid):
    display = CandidatesDisplay.from_estimator(grid)
    assert list(display.bands_) == ["source", "weighted", "controlled"]
    other = clone(grid).set_params(method="weighted")
    other.fit(data.X_source, data.y_source, X_target=data.X_target)
    np.testing.assert_allclose(display.bands_["weighted"].value, other.risk_.value)
    np.testing.assert_allclose(display.bands_["weighted"].low, other.risk_.interval()[0])


def test_candidates_are_drawn_best_first_with_the_choice_in_bold(grid):
    display = CandidatesDisplay.from_estimator(grid)
    order = np.argsort(grid.risk_.value)
    np.testing.assert_array_equal(display.order_, order)
    np.testing.assert_array_equal(
        display.points_["controlled"].get_xdata(), grid.risk_.value[order]
    )
    labels = display.ax_.get_yticklabels()
    assert [t.get_fontweight() == "bold" for t in labels] == (order == grid.best_index_).tolist()
    spans = [p for p in display.ax_.patches if p.get_facecolor() == (*to_rgb(LIGHT.mark), 1.0)]
    alike = len(grid.indistinguishable_)
    assert len(spans) == (alike if alike > 1 else 0)


def test_rows_are_capped_and_the_plot_says_so():
    count = 200
    values = np.arange(count, 0.0, -1)
    display = CandidatesDisplay(range(count), {"controlled": values}, chosen=3).plot()
    assert len(display.order_) == 30
    assert display.order_[0] == count - 1
    assert 3 in display.order_  # the choice is drawn, be it ever so bad
    assert display.ax_.get_legend().get_title().get_text() == "The best 30 of 200 candidates"
    balance = BalanceDisplay(range(count), values, values).plot()
    assert balance.order_.tolist() == list(range(30))
    assert balance.ax_.get_legend().get_title().get_text() == "The 30 largest of 200 differences"


def test_one_candidate_and_failed_candidates():
    one = CandidatesDisplay(["only"], {"controlled": ([1.0], [0.5], [1.5])}, chosen=0).plot()
    assert one.points_["controlled"].get_xdata().tolist() == [1.0]
    RiskCurveDisplay([1.0], {"controlled": ([1.0], [0.5], [1.5])}, chosen=0).plot()
    failed = CandidatesDisplay(["good", "bad"], {"controlled": [1.0, np.nan]}, chosen=0).plot()
    assert failed.order_.tolist() == [0, 1]
    assert "failed" in [text.get_text() for text in failed.ax_.texts]


def test_one_huge_interval_does_not_squeeze_the_others():
    low, high = VALUES - 1, VALUES + 1
    high[2] = 1e6
    display = CandidatesDisplay(list("abcd"), {"controlled": (VALUES, low, high)}).plot()
    assert display.ax_.get_xlim()[1] < 100


def test_variance_reduction_of_a_search(grid):
    display = VarianceReductionDisplay.from_estimator(grid)
    drawn = display.points_["controlled"].get_xdata()
    np.testing.assert_array_equal(drawn, grid.risk_.variance_reduction[display.order_])
    assert display.order_[0] == np.argmin(grid.risk_.value)  # least risk first


def test_balance_is_signed_and_infinite_differences_stay_at_the_edge():
    display = BalanceDisplay(
        ["age", "dose", "same"], [0.5, -1.0, np.inf], [0.1, -0.2, np.nan]
    ).plot()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["same", "dose", "age"]
    before, after = (display.points_[k].get_xdata() for k in ("before", "after"))
    assert before.tolist() == [1.0, -1.0, 0.5]
    assert np.isnan(after[0])
    assert after[1:].tolist() == [-0.2, 0.1]
    assert [text.get_text() for text in display.ax_.texts] == ["no overlap"]


def test_long_names_are_broken_between_words_before_they_are_cut():
    names = ["forest max_features=0.33, min_samples_leaf=1", "ridge alpha=1"]
    assert row_labels(names, 28) == [
        "forest max_features=0.33,\nmin_samples_leaf=1",
        "ridge alpha=1",
    ]
    assert row_labels(["strength_of_the_model=0.001, kernel=rbf"], 14) == ["0.001, rbf"]
    display = CandidatesDisplay(names, {"controlled": np.ones(2)}, width=28)
    assert display.size[1] > CandidatesDisplay(["a", "b"], {"controlled": np.ones(2)}).size[1]


def test_labels_of_ticks_do_not_touch():
    figure = Figure(figsize=(3, 2), layout="constrained")
    ax = figure.subplots()
    ax.set_xlim(400_000, 2_400_000)
    ax.set_xticks(np.arange(400_000, 2_400_001, 400_000), labels=None)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    thin_ticks(figure)
    ticks = [t for t in ax.xaxis.get_major_ticks() if 4e5 <= t.get_loc() <= 2.4e6]
    boxes = [tick.label1.get_window_extent() for tick in ticks]
    assert 1 <= len(boxes) < 6
    assert all(right.x0 > left.x1 for left, right in pairwise(boxes))


def test_labels_of_axes_have_at_most_two_lines():
    text = "mean squared error of labels coded -1 (died) and +1 (survived) (95% interval)"
    lines = fit_label(text, 36).split("\n")
    assert len(lines) == 2
    assert all(len(line) <= 36 for line in lines)
    assert fit_label("mean squared error", 36) == "mean squared error"


def test_balance_from_a_fitted_search_is_that_of_its_weights(data, ridge):
    display = BalanceDisplay.from_estimator(ridge, data.X_source, data.X_target)
    found = cp.diagnose(data.X_source, data.X_target, weights=ridge.weights_)
    np.testing.assert_array_equal(display.after, found.balance_after)


def test_the_tail_counts_rows_and_their_share():
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    display = WeightsDisplay(weights).plot(kind="tail")
    np.testing.assert_allclose(display.lines_["rows"].get_ydata(), [1, 0.75, 0.5, 0.25])
    np.testing.assert_allclose(display.lines_["weight"].get_ydata(), [1, 0.9, 0.7, 0.4])
    many = WeightsDisplay(np.arange(1, 100_001.0)).plot(kind="tail").lines_["rows"]
    assert many.get_ydata().size <= 400
    assert many.get_ydata()[0] == 1
    assert many.get_xdata()[-1] == 100_000


@pytest.mark.parametrize("weights", [np.zeros(5), np.ones(5), [3.0], [0.0, 1e-300, 1.0]])
def test_degenerate_weights_are_drawn(weights):
    display = WeightsDisplay(weights).plot()
    display.figure_.canvas.draw()
    heights = sum(p.get_height() for p in display.ax_[0].patches)
    assert heights == np.count_nonzero(np.asarray(weights) > 1e-6)


def test_the_map_sorts_source_rows_by_weight_class():
    weights = [0.1, 0.7, 1.5, 3.0, 9.0, 9.0]
    source = np.arange(12.0).reshape(6, 2)
    display = ShiftMapDisplay(source, source + 1, weights).plot()
    target, *classes = display.ax_.collections
    np.testing.assert_array_equal(target.get_offsets(), source + 1)
    assert [len(c.get_offsets()) for c in classes] == [1, 1, 1, 1, 2]
    np.testing.assert_array_equal(classes[-1].get_offsets(), source[4:])


@pytest.mark.parametrize("width", [1, 2, 200])
def test_the_map_takes_any_width(rng, width):
    X, Z = rng.normal(size=(60, width)), rng.normal(size=(70, width)) + 1
    display = ShiftMapDisplay.from_samples(X, Z, weights=np.ones(60))
    assert display.source.shape == (60, 2)
    if width == 2:
        np.testing.assert_array_equal(display.source, X)
    if width == 200:
        # The shift in all features is the direction of most variance.
        assert abs(display.source[:, 0].mean() - display.target[:, 0].mean()) > 5
        assert "principal component" in display.ax_.get_xlabel()


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("theme", ["light", "dark", "both"])
def test_themes_set_text_and_background_and_nothing_stays_behind(name, theme):
    before = dict(matplotlib.rcParams)
    display = EXAMPLES[name]().plot(theme=theme)
    assert dict(matplotlib.rcParams) == before
    palette = {"light": LIGHT, "dark": DARK, "both": BOTH}[theme]
    ax = np.ravel(display.ax_)[0]
    assert to_hex(display.figure_.get_facecolor(), keep_alpha=theme == "both") == palette.paper
    assert to_hex(ax.xaxis.label.get_color()) == palette.ink


@pytest.mark.parametrize("name", EXAMPLES)
def test_given_axes_are_drawn_on_without_pyplot(name):
    figure = Figure()
    both = name == "weights"
    ax = figure.subplots(1, 2) if both else figure.subplots()
    display = EXAMPLES[name]().plot(ax)
    assert display.figure_ is figure
    assert plt.get_fignums() == []
    assert np.ravel(display.ax_)[0] is np.ravel(ax)[0]


def test_a_dark_style_of_the_user_gets_the_shades_for_dark():
    with plt.style.context("dark_background"):
        display = EXAMPLES["curve"]().plot()
    assert to_hex(display.lines_["controlled"].get_color()) == DARK.controlled
    with plt.rc_context({"axes.facecolor": "none", "figure.facecolor": "none"}):
        display = EXAMPLES["curve"]().plot()
    assert to_hex(display.lines_["controlled"].get_color()) == BOTH.controlled


def _brightness(color):
    red, green, blue = to_rgb(color)
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a, b):
    high, low = sorted([_brightness(a), _brightness(b)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_colours_are_legible_and_distinct_without_colour(palette):
    for name in ("ink", "soft"):
        assert _contrast(getattr(palette, name), palette.paper) > 4.5
    for name in ("unweighted", "weighted", "controlled", "truth", "source", "target"):
        assert _contrast(getattr(palette, name), palette.paper) > 3
    brightness = [_brightness(color) for color in palette.classes]
    assert brightness == sorted(brightness, reverse=palette is LIGHT)
    colors = [v for v in vars(palette).values() if isinstance(v, str)] + list(palette.classes)
    assert len(set(colors)) == len(colors)


def test_one_palette_serves_a_light_and_a_dark_page():
    for name in ("ink", "unweighted", "weighted", "controlled", "truth", "source", "target"):
        for paper in (LIGHT.paper, DARK.paper):
            assert _contrast(getattr(BOTH, name), paper) > 2.5


def test_methods_differ_in_colour_line_and_marker():
    looks = [method_look(LIGHT, name) for name in ("source", "weighted", "controlled")]
    for kind in zip(*looks, strict=True):
        assert len(set(map(str, kind))) == 3
    assert method_look(LIGHT, "doubly_robust") == method_look(LIGHT, "doubly_robust")


def test_labels_are_short_unlike_and_plain():
    names = [f"a long name that only differs in number {i} from the others" for i in range(12)]
    labels = shorten_names(names, 22)
    assert len(set(labels)) == 12
    assert all(len(label) <= 22 for label in labels)
    assert all(str(i) in label for i, label in enumerate(labels))
    assert shorten_names(["same", "same"], 22) == ["same", "same (2)"]
    assert shorten_names(["a\nb\x00\u202ec"], 22) == [
        "a b\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}c"
    ]


def test_values_of_parameters_stay_visible_in_short_labels():
    names = [f"regularisation={c}, kernel_coefficient={g}" for c in (0.01, 0.1) for g in (1, 2)]
    for name, label in zip(names, shorten_names(names, 22), strict=True):
        assert len(label) <= 22
        assert [part.split("=")[1] for part in label.split(", ")] == [
            part.split("=")[1] for part in name.split(", ")
        ]
    # No room for names: the values remain.
    assert shorten_names(["first=1.234, second=5.678", "first=1.235, second=5.678"], 14) == [
        "1.234, 5.678", "1.235, 5.678",
    ]  # fmt: skip
    assert shorten_names(["income of the first parent", "income of the second parent"], 18) == [
        "incom…first parent", "inco…second parent",
    ]  # fmt: skip


def test_close_values_of_a_parameter_get_the_digits_that_tell_them_apart():
    assert candidate_names([{"C": 0.12341}, {"C": 0.12342}]) == ["C=0.12341", "C=0.12342"]


def test_axes_of_risks_have_no_offset():
    values = 0.618 + np.array([1e-6, 2e-6, 3e-6, 4e-6])
    for display in (
        CandidatesDisplay(list("abcd"), {"controlled": values}).plot(),
        RiskCurveDisplay(VALUES, {"controlled": values * 1e8}).plot(),
        RiskCurveDisplay([1, 2, 3, 4], {"controlled": values}).plot(),
    ):
        display.figure_.canvas.draw()
        for axis in (display.ax_.xaxis, display.ax_.yaxis):
            assert axis.get_offset_text().get_text() == ""


@pytest.mark.parametrize("usual", [np.full(2000, 1.0), np.linspace(60, 90, 2000)])
def test_one_large_weight_is_visible(usual):
    display = WeightsDisplay(np.append(usual, 1000.0)).plot(kind="histogram")
    display.figure_.canvas.draw()
    frame = display.ax_.get_window_extent()
    (last,) = [p for p in display.ax_.patches if p.get_height() == 1]
    bar = last.get_window_extent()
    assert bar.height > 0.03 * frame.height
    assert bar.width > 0.01 * frame.width


def test_candidates_are_named_by_what_differs():
    params = [{"svc__C": 0.1, "svc__kernel": "rbf"}, {"svc__C": 10.0, "svc__kernel": "rbf"}]
    assert candidate_names(params) == ["C=0.1", "C=10"]
    clash = [{"a__C": 1.0, "b__C": 2.0}, {"a__C": 2.0, "b__C": 1.0}]
    assert candidate_names(clash) == ["a__C=1, b__C=2", "a__C=2, b__C=1"]
    assert candidate_names([{"alpha": 100000.0}]) == ["alpha=100000"]
    assert candidate_names([{}]) == ["the model as it is"]


@pytest.mark.parametrize("name", ["$x_1$", "$", "a $\\frac{$", "_hidden", "<b>", "x" * 400])
def test_names_are_drawn_as_they_are(name):
    for display in (
        CandidatesDisplay([name], {"controlled": [1.0]}),
        BalanceDisplay([name], [0.1], [0.0]),
        RiskCurveDisplay([1.0, 2.0], {name: [1.0, 2.0]}, parameter=name),
    ):
        display.plot()
        display.figure_.canvas.draw()
    assert display.ax_.get_xlabel().startswith(name[:20])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RiskCurveDisplay([1, 2], {"controlled": [1.0]}), "one value per candidate"),
        (lambda: RiskCurveDisplay([1], {}), "at least one method"),
        (lambda: RiskCurveDisplay([1], {"a": [1.0]}, truth=[1.0, 2.0]), "`truth` must hold"),
        (lambda: BalanceDisplay(["a"], [1.0, 2.0], [1.0]), "`before` must hold"),
        (lambda: WeightsDisplay([-1.0]), "`weights` must be finite and not negative"),
        (lambda: ShiftMapDisplay(np.eye(3), np.eye(3), [1, 1, 1]), "must have two columns"),
        (lambda: ShiftMapDisplay(np.eye(2), np.eye(2), [1]), "one weight per source row"),
        (lambda: EXAMPLES["curve"]().plot(theme="sepia"), "`theme` must be one of"),
        (lambda: EXAMPLES["weights"]().plot(plt.figure().subplots()), "`ax` must hold 2 axes"),
        (lambda: EXAMPLES["weights"]().plot(kind="pie"), "`kind` must be one of"),
        (lambda: CandidatesDisplay.from_estimator(LogisticRegression()), "must be a fitted search"),
        (lambda: WeightsDisplay.from_estimator(LogisticRegression()), "must have `weights_`"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bars_of_a_blend_have_its_weights_largest_on_top(data):
    search = cp.ShiftGridSearchCV(
        LogisticRegression(), {"C": [0.001, 0.1, 10.0]}, refit="blend", n_bootstrap=0
    ).fit(data.X_source, data.y_source, X_target=data.X_target)
    display = BlendDisplay.from_estimator(search)
    weights = np.sort(search.blend_.weights)[::-1]
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_], weights)
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert len(labels) == len(set(labels)) == len(weights)
    assert {label.split()[0] for label in labels} <= {"C=0.001", "C=0.1", "C=10"}
    few = BlendDisplay(["a", "b", "c"], [0.2, 0.5, 0.3], most=2).plot()
    assert [text.get_text() for text in few.ax_.get_yticklabels()] == ["b", "c"]
    with pytest.raises(ValueError, match="Pass refit='blend'"):
        BlendDisplay.from_estimator(LogisticRegression())
    with pytest.raises(ValueError, match="one weight per member"):
        BlendDisplay(["a", "b"], [1.0])
