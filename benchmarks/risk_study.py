"""How well each risk method estimates, chooses and covers, over many problems.

For every cell (problem, rows, strength of the shift, loss, true or estimated weights) many data
sets are drawn, candidates are cross-validated, and each method's risk estimates are set against
the truth: bias and root mean squared error of the risk, regret of the candidate it would choose,
coverage and width of its intervals.

    python benchmarks/risk_study.py run --out study --jobs 2
    python benchmarks/risk_study.py report --out study
    python benchmarks/risk_study.py coverage --jobs 2

A cell's draws depend on its name and `--seed` alone, so cells can be run on any machine in any
order, and a second `run` goes on where the first stopped. `--repetitions 0.1` takes a tenth of the
data sets. The guide shows seed 3, which was drawn once.
"""

from __future__ import annotations

import argparse
import csv
import math
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.ridge.row_losses import ridge_losses, ridge_refit
from counterpoise.risk import METHODS, Domains, HeldOut, estimate_risk
from counterpoise.weights.resolve import resolve_weights

ALPHAS = np.logspace(-2, 4, 7)
COSTS = np.logspace(-3, 2, 6)
FOLDS = 5
GAMMAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SELECTIONS = ("component", "threshold", "nearest", "logistic")
# Rows of real data sets: how many a biased sample can leave behind.
REAL = {"diabetes": (50, 100), "breast_cancer": (50, 100), "wine": (40,), "digits": (50, 200)}
REPETITIONS = {40: 60, 50: 120, 100: 60, 200: 80, 1000: 60, 5000: 40}
NAMES = list(METHODS)
# The best of these, in hindsight, is what every method's error is divided by.
REFERENCES = ("weighted", "normalized", "controlled", "moment_controlled", "doubly_robust")
RESAMPLES = 200


@dataclass(frozen=True)
class Cell:
    """One setting of the study."""

    problem: str
    shift: str
    rows: int
    loss: str
    weights: str

    @property
    def name(self) -> str:
        """Its file, and the seed of its draws."""
        return "-".join(str(value) for value in asdict(self).values())


def cells() -> Iterator[Cell]:
    for rows in (50, 200, 1000, 5000):
        for gamma in GAMMAS:
            for loss in ("squared", "log"):
                for weights in ("true", "gaussian"):
                    yield Cell("synthetic", str(gamma), rows, loss, weights)
    for problem, sizes in REAL.items():
        for rows in sizes:
            for selection in SELECTIONS:
                for loss in ("squared",) if problem == "diabetes" else ("squared", "log"):
                    for weights in ("true", "nearest"):
                        yield Cell(problem, selection, rows, loss, weights)


# --- Data: source rows with labels, target rows, true weights, and a judge of the truth -----------


def draw(cell: Cell, rng: np.random.Generator) -> tuple:
    """Return X, y, X_target, true weights of X and of X_target, and labelled target rows."""
    if cell.problem == "synthetic":
        problem = cp.datasets.gaussian_2d(float(cell.shift))
        X, y, Z, _ = problem.sample(cell.rows, 1000, random_state=rng)
        judge = problem.sample(1, 20_000, random_state=rng)
        return X, y, Z, problem.weights(X), problem.weights(Z), judge.X_target, judge.y_target
    X, y = real_data(cell.problem)
    strength = 0.5 if cell.shift == "nearest" else 1.0
    found = cp.datasets.biased_sample(
        X, 1, selection=cell.shift, strength=strength, random_state=rng
    )
    chance = found.probability
    # A random part of all rows is there to be selected from; the others are the target.
    pool, rest = np.split(rng.permutation(len(X)), [int(0.6 * len(X))])
    rows = rng.choice(pool, cell.rows, replace=False, p=chance[pool] / chance[pool].sum())
    weights = 1 / (len(X) * chance)
    return X[rows], y[rows], X[rest], weights[rows], weights[rest], X[rest], y[rest]


def real_data(name: str) -> tuple[np.ndarray, np.ndarray]:
    loaders = {
        "diabetes": load_diabetes,
        "breast_cancer": load_breast_cancer,
        "wine": load_wine,
        "digits": load_digits,
    }
    X, y = loaders[name](return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if name == "digits":
        X = PCA(20, random_state=0).fit_transform(X)
    if name == "diabetes":
        return X, (y - y.mean()) / y.std()
    positive = {"breast_cancer": y == 1, "wine": y == 1, "digits": y % 2 == 1}[name]
    return X, np.where(positive, 1.0, -1.0)


def candidates(cell: Cell, X, y, w, judge_X, judge_y) -> tuple[np.ndarray, np.ndarray]:
    """Return out-of-fold losses (L, n), in the order of the folds, and true risks (L,)."""
    splits = [
        (np.setdiff1d(np.arange(len(X)), part), part)
        for part in np.array_split(np.arange(len(X)), FOLDS)
    ]
    if cell.loss == "squared":
        losses, _, _ = ridge_losses(X, y[:, None], w, splits, ALPHAS, intercept="free")
        truth = np.zeros(len(ALPHAS))
        for train, test in splits:
            coef, level = ridge_refit(X[train], y[train, None], w[train], ALPHAS, intercept="free")
            fitted = judge_X @ coef[:, 0].T + level[:, 0]
            truth += len(test) / len(X) * np.mean((judge_y[:, None] - fitted) ** 2, axis=0)
        return losses, truth
    losses, truth = np.empty((len(COSTS), len(X))), np.zeros(len(COSTS))
    for train, test in splits:
        if len(np.unique(y[train])) < 2:
            raise ValueError("a fold has one class")
        for c, cost in enumerate(COSTS):
            model = LogisticRegression(C=cost, max_iter=300).fit(
                X[train], y[train], sample_weight=w[train]
            )
            margin = model.decision_function(X[test]) * y[test]
            losses[c, test] = np.logaddexp(0, -margin)
            margin = model.decision_function(judge_X) * judge_y
            truth[c] += len(test) / len(X) * np.mean(np.logaddexp(0, -margin))
    return losses, truth


def evaluate(cell: Cell, seed: int, number: int) -> dict[str, np.ndarray] | None:
    """Return every method's estimates and interval ends on one data set."""
    rng = np.random.default_rng([zlib.crc32(cell.name.encode()), seed, number])
    X, y, Z, w, wz, judge_X, judge_y = draw(cell, rng)
    estimator = None
    if cell.weights != "true":
        w, estimator = resolve_weights(cell.weights, X, Z)
        if cell.weights == "nearest" and not np.any(w > 0):
            return None
    try:
        losses, truth = candidates(cell, X, y, w, judge_X, judge_y)
    except ValueError:
        return None
    folds = np.array_split(np.arange(len(X)), FOLDS)
    domains = Domains.of_rows(losses, X, Z, estimator)
    if estimator is None and wz is not None:
        domains = Domains(X, Z, wz)
    held_out = HeldOut(losses, w, Folds(folds), domains, estimator)
    found = {}
    for name in NAMES:
        risk, _ = estimate_risk(held_out, METHODS[name])
        low, high = risk.interval()
        found[name] = (risk.value, low, high)
    record = {
        "truth": truth,
        "values": np.stack([found[name][0] for name in NAMES]),
        "low": np.stack([found[name][1] for name in NAMES]),
        "high": np.stack([found[name][2] for name in NAMES]),
    }
    if cell.rows <= 200 and number % 2 == 0 and cell.weights == "gaussian":
        risk, _ = estimate_risk(held_out, METHODS["controlled"])
        record["bootstrap"] = np.stack(risk.interval(kind="bootstrap", n_resamples=RESAMPLES))
    else:
        record["bootstrap"] = np.full((2, len(truth)), np.nan)
    return record


def run_cell(cell: Cell, out: Path, share: float, seed: int) -> str:
    path = out / f"{cell.name}.npz"
    if path.exists():
        return cell.name
    count = max(4, math.ceil(REPETITIONS[cell.rows] * share))
    found = (evaluate(cell, seed, number) for number in range(count))
    records = [record for record in found if record is not None]
    if records:
        stacked = {key: np.stack([r[key] for r in records]) for key in records[0]}
        part = path.with_suffix(".part.npz")
        np.savez_compressed(part, **stacked)
        part.rename(path)
    return cell.name


def run(out: Path, jobs: int, share: float, only: str, seed: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    # Longest first, so that no long cell is left to run alone at the end.
    todo = sorted((c for c in cells() if only in c.name), key=lambda c: -c.rows)
    Parallel(n_jobs=jobs, verbose=1)(delayed(run_cell)(cell, out, share, seed) for cell in todo)


# --- Report ---------------------------------------------------------------------------------------


def summarise(cell: Cell, data: dict[str, np.ndarray]) -> Iterator[dict[str, object]]:
    """Yield one row per method."""
    truth = data["truth"]
    usual = chosen_risk(truth, data["values"][:, NAMES.index("controlled")])
    for i, method in enumerate(NAMES):
        values, low, high = (data[key][:, i] for key in ("values", "low", "high"))
        error = values - truth
        regret = chosen_risk(truth, values) - truth.min(axis=1)
        difference = chosen_risk(truth, values) - usual
        # The constant half-width that covers 95 % of the cell's data sets, for each candidate.
        oracle = np.quantile(np.abs(error), 0.95, axis=0)
        yield {
            **asdict(cell),
            "method": method,
            "data_sets": len(truth),
            "bias": error.mean(),
            "rmse": math.sqrt(np.mean(error**2)),
            "regret": regret.mean(),
            "regret_difference": difference.mean(),
            "regret_difference_error": difference.std() / math.sqrt(len(truth)),
            "coverage": np.mean((low <= truth) & (truth <= high)),
            "width": np.mean(np.median(high - low, axis=0) / (2 * oracle)),
        }
    usable = ~np.isnan(data["bootstrap"][:, 0, 0])
    if usable.any():
        low, high = np.moveaxis(data["bootstrap"][usable], 1, 0)
        i, truth = NAMES.index("controlled"), truth[usable]
        oracle = np.quantile(np.abs(data["values"][usable, i] - truth), 0.95, axis=0)
        yield {
            **asdict(cell),
            "method": "controlled, bootstrap",
            "data_sets": int(usable.sum()),
            "coverage": np.mean((low <= truth) & (truth <= high)),
            "width": np.mean(np.median(high - low, axis=0) / (2 * oracle)),
        }


def chosen_risk(truth: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the true risk of the candidate that the estimates choose, for each data set."""
    return truth[np.arange(len(truth)), np.argmin(values, axis=1)]


def report(out: Path, table: Path) -> None:
    """Write the table of all cells and print what it says."""
    rows, weak = [], []
    for cell in cells():
        path = out / f"{cell.name}.npz"
        if path.exists():
            with np.load(path) as data:
                rows += summarise(cell, dict(data))
                weak += weakness(cell, dict(data))
    columns = list(rows[0])
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            short = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
            writer.writerow(short)
    print_summary(rows)
    print("\nWhere controlled is above 1.1: its ratio, the share of its squared error that its")
    print("worst data set has, and how many times normalized's risk weighted's is there")
    for line in weak:
        print(f"  {line}")


def weakness(cell: Cell, data: dict[str, np.ndarray]) -> Iterator[str]:
    """Yield what is behind the error of controlled, where it is above 1.1 times the best."""
    squared = np.mean((data["values"] - data["truth"][:, None, :]) ** 2, axis=-1)
    rmse = dict(zip(NAMES, np.sqrt(squared.mean(axis=0)), strict=True))
    best = min(rmse[name] for name in REFERENCES)
    if rmse["controlled"] > 1.1 * best:
        own = squared[:, NAMES.index("controlled")]
        worst = data["values"][np.argmax(own)]
        plain, normalized = (worst[NAMES.index(name)] for name in ("weighted", "normalized"))
        yield (
            f"{cell.name:<40}{rmse['controlled'] / best:6.2f}"
            f"{own.max() / own.sum():6.2f}{np.max(plain / normalized):7.1f}"
        )


def print_summary(rows: list[dict]) -> None:
    single = [row for row in rows if row["method"] in NAMES]
    by_cell: dict[tuple, dict[str, dict]] = {}
    for row in single:
        key = tuple(row[name] for name in ("problem", "shift", "rows", "loss", "weights"))
        by_cell.setdefault(key, {})[row["method"]] = row
    groups = {
        "synthetic": [k for k in by_cell if k[0] == "synthetic"],
        "real, true weights": [k for k in by_cell if k[0] != "synthetic" and k[4] == "true"],
        "real, estimated": [k for k in by_cell if k[0] != "synthetic" and k[4] != "true"],
        "all": list(by_cell),
    }
    counts = [row["data_sets"] for row in single if row["method"] == "controlled"]
    print(f"{sum(counts)} data sets, {min(counts)} to {max(counts)} in a cell")
    print("RMSE over that of the best single method: median, share of cells within 1.1, largest;")
    print("in how many cells it is below.")
    print("Regret of the choice, and (paired) how much more that is than by controlled.")
    for group, keys in groups.items():
        if not keys:
            continue
        print(f"\n{group}: {len(keys)} cells")
        for method in NAMES:
            own = [by_cell[k][method] for k in keys]
            best = [min(by_cell[k][m]["rmse"] for m in REFERENCES) for k in keys]
            ratio = np.array([row["rmse"] for row in own]) / best
            regret, difference = (
                np.mean([row[name] for row in own]) for name in ("regret", "regret_difference")
            )
            error = math.hypot(*(row["regret_difference_error"] for row in own)) / len(keys)
            print(
                f"  {method:<18}{np.median(ratio):7.3f}{np.mean(ratio <= 1.1):7.2f}"
                f"{ratio.max():8.2f}{np.sum(ratio < 1):6}{regret:10.4f}{difference:+10.4f} "
                f"+- {error:.4f}"
            )
    print(
        "\nCoverage (width over the oracle's) of nominal 95 % intervals, synthetic, squared loss,"
    )
    print("Gaussian weights estimated")
    kinds = ("controlled", "normalized", "doubly_robust", "controlled, bootstrap")
    for method in kinds:
        print(f"  {method}")
        for n in (50, 200, 1000, 5000):
            cells_of = [
                next((r for r in rows if r["method"] == method and _is(r, n, g)), None)
                for g in GAMMAS
            ]
            text = "  ".join(
                "      -     " if r is None else f"{r['coverage']:.3f} ({r['width']:.2f})"
                for r in cells_of
            )
            print(f"    {n:>5}  {text}")


def _is(row: dict, rows: int, gamma: float) -> bool:
    wanted = ("synthetic", str(gamma), rows, "squared", "gaussian")
    return tuple(row[k] for k in ("problem", "shift", "rows", "loss", "weights")) == wanted


# --- Coverage, with many more data sets -----------------------------------------------------------


def coverage_cell(n: int, gamma: float, count: int, seed: int) -> dict[str, object]:
    """Return coverage and width of the controlled interval, Gaussian weights estimated."""
    problem = cp.datasets.gaussian_2d(gamma)
    folds = np.array_split(np.arange(n), FOLDS)
    splits = [(np.setdiff1d(np.arange(n), part), part) for part in folds]
    errors, halves = [], []
    for number in range(count):
        rng = np.random.default_rng([n, int(100 * gamma), seed, number])
        X, y, Z, _ = problem.sample(n, 1000, random_state=rng)
        w, estimator = resolve_weights("gaussian", X, Z)
        losses, _, _ = ridge_losses(X, y[:, None], w, splits, ALPHAS, intercept="free")
        domains = Domains.of_rows(losses, X, Z, estimator)
        held_out = HeldOut(losses, w, Folds(folds), domains, estimator)
        risk, _ = estimate_risk(held_out, METHODS["controlled"])
        truth = np.zeros(len(ALPHAS))
        for train, test in splits:
            coef, level = ridge_refit(X[train], y[train, None], w[train], ALPHAS, intercept="free")
            truth += len(test) / n * problem.linear_risk(coef[:, 0], level[:, 0])
        low, high = risk.interval()
        errors.append(np.abs(risk.value - truth))
        halves.append((high - low) / 2)
    error, half = np.stack(errors), np.stack(halves)
    ratio = np.median(half, axis=0) / np.quantile(error, 0.95, axis=0)
    covered = np.mean(error <= half, axis=0)
    return {
        "rows": n,
        "gamma": gamma,
        "data_sets": count,
        "coverage": covered.mean(),
        "coverage_error": np.mean(error <= half, axis=1).std() / math.sqrt(count),
        "worst_candidate": covered.min(),
        "width": ratio.mean(),
        "widest_candidate": ratio.max(),
    }


def coverage(table: Path, jobs: int, share: float, seed: int) -> None:
    counts = {50: 800, 200: 500, 1000: 250, 5000: 80}
    todo = [(n, g, math.ceil(c * share)) for n, c in counts.items() for g in GAMMAS]
    rows = Parallel(n_jobs=jobs)(delayed(coverage_cell)(*cell, seed) for cell in todo)
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            short = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
            writer.writerow(short)
            print("  ".join(f"{k} {v}" for k, v in short.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "report", "coverage"))
    parser.add_argument("--out", type=Path, default=Path("study"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repetitions", type=float, default=1.0, help="share of the data sets")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--table", type=Path, default=Path("docs/_static/risk_study.csv"))
    asked = parser.parse_args()
    if asked.command == "run":
        run(asked.out, asked.jobs, asked.repetitions, asked.only, asked.seed)
    elif asked.command == "report":
        report(asked.out, asked.table)
    else:
        coverage(
            asked.table.with_name("risk_coverage.csv"), asked.jobs, asked.repetitions, asked.seed
        )
