"""What notebooks show: small, escaped, and only what is known."""

from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import counterpoise as cp
from counterpoise._facts import (
    card_html,
    comparison_card,
    diagnostics_card,
    diagnostics_facts,
    name_candidates,
    risk_card,
    search_html,
)
from counterpoise._format import (
    format_number,
    format_p_value,
    format_parameter,
    format_share,
)


class Text(HTMLParser):
    """Text and tags; every element must be closed."""

    def __init__(self, source):
        super().__init__()
        self.text, self.tags, self.open = "", [], []
        self.feed(source)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.open.append(tag)
        assert all(not name.startswith("on") for name, _ in attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + " "


@pytest.fixture(scope="module")
def losses():
    rng = np.random.default_rng(0)
    x = rng.normal(-1, 1, size=400)
    return x**2, np.exp(x + 0.5)


def test_a_risk_is_shown_with_its_interval(losses):
    risk = cp.target_risk(*losses)
    low, high = risk.interval()
    text = Text(card_html(risk_card(risk))).text
    for number in (risk.value, low, high):
        assert format_number(number) in text
    assert "controlled" in text


def test_many_risks_are_a_table_that_ends(losses):
    values, weights = losses
    many = cp.target_risk(np.stack([values + i for i in range(25)]), weights)
    shown = Text(card_html(risk_card(many)))
    assert shown.tags.count("tr") == 11
    assert "and 15 more" in shown.text
    cube = cp.target_risk(np.broadcast_to(values, (2, 3, 400)), weights)
    assert "(2, 3) risks" in Text(card_html(risk_card(cube))).text


def test_a_comparison_has_a_row_per_method(losses):
    found = cp.compare_risks(*losses)
    shown = Text(card_html(comparison_card(found)))
    assert shown.tags.count("tr") == len(found) + 1
    for name in found:
        assert name in shown.text


@pytest.mark.parametrize("verdict", ["trust", "caution", "do not trust", "<other>"])
def test_diagnostics_show_the_verdict_and_every_number(make_audit, hostile, verdict):
    from dataclasses import replace

    found = replace(make_audit(hostile).diagnostics, verdict=verdict, reasons=hostile, advice=[])
    shown = Text(card_html(diagnostics_card(found)))
    assert verdict[1:] in shown.text
    assert hostile[0] in shown.text
    assert "script" not in shown.tags
    assert shown.tags.count("tr") == len(diagnostics_facts(found))


def test_diagnostics_without_losses_leave_their_rows_out(rng):
    X = rng.normal(size=(50, 2))
    facts = diagnostics_facts(cp.diagnose(X, X + 0.1, weights=np.ones(50)))
    names = [fact.name for fact in facts]
    assert "variance reduction" not in names
    assert "effective sample size" in names


def test_searches_are_shown_after_fit_only(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    search = cp.ShiftGridSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0]}, weights=np.ones(60), n_bootstrap=5
    )
    assert search_html(search) == ""
    text = Text(search_html(search.fit(X, y))).text
    assert f"C={search.best_params_['C']:g}" in text
    assert format_number(search.best_risk_.value) in text
    assert "chosen" in text
    ridge = cp.ShiftRidgeCV(weights=None).fit(X, y)
    shown = Text(search_html(ridge))
    assert f"alpha={ridge.alpha_:.3g}" in shown.text
    assert "and 190 more" in shown.text


def test_a_search_that_blends_shows_members_and_what_the_choice_rests_on(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    search = cp.ShiftGridSearchCV(
        [
            ("logistic", LogisticRegression(), {"C": [0.1, 1.0]}),
            ("bayes", GaussianNB(), {"var_smoothing": [1e-9, 1.0]}),
        ],
        weights=np.exp(X[:, 0]),
        fit_weighted="both",
        selection="consensus",
        refit="blend",
        random_state=0,
    ).fit(X, y, X_target=X + 0.5)
    text = " ".join(Text(search_html(search)).text.split())
    count = len(search.blend_.members)
    assert f"delivered blend of {count} models" in text
    assert f"best single candidate {name_candidates(search)[search.best_index_]}" in text
    for place, weight in zip(search.blend_.places, search.blend_.weights, strict=True):
        assert f"{name_candidates(search)[place]} {format_share(weight)}" in text
    assert search.choice_words_ in text
    assert f"{np.count_nonzero(search.plausibility_)} of 8 candidates" in text
    assert format_number(search.blend_.risk.value) in text
    assert len(set(name_candidates(search))) == 8
    for place, member in zip(search.blend_.places, search.blend_.members, strict=True):
        assert search.cv_results_["params"][place] == member.params
        assert search.cv_results_["fit_weighted"][place] == member.fit_weighted


def test_parameters_of_a_search_are_escaped(losses):
    values, weights = losses
    risk = cp.target_risk(np.stack([values, values + 1]), weights)
    params = [{"<script>": "<b>"}, {"<script>": "x" * 300}]
    search = SimpleNamespace(risk_=risk, best_index_=0, cv_results_={"params": params})
    shown = Text(search_html(search))
    assert "script" not in shown.tags
    assert "<script>=<b>" in shown.text
    assert "x" * 200 not in shown.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.123"),
        (12345.6, "12,346"),
        (1.5, "1.50"),
        (0.9996, "1.00"),
        (-0.001234, "-0.00123"),
        (1.234e-9, "1.23e-09"),
        (0.0, "0.00"),
        (float("nan"), "–"),  # noqa: RUF001
        (None, "–"),  # noqa: RUF001
        (float("inf"), "∞"),
        (float("-inf"), "-∞"),
    ],
)
def test_numbers_are_readable(value, text):
    assert format_number(value) == text


def test_shares_and_parameters_are_readable():
    assert [format_share(v) for v in (0.0123, 0.5, -0.25, None)] == ["1.2%", "50%", "-25%", "–"]  # noqa: RUF001
    values = [0.1, 100000.0, 1e7, "rbf", 3, None]
    assert [format_parameter(v) for v in values] == ["0.1", "100000", "1e+07", "rbf", "3", "None"]


def test_p_values_are_readable_however_small():
    values = [0.5, 0.0321, 4.2e-12, 9.7e-13, 0.0, float("nan")]
    texts = ["0.5", "0.032", "4e-12", "1e-12", "below 1e-300", "–"]  # noqa: RUF001
    assert [format_p_value(value) for value in values] == texts
    assert format_p_value(log10=-412.03) == "9e-413"
