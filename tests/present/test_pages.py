"""Pages from records: complete, self-contained, and everything from the data escaped."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from counterpoise._format import format_number
from counterpoise.present import CandidatesDisplay, ShiftMapDisplay, audit_page, selection_page
from counterpoise.present.palette import DARK, LIGHT, css_variables
from counterpoise.present.svg import figure_svg, inline_svg

VOID = {"meta", "br", "img", "input", "link", "hr"}


class Page(HTMLParser):
    """Elements, text by element, and what could act or fetch."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.ids = [], [], []
        self.text, self.open, self.scripts = "", [], []
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif not self.open or self.open[-1] != "style":
            self.text += data + " " * (self.open[-1:] in (["td"], ["th"]))


NAMES = ["audit", "selection", "hostile audit", "hostile selection", "blend"]


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_whole_and_need_nothing_else(pages, name):
    page = Page(pages[name])
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert page.tags.count("script") == 1
    assert len(page.scripts) == 1
    for tag, key, value in page.attributes:
        assert not key.startswith("on"), (tag, key)
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


def test_every_colour_of_the_pictures_follows_the_theme(pages):
    for svg in re.findall(r"<svg.*?</svg>", pages["selection"], flags=re.S):
        assert re.findall(r"#[0-9a-f]{6}\b", svg) == []
    for palette in (LIGHT, DARK):
        for name, value in css_variables(palette).items():
            assert f"{name}: {value};" in pages["selection"]


def test_the_verdict_comes_first_then_choice_pictures_tables_and_how_it_was_made(pages):
    source = pages["selection"]
    places = [source.index(f'id="{part}"') for part in ("verdict", "choice", "pictures", "tables")]
    places.append(source.index('id="made"'))
    assert places == sorted(places)
    source = pages["audit"]
    places = [source.index(f'id="{part}"') for part in ("verdict", "shift", "pictures", "tables")]
    assert places == sorted(places)


def test_the_selection_says_what_the_record_says(pages, make_selection):
    text = " ".join(Page(pages["selection"]).text.split())
    record = make_selection()
    for words in (
        record.chosen_words,
        record.truth_note,
        record.label_words,
        record.audit.weights_words,
        record.audit.notes[0],
        record.provenance.command,
        "numpy 2.0.0",
        "C=1",
        "0.510",
        "0.450 to 0.570",
        "0.520 ± 0.010",
        *record.audit.diagnostics.reasons,
        *record.audit.diagnostics.advice,
    ):
        assert words in text, words


def test_truth_stands_beside_the_estimates_only_where_it_is_known(pages, make_selection):
    known = Page(pages["selection"])
    unknown = Page(selection_page(make_selection(truth=False)))
    assert "truth" in known.text
    assert "truth" not in unknown.text.lower()
    row = re.search(r'<tr class="chosen">.*?</tr>', pages["selection"], flags=re.S)[0]
    assert Page(row).text.split() == [
        "controlled", "C=1", "0.525", "0.465", "to", "0.585", "0.545", "yes",
    ]  # fmt: skip


def test_hostile_names_are_text(pages, hostile):
    for name in ("hostile audit", "hostile selection"):
        page = Page(pages[name])
        for text in hostile[:6]:
            assert text in page.text
        assert page.tags.count("b") == 0
        assert "alert" not in " ".join(page.scripts)


def test_candidates_are_listed_by_risk_with_what_they_are_sorted_by(pages, make_selection):
    record = make_selection()
    table = re.search(r'id="candidates-table".*?</table>', pages["selection"], flags=re.S)[0]
    rows = re.findall(r"<tr[^>]*>(?!\s*<th scope=\"col\").*?</tr>", table, flags=re.S)
    risk = record.candidates.risks[0].value
    first = [re.findall(r'data-value="([^"]*)"', row) for row in rows]
    order = np.argsort(risk, kind="stable")
    assert [float(cells[0]) for cells in first] == [
        record.candidates.parameters[i]["C"] for i in order
    ]
    assert [float(cells[1]) for cells in first] == risk[order].tolist()
    assert "chosen" in rows[0]
    assert 'aria-sort="ascending"' in table


@pytest.fixture
def no_pictures(monkeypatch):
    """Leave out the slow part where it is not looked at."""
    for name in ("audit_pictures", "selection_pictures"):
        monkeypatch.setattr(f"counterpoise.present.job_sections.{name}", lambda record: [])


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("verdict", ["trust", "caution", "do not trust"])
def test_every_verdict_has_its_look(verdict, make_audit):
    audit = make_audit()
    found = replace(audit.diagnostics, verdict=verdict)
    page = Page(audit_page(replace(audit, diagnostics=found)))
    kind = {"trust": "good", "caution": "fair", "do not trust": "bad"}[verdict]
    assert any(value == f"card verdict-box {kind}" for _, key, value in page.attributes)


def test_a_selection_of_one_candidate_or_with_failures(make_selection):
    record = make_selection(count=1)
    record.candidates.risks[1].value[0] = np.nan
    page = Page(selection_page(record))
    assert "1 candidate," in page.text


def test_a_blend_is_shown_with_its_members_and_weights(pages, make_selection):
    record = make_selection(blend=True, families=("ridge", "forest"))
    names, candidates = record.candidates.labels, record.candidates
    assert names[2] == "ridge C=1 (weighted)"
    assert names[3] == "forest C=10"
    chosen = re.search(r'<tr class="chosen">.*?</tr>', pages["blend"], flags=re.S)[0]
    assert " ".join(Page(chosen).text.split()) == (
        "blend blend of 3 models 0.525 0.465 to 0.585 0.520 yes"
    )
    start = pages["blend"].index("<table", pages["blend"].index('id="blend-table"'))
    table = pages["blend"][start : pages["blend"].index("</table>", start) + len("</table>")]
    text = " ".join(Page(table).text.split())
    for place, weight in zip(record.blend.members, ("70%", "25%", "5.0%"), strict=True):
        risk = format_number(candidates.risks[0].value[place])
        assert f"{names[place]} {weight} {risk}" in text
    whole = " ".join(Page(pages["blend"]).text.split())
    for words in (
        "Members of the blend",
        "weight in the blend",
        "plausibility",
        "expected regret",
        "4 of 5",
        f"consensus {names[candidates.chosen]}",
        "best single",
    ):
        assert words in whole, words
    assert 'aria-label="Members of the blend' in pages["blend"]


def test_plain_cross_validation_is_shown_with_the_truth_of_what_it_delivers(pages, make_selection):
    plain = make_selection().candidates.plain
    truth = make_selection().candidates.truth[plain.best]
    text = " ".join(Page(pages["selection"]).text.split())
    assert f"plain cross-validation {make_selection().candidates.labels[plain.best]}" in text
    assert f"{truth:.3f}true risk of what it would deliver" in text.lower()
    unknown = " ".join(Page(selection_page(make_selection(truth=False))).text.split())
    assert "risk that it estimates for its own choice" in unknown.lower()
    assert "unweighted" not in text


def test_a_selection_of_two_hundred_candidates(make_selection):
    many = selection_page(make_selection(count=200, names=("C", "gamma")))
    assert "The best 12 of 200 candidates" in many
    assert len(many) < 600_000


@pytest.mark.usefixtures("no_pictures")
def test_candidates_that_failed_say_so(make_selection):
    record = make_selection()
    record.candidates.risks[0].value[0] = np.nan
    assert "failed" in Page(selection_page(record)).text


@pytest.mark.usefixtures("no_pictures")
def test_classes_are_shown_as_shares(make_selection):
    record = make_selection()
    shares = replace(
        record.predictions, kind="classes", classes={"yes": 0.25}, source_classes={"no": 0.5}
    )
    text = Page(selection_page(replace(record, predictions=shares))).text
    assert "25%" in text
    assert "50%" in text


def test_weights_that_are_all_zero_make_a_page(make_audit):
    audit = make_audit(weights=np.zeros(300))
    assert "weigh nothing" in audit_page(audit)


def test_the_same_record_makes_the_same_page(make_audit):
    assert audit_page(make_audit()) == audit_page(make_audit())


def _figure(display):
    figure = Figure()
    display.plot(figure.subplots(), theme="light")
    return figure_svg(figure)


def test_inline_pictures_do_not_share_names_and_stay_small():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1000, 2))
    content = _figure(ShiftMapDisplay(points, points, np.ones(1000)))
    first, last = (inline_svg(content, name=name, description="a map") for name in "ab")
    assert len(first) < 0.55 * len(content)
    ids = [set(re.findall(r'id="([^"]*)"', svg)) for svg in (first, last)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert "<style" not in first
    assert "font-family" not in first
    # The style moved to the group is still on every marker.
    assert first.count("<use") == content.decode().count("<use")


def test_a_description_cannot_leave_its_attribute():
    content = _figure(CandidatesDisplay(["a"], {"controlled": [1.0]}))
    svg = inline_svg(content, name="a", description='"><script>alert(1)</script>')
    page = Page(svg)
    assert "script" not in page.tags
    assert ("svg", "aria-label", '"><script>alert(1)</script>') in page.attributes


def test_templates_mark_nothing_as_safe():
    directory = Path(__file__).parents[2] / "src" / "counterpoise" / "present" / "templates"
    found = [
        path
        for path in directory.glob("*.html")
        if "|safe" in re.sub(r"{#.*?#}", "", path.read_text()).replace(" ", "")
    ]
    assert found == []
