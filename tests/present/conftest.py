"""Records as the jobs make them, small and known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.jobs.records import (
    PLAIN,
    Audit,
    Blended,
    Candidates,
    ColumnBalance,
    Curve,
    Predictions,
    Provenance,
    Risks,
    Selection,
    ShiftMap,
    TableShape,
)

pytest.importorskip("matplotlib", reason="pictures need the cli extra")
pytest.importorskip("jinja2", reason="pages need the cli extra")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


_HOSTILE = [
    "<script>alert(1)</script>",
    '" onmouseover="alert(2)" x="',
    "'><img src=x onerror=alert(3)>",
    "$x_1$ and $",
    "]]></text></svg><script>alert(4)</script>",
    "{{ 7 * 7 }} {% raw %}",
    "a very long name " * 20,
    "température 日本語 🌡 \u202e rtl \x00\x1b",
]


def _make_audit(names=("age", "income", "region=north"), *, seed=0, **changes) -> Audit:
    rng = np.random.default_rng(seed)
    shift = np.zeros(len(names))
    shift[0] = 0.8
    X = rng.normal(size=(300, len(names)))
    Z = rng.normal(shift, 1.0, size=(500, len(names)))
    weights = np.exp(0.8 * X[:, 0] - 0.32)
    found = cp.diagnose(X, Z, weights=weights, losses=X[:, 0] ** 2)
    words = f"There is a mild shift. Means differ in {names[0]}."
    shift = replace(found.shift, size="mild", words=words, columns=[names[0]])
    found = replace(found, features=list(names), shift=shift)
    balance = [
        ColumnBalance(name, "number", name, float(found.balance_before[j]), float(a))
        for j, (name, a) in enumerate(zip(names, found.balance_after, strict=True))
    ]
    record = Audit(
        source=TableShape("labelled.csv", 300, len(names) + 1),
        target=TableShape("population.csv", 500, len(names)),
        columns=dict.fromkeys(names, "number"),
        notes=["id is only in labelled.csv and was left out."],
        diagnostics=found,
        weights_name="kmm",
        weights_words="Weights by 'kmm', the default.",
        weights=weights,
        balance=sorted(balance, key=lambda row: -abs(row.before)),
        shift_map=ShiftMap(X[:, :2], weights, Z[:, :2], ("first", "second")),
        provenance=Provenance(
            "counterpoise audit labelled.csv population.csv",
            {"source": "labelled.csv", "weights": None, "seed": 0},
            {"counterpoise": "0.1.0", "numpy": "2.0.0"},
            0,
            1.25,
            "2026-01-02T03:04:05+00:00",
        ),
    )
    return replace(record, **changes)


def _make_risks(label, method, value, spread) -> Risks:
    return Risks(
        label,
        method,
        value,
        value - 2 * spread,
        value + 2 * spread,
        np.full(value.shape, spread),
        int(np.nanargmin(value)),
    )


def _make_selection(
    audit=None,
    *,
    count=5,
    truth=True,
    label="price",
    names=("C",),
    blend=False,
    families=("ridge",),
) -> Selection:
    audit = _make_audit() if audit is None else audit
    values = np.logspace(-2, 2, count)
    shape = 0.1 * (np.log10(values) - 0.5) ** 2 if count > 1 else np.zeros(1)
    risks = [
        _make_risks("controlled", "controlled", 0.50 + shape, 0.03),
        _make_risks("weighted", "weighted", 0.47 + 1.2 * shape[::-1], 0.05),
        _make_risks(PLAIN, "source", 0.30 + 0.5 * shape[::-1], 0.02),
    ]
    chosen = risks[0].best
    parameters = [{name: float(value) for name in names} for value in values]
    known = 0.52 + shape if truth else None
    candidates = Candidates(
        names=list(names),
        parameters=parameters,
        models=[families[i % len(families)] for i in range(count)],
        fit_weighted=np.arange(count) % 3 == 2 if blend else np.zeros(count, dtype=bool),
        risks=risks,
        chosen=chosen,
        indistinguishable=risks[0].value < risks[0].value[chosen] + 0.03,
        variance_reduction=np.linspace(0.6, -0.1, count),
        plausibility=np.arange(count) / np.arange(count).sum() if blend else None,
        expected_regret=np.linspace(0.2, 0.0, count) if blend else None,
        truth=known,
        truth_error=None if known is None else np.full(count, 0.01),
    )
    words = "a weighted mean of their predictions"
    blended = Blended(np.array([2, 4, 0]), np.array([0.7, 0.25, 0.05]), words)
    one = len(names) == 1 and count > 1
    return Selection(
        audit=audit,
        task="regression",
        label=label,
        label_words=f"{label} is a number: regression.",
        models=list(families),
        model_words="ridge regression",
        loss="squared",
        loss_words="mean squared error",
        method="controlled",
        selection="consensus" if blend else "min",
        folds=5,
        candidates=candidates,
        blend=blended if blend else None,
        chosen_words="The choice has the least estimated risk in the target.",
        risk=float(risks[0].value[chosen]),
        risk_low=float(risks[0].low[chosen]),
        risk_high=float(risks[0].high[chosen]),
        corrected_risk=0.51,
        corrected_low=0.45,
        corrected_high=0.57,
        variance_reduction=0.4,
        curve=Curve(names[0], np.arange(count), values, True) if one else None,
        predictions=Predictions(
            500,
            "numbers",
            {},
            {},
            {"minimum": -1.0, "median": 0.2, "maximum": 3.0},
            {"minimum": -2.0, "median": 0.1, "maximum": 2.0},
        ),
        truth=0.52 if truth else None,
        truth_error=0.01 if truth else None,
        truth_note="population.csv has the label too; it was not used to choose." if truth else "",
        provenance=audit.provenance,
    )


@pytest.fixture(scope="session")
def make_audit():
    """Return a function that makes the record of an audit."""
    return _make_audit


@pytest.fixture(scope="session")
def make_selection():
    """Return a function that makes the record of a selection."""
    return _make_selection


@pytest.fixture(scope="session")
def hostile():
    """Names that try to be more than text."""
    return list(_HOSTILE)


@pytest.fixture(scope="session")
def pages():
    """Pages of each kind, with harmless and with hostile names."""
    from counterpoise.present import audit_page, selection_page

    bad = _make_audit(_HOSTILE)
    notes = [f"{name} was left out." for name in _HOSTILE]
    shift = replace(bad.diagnostics.shift, words=_HOSTILE[0], columns=_HOSTILE)
    bad = replace(bad, notes=notes, diagnostics=replace(bad.diagnostics, shift=shift))
    names = (_HOSTILE[0], _HOSTILE[3])
    return {
        "audit": audit_page(_make_audit()),
        "selection": selection_page(_make_selection()),
        "hostile audit": audit_page(bad),
        "hostile selection": selection_page(
            _make_selection(bad, label=_HOSTILE[1], names=names, count=40)
        ),
        "blend": selection_page(_make_selection(blend=True, families=("ridge", "forest"))),
    }
