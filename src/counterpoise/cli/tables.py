"""Results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from counterpoise.cli.examples import ExampleRow

__all__ = ["example_table"]


def example_table(rows: Sequence[ExampleRow], /) -> Table:
    """Lay out choices, promises and truths, one way of choosing per row."""
    table = Table(
        title="Which penalty, and what will it cost in the target?",
        caption="Risk: mean squared loss. The truth is known because the problem is simulated.",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("chosen by")
    table.add_column("penalty", justify="right")
    table.add_column("estimate", justify="right")
    table.add_column("95% interval")
    table.add_column("true risk", justify="right", style="bold")
    table.add_column("covered")
    for row in rows:
        estimate, interval, covered = "", "", ""
        if row.risk is not None:
            low, high = row.risk.interval()
            estimate = f"{row.risk.value:.3f}"
            interval = f"{low:.3f} to {high:.3f}"
            covered = "yes" if low <= row.truth <= high else "no"
        penalty, truth = f"{row.alpha:.3g}", f"{row.truth:.3f}"
        table.add_row(row.label, penalty, estimate, interval, truth, covered)
    return table
