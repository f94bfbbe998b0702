"""Pictures with one labelled row per entry."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from counterpoise.report._canvas import plain_text, shorten
from counterpoise.report.palette import Palette

__all__ = ["FRAME", "MOST", "ROW", "best_first", "row_labels", "set_rows"]

# More rows than this are not read.
MOST = 30
# Inches of a row, and of what is around the rows.
ROW, FRAME = 0.30, 1.15


def set_rows(ax: Any, labels: Sequence[str], palette: Palette, /) -> None:
    """Give an axes one labelled row per entry, the first on top."""
    ax.set_yticks(np.arange(len(labels)), labels, parse_math=False)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=6)
    ax.grid(False, axis="y")
    ax.grid(True, axis="x", color=palette.grid)
    ax.set_axisbelow(True)
    ax.spines[["left", "top", "right"]].set_visible(False)


def best_first(risk: np.ndarray, chosen: int | None, /, *, most: int = MOST) -> np.ndarray:
    """Return the candidates to draw, least risk first, the choice always among them."""
    order = np.argsort(risk, kind="stable")  # NaN, for those that failed, is last
    shown = order[:most]
    if chosen is not None and chosen not in shown:
        shown = np.append(shown[:-1], chosen)
    return shown


def row_labels(names: Sequence[Any], width: int, /) -> list[str]:
    """Return one label per row, no two alike: long names are cut where they do not differ."""
    full = [plain_text(name, width=10_000) for name in names]
    labels = [shorten(name, width) for name in full]
    for label in {label for label in labels if labels.count(label) > 1}:
        rows = [i for i, other in enumerate(labels) if other == label]
        same = _common_start([full[i] for i in rows])
        if len({full[i] for i in rows}) == 1:
            continue
        for i in rows:
            cut = full[i][max(same - 4, 0) :]
            labels[i] = shorten(label[: width // 3] + "…" + cut, width) if same else label
    seen: dict[str, int] = {}
    for i, label in enumerate(labels):
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            labels[i] = f"{shorten(label, width - 4)} ({seen[label]})"
    return labels


def _common_start(names: Sequence[str]) -> int:
    """Count the characters that all names begin with."""
    columns = (len(set(column)) == 1 for column in zip(*names, strict=False))
    return sum(1 for _ in takewhile(bool, columns))
