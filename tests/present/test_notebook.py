"""What notebooks show: small, escaped, and only what is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from html_page import Page
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import counterpoise as cp
from counterpoise._format import (
    candidate_names,
    format_number,
    format_p_value,
    format_parameter,
    format_share,
    shorten_names,
)
from counterpoise._shown import shown_html
from counterpoise.present.estimates import name_candidates


@pytest.mark.parametrize("name", ["audit", "select", "doubtful", "hostile select"])
def test_an_answer_is_a_card(answers, name):
    answer = answers[name]
    shown = Page(answer._repr_html_())
    assert f"{answer.verdict[:1].upper()}{answer.verdict[1:]}" in shown.words
    assert not {"script", "img", "b"} & set(shown.tags)
    assert not set("\x1b\x00\u202e") & set(shown.words)
    for metric in (answer.metrics or {}).values():
        assert format_number(metric.value) in shown.words


def test_reports_groups_and_diagnoses_are_tables(answers):
    found = answers["select"]
    for result, words in (
        (found.metrics, [metric.words for metric in found.metrics.values()]),
        (found.estimates.groups, list(found.estimates.groups)),
        (found.diagnostics, ["effective rows", *found.diagnostics.reasons]),
    ):
        shown = Page(result._repr_html_())
        assert "table" in shown.tags
        for word in words:
            assert " ".join(word.split()) in shown.words
            assert word.split(",")[0][:20] in str(result)


def test_searches_are_shown_after_fit_only(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    search = cp.ShiftGridSearchCV(
        [
            ("logistic", LogisticRegression(), {"C": [0.1, 1.0]}),
            ("bayes", GaussianNB(), {"var_smoothing": [1e-9, 1.0]}),
        ],
        weights=np.exp(X[:, 0]),
        refit="blend",
        metrics="auto",
    )
    assert shown_html(search) == ""
    text = Page(shown_html(search.fit(X, y, X_target=X + 0.5))).words
    names = name_candidates(search)
    assert f"Delivered: blend of {len(search.blend_.places)} models" in text
    assert f"Chosen: {names[search.best_index_]}." in text
    for place, weight in zip(search.blend_.places, search.blend_.weights, strict=True):
        assert f"{names[place]} {format_share(weight)}" in text
    assert format_number(search.best_risk_.value) in text
    assert search.baseline_.words in text
    ridge = cp.ShiftRidgeCV(weights=None).fit(X, y)
    shown = Page(shown_html(ridge))
    assert f"alpha={ridge.alpha_:.3g}" in shown.words
    assert "and 190 more" in shown.words


def test_parameters_of_a_search_are_escaped(rng):
    risk = cp.target_risk(np.abs(rng.normal(size=(2, 50))), np.ones(50))
    params = [{"<script>": "<b>"}, {"<script>": "x" * 300}]
    search = SimpleNamespace(risk_=risk, best_index_=0, cv_results_={"params": params})
    shown = Page(shown_html(search))
    assert "script" not in shown.tags
    assert "<script>=<b>" in shown.words
    assert "x" * 200 not in shown.words


@pytest.mark.parametrize(
    ("write", "values", "texts"),
    [
        (
            format_number,
            [0.12345, 12345.6, 0.9996, -0.001234, 1.234e-9, 0.0, None, float("-inf")],
            ["0.123", "12,346", "1.00", "-0.00123", "1.23e-09", "0.00", "–", "-∞"],  # noqa: RUF001
        ),
        (format_share, [0.0123, 0.5, -0.25, None], ["1.2%", "50%", "-25%", "–"]),  # noqa: RUF001
        (
            format_parameter,
            [0.1, 100000.0, 1e7, "rbf", 3, None],
            ["0.1", "100000", "1e+07", "rbf", "3", "None"],
        ),
        (lambda log10: format_p_value(log10=log10), [-2.0, -412.03], ["0.01", "9e-413"]),
        (
            format_p_value,
            [0.5, 0.0321, 9.7e-13, 0.0, float("nan")],
            ["0.5", "0.032", "1e-12", "below 1e-300", "–"],  # noqa: RUF001
        ),
    ],
)
def test_numbers_are_readable(write, values, texts):
    assert [write(value) for value in values] == texts


def test_candidates_are_named_by_what_differs():
    clash = [{"a__C": 1.0, "b__C": 2.0}, {"a__C": 2.0, "b__C": 1.0}]
    assert candidate_names([{"svc__C": C, "tol": 1e-3} for C in (0.1, 10.0)]) == ["C=0.1", "C=10"]
    assert candidate_names(clash) == ["a__C=1, b__C=2", "a__C=2, b__C=1"]
    assert candidate_names([{}]) == ["the model as it is"]
    assert candidate_names([{}, {"C": 1}], models=["forest", "svm"]) == ["forest", "svm C=1"]
    assert candidate_names([{"C": 0.12341}, {"C": 0.12342}]) == ["C=0.12341", "C=0.12342"]


def test_labels_are_short_unlike_and_plain():
    names = [f"a long name that only differs in number {i} from the others" for i in range(12)]
    labels = shorten_names(names, 22)
    assert len(set(labels)) == 12
    assert all(len(label) <= 22 for label in labels)
    assert shorten_names(["the first", "the second"], 8) == [
        "…first",
        "…second",
    ]
    assert shorten_names(["same", "same"], 22) == ["same", "same (2)"]
    assert shorten_names(["a\nb\x00\u202ec"], 22) == ["a b\ufffd\ufffdc"]
