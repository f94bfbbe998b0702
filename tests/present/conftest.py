"""Answers of small jobs, with harmless and with hostile names."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import counterpoise as cp

pytest.importorskip("matplotlib", reason="pictures need the cli extra")
pytest.importorskip("jinja2", reason="pages need the cli extra")
pytest.importorskip("pyarrow", reason="jobs need the cli extra")

HOSTILE = [
    "<script>alert(1)</script>",
    '" onmouseover="alert(2)" x="',
    "'><img src=x onerror=alert(3)>",
    "$x_1$ and $",
    "]]></text></svg><script>alert(4)</script>",
    "{{ 7 * 7 }} {% raw %}",
    "a very long name " * 20,
    "température 日本語 🌡 \u202e rtl \x00\x1b",
]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def frames(names=("age", "income", "region"), label="price", *, shift=0.6, labels=400):
    """Two tables; the first column moves by `shift`, the last is of text."""
    import pandas as pd

    rng = np.random.default_rng(0)
    tables = []
    for n, moved in ((300, 0.0), (400, shift)):
        table = pd.DataFrame({name: rng.normal(size=n) for name in names[:-1]})
        table[names[0]] += moved
        table[names[-1]] = rng.choice(["north", "south", HOSTILE[0]], n)
        table[label] = 3 + table[names[0]] + 0.5 * rng.normal(size=n)
        tables.append(table)
    tables[1].loc[labels:, label] = np.nan
    return tables


@pytest.fixture(scope="session")
def answers():
    """An answer of each kind, by name."""
    two = {"model": ["ridge:alpha=1,10,1000", "forest:n_estimators=5"]}
    one = {"model": "ridge:alpha=1,10"}
    classes = [table.assign(price=table["price"] > 3.5) for table in frames()]
    with threadpool_limits(limits=1):
        return {
            "audit": cp.audit(*frames(), label="price"),
            "select": cp.select(*frames(), label="price", by="region", **two),
            "labels": cp.select(*frames(labels=40), label="price", **one),
            "classes": cp.select(*classes, label="price", model="logistic:C=1"),
            "doubtful": cp.select(*frames(shift=50.0, labels=0), label="price", **one),
            "hostile audit": cp.audit(*frames(HOSTILE, HOSTILE[1])),
            "hostile select": cp.select(
                *frames(HOSTILE, HOSTILE[1]), label=HOSTILE[1], by=HOSTILE[-1], **one
            ),
        }


@pytest.fixture(scope="session")
def pages(answers):
    """Their pages."""
    return {name: cp.present.answer_page(answer) for name, answer in answers.items()}


@pytest.fixture(scope="session")
def hostile():
    """Names that try to be more than text."""
    return list(HOSTILE)
