"""The answer as text: short, whole sentences, both intervals, and no name steers a terminal."""

import re
from dataclasses import replace

import numpy as np
import pytest

from counterpoise._format import format_interval, format_number
from counterpoise.present.answer import answer_document, answer_text
from counterpoise.present.estimates import NOTHING, estimate_cells, interval_text
from counterpoise.present.sections import Bullets, Document, Section
from counterpoise.present.text import short_text
from counterpoise.risk import RiskEstimate
from counterpoise.risk.estimate import LOG, LOGIT, Link

NAMES = ["audit", "select", "labels", "classes", "doubtful", "hostile audit", "hostile select"]


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_short_and_fits_the_width(answers, name):
    answer = answers[name]
    lines = str(answer).splitlines()
    assert len(lines) <= (20 if answer.estimates is None else 25)
    if "hostile" not in name:
        assert max(map(len, lines)) <= 80
        assert max(map(len, answer_text(answer, width=40).splitlines())) <= 40
    assert not set("\x1b\x00\u202e") & set(str(answer) + answer_text(answer, details=True))
    line = answer_document(answer).line
    assert line.startswith(f"{answer.verdict}: ")
    assert "\n" not in line


def test_both_intervals_constant_and_truth_stand_in_one_line(answers):
    answer = answers["select"]
    text = str(answer)
    for name, metric in answer.metrics.items():
        truth = answer.estimates.truth.metrics[name]
        low, high = metric.interval()
        cells = [
            format_number(metric.value),
            format_interval(low, high),
            format_interval(*metric.interval(drift=False)),
            format_number(metric.baseline),
            f"{format_number(truth)} {'held' if low <= truth <= high else 'MISSED'}",
        ]
        assert re.search(r"\s+".join(map(re.escape, cells)), text), name
    assert "Plain cross-validation would promise: RMSE" in text
    *_, least = sorted(answer.estimates.groups.values(), key=lambda own: -own.risk.value)
    assert "By region: worst for" in text
    best = f"best for {least.name}, RMSE {format_number(np.sqrt(least.risk.value))} ("
    assert best in " ".join(text.split())


def test_a_truth_outside_the_interval_is_called_missed(answers):
    answer = answers["select"]
    far = replace(answer.estimates.truth, metrics={"rmse": 100.0})
    other = replace(answer, estimates=replace(answer.estimates, truth=far))
    assert "100 MISSED" in str(other)


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_the_truth_is_the_last_column_that_a_narrow_terminal_drops(answers, width):
    text = answer_text(answers["select"], width=width)
    assert max(map(len, text.splitlines())) <= width
    head = next(line for line in text.splitlines() if line.startswith("expected"))
    heads = ["constant", "without drift", "truth"]
    kept = [name in head for name in heads]
    assert kept == sorted(kept)
    if width >= 80:
        assert all(kept)


def test_the_verdict_says_what_was_checked(answers):
    unchecked = "Not checked: whether labels depend on the columns in the same way."
    for name in ("audit", "doubtful"):
        word = answers[name].verdict
        assert f"\n{word[:1].upper()}{word[1:]}. {unchecked}" in str(answers[name])
    for name in ("labels", "select"):  # used in every estimate, and kept aside
        text = " ".join(str(answers[name]).split())
        assert unchecked not in text
        assert answers[name].diagnostics.label_test.words in text


def test_numbers_that_are_not_to_be_trusted_are_marked(answers):
    text = str(answers["doubtful"])
    value = format_number(answers["doubtful"].metrics["rmse"].value)
    assert f"{value} ?" in text
    assert "?: do not trust" in text
    assert " ?" not in str(answers["select"])


@pytest.mark.parametrize(
    ("link", "value", "error", "nothing"),
    [
        (LOGIT, 0.5, 0.25, True),
        (LOGIT, 0.5, 0.1, False),
        (LOG, 1.0, 1.3, True),
        (LOG, 1.0, 0.5, False),
        (LOG, 1.0, 400.0, True),  # from 0 to infinity, both rounded
        (Link(high=1.0), 0.5, 0.7, True),
        (Link(high=1.0), 0.5, 0.2, False),
        (Link(high=1.0), 0.5, 40.0, True),  # one end is rounded to 1
        (Link(), 0.5, 100.0, False),
    ],
)
def test_an_interval_that_holds_most_of_what_is_possible_says_nothing(link, value, error, nothing):
    estimate = RiskEstimate(value, error, 0.0, 1e6, 1e6, link=link)
    assert (interval_text(estimate) == NOTHING) == nothing


@pytest.mark.parametrize(
    ("link", "values", "texts"),
    [
        (LOGIT, (8e-18, 0.4), ["0.00", "0.00 to 0.400"]),
        (Link(high=1.0), (-2e-16, 0.4), ["0.00", "0.00 to 0.400"]),
        (Link(high=1.0), (-0.2, 0.4), ["-0.200", "-0.200 to 0.400"]),
        (LOG, (8e-18, 9e-18), ["8e-18", "8e-18 to 9e-18"]),
    ],
)
def test_rounding_is_not_shown_where_a_scale_ends_at_1(monkeypatch, link, values, texts):
    estimate = RiskEstimate(values[0], 0.1, 0.0, 1e6, 1e6, link=link)
    monkeypatch.setattr(RiskEstimate, "interval", lambda self, drift: values)
    assert [str(cell) for cell in estimate_cells(estimate)[:2]] == texts


def test_hints_for_the_command_line_are_only_where_they_are_asked_for(answers):
    doubtful = answers["doubtful"]
    assert "(--drop age)" in answer_text(doubtful, hints=True)
    assert "--" not in answer_text(doubtful)
    same = replace(doubtful.diagnostics, advice=["Use no weights: no shift was found."])
    unshifted = replace(doubtful, diagnostics=same)
    assert "(--weights none)" in answer_text(unshifted, hints=True)


def test_details_have_everything_that_the_page_has(answers):
    answer = answers["select"]
    text = " ".join(answer_text(answer, details=True, width=100).split())
    for words in (
        answer.estimates.truth.note,
        answer.diagnostics.shift.words,
        answer.estimates.baseline.sentence("mean squared error"),
        *answer.tables.notes,
        *(format_number(value) for value in answer.choice.risks.value),
        *(format_number(group.risk.value) for group in answer.estimates.groups.values()),
    ):
        assert words in text, words
    narrow = answer_text(answer, details=True, width=60)
    assert "fitted" in narrow  # the end of an explanation
    assert max(map(len, narrow.splitlines())) <= 60


def test_long_lists_are_cut_between_sentences_and_alerts_stay():
    blocks = [
        Bullets("Warning", ["first alert", "second alert"], "alert"),
        Bullets("Why", [f"reason {i} " + "word " * 20 for i in range(9)]),
        Bullets("Next", ["do this", "do that"]),
    ]
    document = Document("", "", "lead", "", [Section("", "", blocks)])
    lines = short_text(document, lines=10).splitlines()
    assert len(lines) <= 10
    for words in ("first alert", "second alert", "reason 0", "do this", "do that"):
        assert any(words in line for line in lines)
    assert not any("reason 8" in line for line in lines)


def test_what_more_labels_are_worth_is_a_number_under_next(answers):
    answer = answers["select"]
    few, _, many = answer.estimates.more_labels.values()
    text = " ".join(str(answer).split())
    # On the scale of the first table.
    then = format_interval(*np.sqrt(few.interval()))
    line = f"Interval of the RMSE with more labels of random target rows, about: {then} (20), "
    assert line in text
    assert text.index("Next") < text.index(line) < text.index("Delivered")
    assert many.interval()[1] < few.interval()[1] < answer.risk.interval()[1]
    settled = replace(answer.estimates, more_labels=dict.fromkeys((20, 50, 100), answer.risk))
    assert "more labels" not in str(replace(answer, estimates=settled))
