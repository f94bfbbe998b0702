"""The tables of the peer study: mean ranks, critical differences, paired tests, times.

A problem is one block: its draws and sizes are averaged first, so that blocks are independent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import real_data
from estimators import NONE, OURS
from scipy import stats

# What is added to errors so that small ones tie.
MEASURES = {"weights": 0.05, "means": 0.01}


# --- Ranks ----------------------------------------------------------------------------------------


def compare(errors: pd.DataFrame, ours: str, reference: str) -> pd.DataFrame:
    """Compare the columns of a table of positive errors with one row per problem.

    Returns method, rank (the mean over problems), ratio (geometric mean of error over that of
    `reference`), p (Wilcoxon's signed ranks against `ours`, Holm's correction; NaN for `ours`),
    better, worse (problems on which `ours` has the smaller or larger error), ordered by rank.
    """
    others = [name for name in errors if name != ours]
    raw = [signed_ranks(errors[ours], errors[name]) for name in others]
    columns = {
        "rank": errors.rank(axis=1).mean(),
        "ratio": np.exp(np.log(errors.div(errors[reference], axis=0)).mean()),
        "p": pd.Series(holm(np.array(raw)), others),
        "better": errors.gt(errors[ours], axis=0).sum(),
        "worse": errors.lt(errors[ours], axis=0).sum(),
    }
    table = pd.DataFrame(columns).loc[list(errors)].sort_values("rank", kind="stable")
    return table.rename_axis("method").reset_index()


def nemenyi(methods: int, problems: int, level: float = 0.05) -> float:
    """Return the difference of mean ranks that is significant (Demsar 2006, JMLR 7, 3.2)."""
    quantile = stats.studentized_range.ppf(1 - level, methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(methods * (methods + 1) / (6 * problems)))


def signed_ranks(one: pd.Series, two: pd.Series) -> float:
    """Return the p-value of Wilcoxon's test on log ratios, 1 if all are equal."""
    logs = np.log(one / two).to_numpy()
    return float(stats.wilcoxon(logs).pvalue) if np.any(logs) else 1.0


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values with Holm's correction."""
    order = np.argsort(p)
    scaled = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(scaled, 1.0)
    return corrected


# --- Tables ---------------------------------------------------------------------------------------


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

    Draws of a size are averaged by root mean square and divided by those of no weights; sizes of a
    problem are averaged by the geometric mean. Methods that have no value on some problem are left
    out.
    """
    rows = table[table.part == "weights"]
    squares = rows.assign(value=rows[measure] ** 2)
    cells = squares.pivot_table(index=["group", "problem", "n"], columns="method", values="value")
    cells = np.sqrt(cells) + MEASURES[measure]
    logs = np.log(cells.div(cells[NONE], axis=0))
    return np.exp(logs.groupby(level=["group", "problem"]).mean()).dropna(axis=1)


def times(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per estimator: seconds at each size, or why there are none."""
    rows = table[table.part == "time"]
    text = rows.seconds.map("{:.2g}".format).where(rows.seconds.notna(), rows.failed)
    wide = rows.assign(text=text).pivot(index="method", columns="n", values="text")
    return wide.rename_axis(None, axis=1).reset_index()


def report(out: Path, half: str, csv: Path | None, versions: dict[str, str], command: str) -> None:
    """Print every comparison and write the tables of the guide."""
    table = read(out, half)
    tables: dict[str, pd.DataFrame] = {}
    facts: dict[str, Any] = {"command": command, "half": half, "versions": versions, "measures": {}}
    for measure in MEASURES:
        rows = table[table.part == "weights"]
        if rows.empty:
            continue
        blocks = errors(table, measure)
        ranks = compare(blocks, OURS, NONE)
        by = rows.assign(failed=rows.failed.astype(float)).groupby("method")
        tables[measure] = ranks.assign(
            seconds=ranks.method.map(by.seconds.median()), failed=ranks.method.map(by.failed.mean())
        )
        friedman = stats.friedmanchisquare(*blocks.to_numpy().T).pvalue
        facts["measures"][measure] = {
            "problems": len(blocks),
            "draws": int(rows.groupby("problem").seed.nunique().max()),
            "source rows": sorted(int(n) for n in rows.n.unique()),
            "critical difference": round(nemenyi(len(ranks), len(blocks)), 3),
            "Friedman p": float(f"{friedman:.3g}"),
            "reference": NONE,
        }
        print(f"\n{measure}: {facts['measures'][measure]}")
        print(tables[measure].to_string(index=False, float_format="{:.3g}".format))
    if (table.part == "time").any():
        tables["time"] = times(table)
        print("\nseconds, n = m, 20 columns:\n" + tables["time"].to_string(index=False))
    if csv is not None:
        csv.mkdir(parents=True, exist_ok=True)
        for name, numbers in tables.items():
            shown = {
                column: numbers[column].map(FORMATS[column]) for column in FORMATS if name != "time"
            }
            numbers.assign(**shown).to_csv(csv / f"{name}.csv", index=False)
        (csv / "facts.json").write_text(json.dumps(facts, indent=2) + "\n")


def _probability(p: float) -> str:
    """Return a p-value as people read it; nothing for the method that others are compared with."""
    if pd.isna(p):
        return ""
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def _seconds(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.2g}"


# How the guide's tables show the columns.
FORMATS: dict[str, Callable[[float], str]] = {
    "rank": "{:.2f}".format,
    "ratio": "{:.3f}".format,
    "p": _probability,
    "seconds": _seconds,
    "failed": "{:.0%}".format,
}
