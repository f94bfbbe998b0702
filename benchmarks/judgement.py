"""The judgement: every claim, once, on tables that nothing was set on, against what people use.

    pip install 'flaml[automl]' lightgbm mapie 'counterpoise[cli]'    # and tables/judged_67.toml's
    pip install --no-deps puncc                                             # asks for an old NumPy
    python -m venv nannyml && nannyml/bin/pip install nannyml statsmodels   # an environment apart
    python benchmarks/judgement.py --out judged --jobs 2 --nannyml nannyml/bin/python

A cell is one part of one pair and one JSON file in ``--out``: a second run goes on where the first
one stopped, and ``--show`` prints the tables of the cells that there are. Means are over tables,
with their standard errors in brackets; "alone" is without drift, "off" an absolute error (of the
logarithm for risks and RMSE), "collapsed" an error beyond a factor of 2 or no weights at all.
``--pairs`` takes other names of ``real_data.py``, of problems or parts, such as judged_59 for the
tables of the judgement before.

- delivered: target RMSE or log loss of ``select``, a grid search over the same candidates and
  folds, LightGBM with its defaults; natural pairs of at least four columns, one of them of
  categories.
- automl: the same of FLAML and AutoGluon (``--autogluon PYTHON``), which no change of the library
  moves. Their seconds are of the clock: leave them a core.
- intervals: risk, metrics and rows of ``select`` with no, 20 and 50 target labels; all pairs.
- weights: the error of the risk of LightGBM with each weight estimator; all pairs.
- evaluate: metrics of LightGBM against NannyML (its bounds are three standard errors); natural
  pairs of numbers or two classes, and at least four columns.
- rows: 90 % intervals around LightGBM against MAPIE and puncc; all pairs of numbers.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import judgement_parts
import numpy as np
import pandas as pd
import real_data
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

PARTS = ("automl", "delivered", "evaluate", "intervals", "rows", "weights")
TEXT = Path(__file__).parents[1] / "docs/_static/evidence/judgement.txt"
# Fewest columns of a pair that models are compared on.
COLUMNS = 4


def belongs(part: str, name: str) -> bool:
    """Return whether a part judges a pair; what it needs to know are counts alone."""
    entry, X = real_data.EVERY[name], real_data.population(name).X
    natural, wide = entry.kind == "natural", X.shape[1] >= COLUMNS
    mixed = natural and wide and any(X[column].dtype.kind != "f" for column in X)
    return {
        "automl": mixed,
        "delivered": mixed,
        "evaluate": natural and wide and entry.n_classes in (0, 2),
        "rows": not entry.n_classes,
    }.get(part, True)


def keep(path: Path, judge: Callable[..., judgement_parts.Rows], *cell: Any) -> None:
    """Judge one cell and write it, if that has not been done."""
    if path.exists():
        return
    start = sum(os.times()[:4])  # with what runs elsewhere
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        try:
            found = judge(*cell)
        except Exception as error:
            print(f"{path.stem}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            return
    seconds = sum(os.times()[:4]) - start
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps({"seconds": seconds, "rows": found}))
    draft.replace(path)


def read_cells(paths: Collection[Path]) -> tuple[pd.DataFrame, str]:
    """Return the rows of all cells that are done, and how many those are."""
    cells = [json.loads(path.read_text()) for path in paths if path.exists()]
    minutes = sum(cell["seconds"] for cell in cells) / 60
    words = f"{len(cells)} of {len(paths)} cells, {minutes:.0f} processor minutes"
    return pd.DataFrame([row for cell in cells for row in cell["rows"]]), words


def mean(values: pd.Series, pairs: pd.Series) -> str:
    """Return the mean over pairs and its standard error."""
    each = values.astype(float).groupby(pairs).mean().dropna()
    return f"{each.mean():.3f} ({each.std() / math.sqrt(max(len(each), 1)):.3f})"


def table(rows: pd.DataFrame, by: list[str], means: list[str], medians: list[str]) -> str:
    """Return means with errors, and medians, of each group of rows."""
    lines = []
    for key, part in rows.groupby(by, observed=True):
        line = dict(zip(by, key, strict=True)) | {"pairs": part.pair.nunique()}
        line |= {column: mean(part[column], part.pair) for column in means}
        lines.append(line | {f"median {c}": f"{part[c].median():.3f}" for c in medians})
    return pd.DataFrame(lines).to_string(index=False)


def ratio(what: str, logs: pd.Series) -> str:
    """Return the geometric mean, median and worst of a ratio, and how often it is at most 1."""
    logs = logs.dropna()
    return (
        f"{what}: {math.exp(logs.mean()):.3f} ({logs.std() / math.sqrt(len(logs)):.3f}), median "
        f"{math.exp(logs.median()):.3f}, worst {math.exp(logs.max()):.2f} ({logs.idxmax()}), at "
        f"most 1 in {(logs <= 0).mean():.0%}, 1.1 in {(logs <= math.log(1.1)).mean():.0%} "
        f"of {len(logs)}"
    )


def delivered(rows: pd.DataFrame) -> Iterator[str]:
    risk = np.log(rows.pivot(index="pair", columns="way", values="risk"))
    for way in risk.columns.drop("select"):
        yield ratio(f"target risk of select / {way}", risk["select"] - risk[way])
    seconds = rows.pivot(index="pair", columns="way", values="seconds")
    yield "seconds of processor, mean: " + seconds.mean().round(1).to_string().replace("\n", "; ")
    logs = np.log(seconds["select"] / seconds["grid search"])
    yield ratio("seconds of select / grid search", logs)
    yield np.exp(risk).round(4).to_string()


def intervals(rows: pd.DataFrame) -> Iterator[str]:
    rows = rows.astype({"covered": float, "covered_alone": float})
    both = (["covered", "covered_alone"], ["width", "width_alone"])
    risks = rows[rows.what == "risk"]
    none = risks[risks.labels == 0]
    yield table(none, ["kind"], *both)
    yield table(risks, ["kind", "labels", "verdict"], *both)
    yield table(rows[(rows.labels == 0) & (rows.what != "rows")], ["kind", "what"], *both)
    yield table(risks, ["kind", "labels"], *both)
    for (kind, count), part in risks[risks.labels > 0].groupby(["kind", "labels"]):
        logs = np.log(part.set_index("pair").risk / none.set_index("pair").risk)
        yield ratio(f"{kind}, target risk with {count} labels / none", logs)
    own = rows[rows.what == "rows"]
    low = own.groupby(["kind", "labels"]).covered.quantile(0.1).round(3)
    yield table(own, ["kind", "labels"], ["covered", "covered_alone", "outside"], ["width"])
    yield "a tenth of the pairs cover less than: " + low.to_string(header=False)


def weights(rows: pd.DataFrame) -> Iterator[str]:
    off = rows.error.abs()
    rows = rows.assign(off=off, collapsed=(off > math.log(2)) | rows.failed)
    yield table(rows, ["kind", "rows", "way"], ["off", "collapsed", "seconds"], ["off"])


def evaluate(rows: pd.DataFrame) -> Iterator[str]:
    rows = rows.assign(off=rows.error.abs())
    yield table(rows, ["metric", "way"], ["off", "covered"], ["off", "width"])


def rows(rows: pd.DataFrame) -> Iterator[str]:
    plain = rows[rows.way == "MAPIE"].set_index("pair").width
    rows = rows.assign(width=rows.width / rows.pair.map(plain))
    yield table(rows, ["kind", "way"], ["covered", "outside"], ["covered", "width"])


def verdicts(risks: pd.DataFrame, weighted: pd.DataFrame) -> str:
    """Return the error of LightGBM's risk by the verdict of ``select`` on the same pair."""
    said = risks[(risks.what == "risk") & (risks.labels == 0)].set_index("pair").verdict
    own = weighted[(weighted.way == "kmm") & (weighted["rows"] <= 1000)]
    own = own.sort_values("rows").groupby("pair", as_index=False).last()
    own = own.assign(verdict=own.pair.map(said), off=own.error.abs())
    return table(own, ["kind", "verdict"], ["off"], ["off"])


def report(folder: Path, asked: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the tables of all cells that are done."""
    found = {}
    for part in PARTS:
        paths = [folder / f"{part}-{name}.json" for own, name in asked if own == part]
        rows, words = read_cells(paths)
        if len(rows):
            found[part] = rows
            yield f"\n{part}: {words}"
            if part == "delivered":
                found[part] = pd.concat([found.get("automl"), rows])
            if part != "automl":
                yield from globals()[part](found[part])
    if {"intervals", "weights"} <= found.keys():
        yield "\nverdicts: error of the risk of LightGBM, default weights, at most 1000 rows"
        yield verdicts(found["intervals"], found["weights"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--pairs", nargs="+", default=["judged_67"])
    parser.add_argument("--out", type=Path, default=Path("judged"))
    parser.add_argument("--text", type=Path, default=TEXT, help="file for the tables")
    parser.add_argument("--rows", type=int, default=4000, help="source rows of delivered models")
    parser.add_argument("--judged", type=int, default=1000, help="source rows of intervals, rows")
    parser.add_argument("--labels", type=int, nargs="+", default=[0, 20, 50], help="0 comes first")
    parser.add_argument("--flaml", type=int, nargs="*", default=[60], help="seconds of each run")
    parser.add_argument("--nannyml", default="nannyml/bin/python", help="its Python")
    parser.add_argument("--autogluon", help="its Python")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="run no cell")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    pairs = real_data.pick(options.pairs)
    cells = [(part, name) for part in options.part for name in pairs if belongs(part, name)]
    if not options.show:
        jobs = (
            delayed(keep)(
                options.out / f"{part}-{name}.json", getattr(judgement_parts, part), name, options
            )
            for part, name in cells
        )
        Parallel(n_jobs=options.jobs)(jobs)
    text = "\n".join(report(options.out, cells))
    options.text.write_text(f"{text}\n")
    print(text)


if __name__ == "__main__":
    main()
