"""Pages from answers: complete, self-contained, and everything from the data escaped."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from html_page import Page
from matplotlib.figure import Figure

import counterpoise as cp
from counterpoise._format import format_number
from counterpoise.present import ForestDisplay, answer_page
from counterpoise.present.page import figure_file, inline_svg

NAMES = ["audit", "select", "labels", "classes", "doubtful", "hostile audit", "hostile select"]


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_whole_and_need_nothing_else(pages, name):
    page = Page(pages[name])
    assert len(set(page.ids)) == len(page.ids)
    assert page.tags.count("script") == 1
    for _, key, value in page.attributes:
        if key in ("src", "href", "xlink:href", "action", "data"):
            assert value.startswith("#")
            assert value[1:] in page.ids
        for target in re.findall(r"url\(#([^)]*)\)", value or ""):
            assert target in page.ids
    assert "img" not in page.tags
    assert not re.search(r"@import|url\((?!#)|https?://", pages[name])
    policy = next(v for t, k, v in page.attributes if k == "content" and "default-src" in v)
    assert policy.startswith("default-src 'none';")
    assert "script-src 'sha256-" in policy


def test_the_answer_comes_first_then_two_pictures_and_the_rest_is_folded(pages):
    source = pages["select"]
    answer, pictures, rest = (
        source.index(f'id="{part}"') for part in ("answer", "pictures", "reliability")
    )
    assert answer < pictures < rest
    assert source[pictures:rest].count("<figure") == 3  # the groups were asked for
    folded = re.findall(r'<details class="folded" id="(\w+)"', source)
    assert folded == ["reliability", "candidates", "sensitivity", "shift", "notes", "made"]
    audit = pages["audit"]
    assert audit[audit.index('id="pictures"') : audit.index("<details")].count("<figure") == 1


def test_the_page_says_what_the_answer_says(pages, answers):
    for name in ("select", "classes", "labels", "audit"):
        answer, text = answers[name], Page(pages[name]).words
        words = [*answer.diagnostics.reasons, *answer.next, *answer.warnings, *answer.tables.notes]
        words += [answer.made.command, answer.diagnostics.shift.words]
        words += [answer.estimates.truth.note] if name == "select" else []
        words += [format_number(metric.value) for metric in (answer.metrics or {}).values()]
        for sentence in words:
            assert " ".join(sentence.split()) in text, sentence
    assert "held" in Page(pages["select"]).text
    assert "truth" not in Page(pages["labels"]).text


def test_hostile_names_are_text_and_control_characters_are_replaced(pages, hostile):
    for name in ("hostile audit", "hostile select"):
        page = Page(pages[name])
        for text in hostile[:6]:
            assert text in page.text
        assert page.tags.count("b") == 0
        assert "alert" not in " ".join(page.scripts)
        assert not set("\x1b\x00\u202e") & set(pages[name])


def test_every_verdict_has_its_look_and_doubtful_numbers_are_grey(answers, pages):
    kinds = {"confirmed": "good", "plausible": "fine", "caution": "fair", "do not trust": "bad"}
    audit = answers["audit"]
    for verdict, kind in kinds.items():
        found = replace(audit.diagnostics, verdict=verdict)
        page = answer_page(replace(audit, diagnostics=found))
        assert f'class="card verdict-box {kind}"' in page
    assert pages["doubtful"].count('<tr class="doubtful">') == len(answers["doubtful"].metrics)
    assert '<tr class="doubtful">' not in pages["select"]


def test_candidates_are_listed_by_the_rule_of_choice(pages, answers):
    choice = answers["select"].choice
    table = re.search(r'id="candidates-table".*?</table>', pages["select"], flags=re.S)[0]
    first = [
        float(v) for v in re.findall(r'<tr class="\w*">.*?data-value="([^"]*)"', table, flags=re.S)
    ]
    np.testing.assert_array_equal(first, choice.risks.value[np.argsort(choice.source_risks)])
    assert table.count('<tr class="chosen">') == 1


def test_candidates_that_failed_say_so(answers):
    answer = answers["select"]
    value = answer.choice.risks.value.copy()
    value[0] = np.nan
    risks = replace(answer.choice.risks, value=value)
    page = answer_page(replace(answer, choice=replace(answer.choice, risks=risks)))
    assert "(failed)" in page


def test_the_same_answer_makes_the_same_page(pages, answers):
    assert answer_page(answers["audit"]) == pages["audit"]
    assert len(pages["hostile select"]) < 600_000


def _figure(display):
    figure = Figure()
    display.plot(figure.subplots(), theme="light")
    return figure_file(figure)


def test_inline_pictures_do_not_share_names_and_descriptions_stay_in_their_attribute():
    content = _figure(cp.present.BalanceDisplay(["a"], [0.5], [0.1]))
    first, last = (inline_svg(content, name=name, description="a map") for name in "ab")
    ids = [set(re.findall(r'id="([^"]*)"', svg)) for svg in (first, last)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert "<style" not in first
    content = _figure(ForestDisplay(["a"], [1.0]))
    page = Page(inline_svg(content, name="a", description='"><script>alert(1)</script>'))
    assert "script" not in page.tags
    assert ("svg", "aria-label", '"><script>alert(1)</script>') in page.attributes


def test_templates_mark_nothing_as_safe():
    directory = Path(cp.present.__file__).parent / "templates"
    texts = [path.read_text() for path in directory.glob("*.html")]
    assert texts
    assert not any("|safe" in re.sub(r"{#.*?#}", "", text).replace(" ", "") for text in texts)
