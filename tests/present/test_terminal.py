"""Terminal, page and notebook show the same facts, in the same digits."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

import counterpoise as cp
from counterpoise._facts import Column, Table, card_text, diagnostics_facts, risk_card
from counterpoise._format import format_interval, format_number
from counterpoise.jobs.sentences import chosen_words
from counterpoise.present.job_sections import audit_document, selection_document, selection_page
from counterpoise.present.terminal import fit_table, print_document, wrap_sentences
from counterpoise.risk import RiskEstimate


def printed(document, *, width=80, **options):
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    print_document(document, console=console, **options)
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_intervals_and_names_of_methods_are_never_wrapped(make_selection, width):
    record = make_selection(names=("svc__C", "svc__gamma"))
    text = printed(selection_document(record), width=width)
    for risks in record.candidates.risks:
        best = risks.best
        assert format_interval(risks.low[best], risks.high[best]) in text
        assert f"\n {risks.label} " in text


@pytest.mark.parametrize("width", range(40, 90))
def test_intervals_in_sentences_stay_on_one_line(width):
    interval = "-1,228,333 to 1.2e+09"
    text = f"The least estimated risk in the target among 8: 1,228 (95% interval {interval}; x)."
    lines = wrap_sentences(text, width).splitlines()
    assert any(interval in line for line in lines)
    assert all(len(line) <= width for line in lines)
    assert " ".join(lines) == text


def test_columns_that_do_not_fit_are_left_out_and_named(make_selection):
    text = printed(selection_document(make_selection(names=("C", "gamma"))), width=80)
    assert "Not shown for lack of width" in text
    assert "controlled risk" in text
    wide = printed(selection_document(make_selection()), width=200)
    assert "Not shown" not in wide


def test_a_table_keeps_what_is_not_optional():
    columns = [Column("a"), Column("b", optional=1), Column("c", optional=2)]
    table = Table("", columns, [["1" * 10] * 3])
    assert [c.name for c in fit_table(table, 100).columns] == ["a", "b", "c"]
    assert [c.name for c in fit_table(table, 27).columns] == ["a", "b"]
    assert [c.name for c in fit_table(table, 3).columns] == ["a"]


def test_names_from_files_do_not_steer_the_terminal(make_audit, make_selection, hostile):
    audit = make_audit(hostile)
    for document in (audit_document(audit), selection_document(make_selection(audit))):
        text = printed(document)
        assert "\x1b" not in text
        assert "\x00" not in text
        assert "\u202e" not in text
    shift = replace(audit.diagnostics.shift, size="\x1b[2J", words="\x1b[2J")
    brief = replace(audit, diagnostics=replace(audit.diagnostics, shift=shift))
    assert printed(audit_document(brief), brief=True).count("\n") == 1
    assert "\x1b" not in printed(audit_document(brief), brief=True)


def test_terminal_and_page_say_the_same(make_selection):
    record = make_selection()
    text = " ".join(printed(selection_document(record), width=200).split())
    page = " ".join(selection_page(record).split())
    own, chosen = record.candidates.risks[0], record.candidates.chosen
    for words in (
        record.chosen_words,
        record.truth_note,
        record.audit.shift_words,
        *record.audit.notes,
        *record.audit.diagnostics.advice,
        format_number(own.value[chosen]),
        format_interval(own.low[chosen], own.high[chosen]),
        "not significantly different",
    ):
        assert words in text
        assert words in page


def test_a_choice_among_equals_is_called_arbitrary(make_selection):
    record = make_selection()
    risk = RiskEstimate(0.5, 0.01, 0.0, 90.0, 89.0, 0.1, "controlled")

    def words(alike):
        own = replace(record.candidates, indistinguishable=np.asarray(alike))
        page = selection_page(replace(record, candidates=own))
        return chosen_words(own, None, risk, risk, "mean squared error", ""), page

    for text in words([True] * 5):
        assert "choice" in text
        assert "arbitrary" in text
    for text in words([True] * 4 + [False]):
        assert "arbitrary" not in text


def test_a_blend_is_printed_with_its_members(make_selection):
    record = make_selection(blend=True, families=("ridge", "forest"))
    text = printed(selection_document(record), width=120)
    assert re.search(r"blend +blend of 3 models +0.525", text)
    assert re.search(r"ridge C=1 \(weighted\) +70%", text)
    assert "Models: ridge regression; 5 candidates" in text
    assert "chosen: blend of 3 models;" in printed(
        selection_document(record), brief=True, width=200
    )
    # One family has columns of parameters instead of names, and says how each was trained.
    one = printed(selection_document(make_selection(blend=True)), width=200)
    assert re.search(r"status +C +training +controlled risk", one)
    assert re.search(r"best single +1 +weighted", one)


def test_printing_is_what_the_notebook_shows(rng):
    x = rng.normal(-1, 1, size=400)
    found = cp.compare_risks(x**2, np.exp(x + 0.5))
    estimate = found["controlled"]
    for text in (str(found), repr(estimate), card_text(risk_card(estimate))):
        assert format_number(estimate.value) in text
        assert format_interval(*estimate.interval()) in text
    assert found._repr_html_().count(format_interval(*estimate.interval())) >= 1
    X = rng.normal(size=(60, 2))
    diagnostics = cp.diagnose(X, X + 0.3, weights=np.ones(60), losses=X[:, 0] ** 2)
    lines = str(diagnostics).splitlines()
    assert lines[0] == f"Verdict: {diagnostics.verdict}"
    for fact in diagnostics_facts(diagnostics):
        assert any(line.startswith(fact.name) and line.endswith(fact.value) for line in lines)
