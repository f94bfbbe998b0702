"""The tables of the peer study: mean ranks, ratios, paired tests, times."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import real_data
from estimators import NONE, OURS
from part_choice import PLAIN
from ranks import Ranks, compare

# Measure: part, what errors are relative to, what is added to errors so that small ones tie.
MEASURES = {
    "weights": ("weights", NONE, 0.05),
    "means": ("weights", NONE, 0.01),
    "risk": ("risk", NONE, 0.01),
    "delivered": ("choice", PLAIN, 0.0),
}
# References that no package can deliver.
BOUNDS = ("true weights", "oracle")


def read(out: Path, half: str) -> pd.DataFrame:
    """Return all rows of one half and of the made problems."""
    rows = [row for path in sorted(out.glob("*.json")) for row in json.loads(path.read_text())]
    if not rows:
        raise SystemExit(f"No results in {out}. Use the command run first.")
    table = pd.DataFrame(rows)
    real = table.problem.isin(real_data.names(half))
    return table[real | table.group.isin(["made", "time"])]


def errors(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the error of each method (columns) on each problem (rows).

    Draws of a cell are averaged by root mean square, or by the mean for delivered risks, which are
    then divided by those of the reference; sizes of a problem by the geometric mean. Methods that
    have no value on some problem are left out.
    """
    part, reference, floor = MEASURES[measure]
    own = table[(table.part == part) & ~table.method.isin(BOUNDS)]
    power = 1 if measure == "delivered" else 2
    cells = (
        (own[measure] ** power)
        .groupby([own.group, own.problem, own.n, own.method])
        .mean()
        .pow(1 / power)
        .unstack()
    )
    cells = (cells + floor).div(cells[reference] + floor, axis=0)
    found = np.exp(np.log(cells).groupby(level=["group", "problem"]).mean())
    return found.dropna(axis=1)


def partial_ratios(table: pd.DataFrame, measure: str, ranked: pd.DataFrame) -> pd.DataFrame:
    """Return ratios to the reference of the methods that run on some problems only."""
    part, reference, _ = MEASURES[measure]
    own = table[table.part == part]
    means = own.groupby(["problem", "n", "method"])[measure].mean().unstack()
    rest = [name for name in means if name not in ranked and name not in BOUNDS]
    logs = np.log(means[rest].div(means[reference], axis=0)).groupby("problem").mean()
    found = {"ratio": np.exp(logs.mean()), "problems": logs.notna().sum()}
    return pd.DataFrame(found).rename_axis("method").reset_index()


def times(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per estimator: seconds at each size, or why there are none."""
    own = table[table.part == "time"]
    cells = own.assign(
        text=[
            f"{s:.2g}" if np.isfinite(s) else why
            for s, why in zip(own.seconds, own.failed, strict=True)
        ]
    )
    wide = cells.pivot_table(index="method", columns="n", values="text", aggfunc="first")
    return wide.reindex(own.method.unique()).rename_axis(None, axis=1).reset_index()


def report(options: argparse.Namespace, versions: dict[str, str], command: str) -> None:
    """Print every comparison and write the tables of the guide."""
    table = read(options.out, options.half)
    written: dict[str, pd.DataFrame] = {}
    facts: dict[str, Any] = {"command": command, "half": options.half}
    facts |= {"versions": versions, "measures": {}}
    for measure, (part, reference, _) in MEASURES.items():
        own = table[table.part == part]
        if own.empty:
            continue
        blocks = errors(table, measure)
        ranks = compare(blocks, OURS, reference)
        result = _with_facts(ranks, own)
        written[measure] = result
        draws = int(own.seed.nunique())
        facts["measures"][measure] = {
            "problems": ranks.problems,
            "draws": draws,
            "source rows": sorted(int(n) for n in own.n.unique()),
            "critical difference": round(ranks.difference, 3),
            "Friedman p": float(f"{ranks.friedman:.3g}"),
            "reference": reference,
        }
        print(
            f"\n{measure}: {ranks.problems} problems, {draws} draws of each cell, critical "
            f"difference of mean ranks {ranks.difference:.2f}, Friedman p {ranks.friedman:.2g}\n"
        )
        print(result.to_string(index=False, float_format=lambda value: f"{value:.3g}"))
        if measure == "delivered":
            some = partial_ratios(table, measure, blocks)
            if len(some):
                written["delivered_some"] = some
                print("\non some problems only:\n" + some.to_string(index=False))
    if (table.part == "time").any():
        written["time"] = times(table)
        print("\nseconds, n = m, 20 columns:\n" + written["time"].to_string(index=False))
    if options.csv:
        options.csv.mkdir(parents=True, exist_ok=True)
        for name, own in written.items():
            formats = {column: form for column, form in _FORMATS.items() if column in own}
            shown = own.assign(
                **{column: own[column].map(form) for column, form in formats.items()}
            )
            shown.to_csv(options.csv / f"{name}.csv", index=False)
        (options.csv / "facts.json").write_text(json.dumps(facts, indent=2) + "\n")


def _probability(p: float) -> str:
    """Return a p-value as people read it; nothing for the method that others are compared with."""
    if pd.isna(p):
        return ""
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


# How the guide's tables show the columns.
_FORMATS: dict[str, Callable[[float], str]] = {
    "rank": "{:.2f}".format,
    "ratio": "{:.3f}".format,
    "p": _probability,
    "seconds": "{:.2g}".format,
    "failed": "{:.0%}".format,
}


def _with_facts(ranks: Ranks, own: pd.DataFrame) -> pd.DataFrame:
    """Add the median seconds and the share of draws on which a method failed."""
    by = own.assign(failed=own.failed.astype(float)).groupby("method")
    return ranks.table.assign(
        seconds=ranks.table.method.map(by.seconds.median()),
        failed=ranks.table.method.map(by.failed.mean()),
    )
