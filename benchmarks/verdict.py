"""Does the verdict tell intervals that cover the true risk from others: a simulation.

    python benchmarks/verdict.py --jobs 2 --write docs/guide/figures/verdict.csv

Data sets of both synthetic problems with a known target risk (source rows 50 to 1000, gamma 0.5 to
1.0, 1000 target rows), each weighted in several ways. Every data set is diagnosed, and the 95 %
interval of its risk is held against the truth.

Prints, for each quantity, the limits that the data sets with an even number ask for (the smallest
beyond which fewer than 85 % or 75 % of the intervals cover) beside those of
``counterpoise.diagnostics.THRESHOLDS``, and what either does in the data sets with an odd number;
then coverage by verdict in the odd half, with and without losses.

The limits in the library were chosen on data sets 0 to 23 of each setting, by several looks at
them, and rounded. The default starts at 1000: data sets that nothing was chosen on.
"""

from __future__ import annotations

import argparse
import inspect
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import counterpoise as cp
from counterpoise._pareto import tail_size
from counterpoise.diagnostics.diagnosis import METHODS_COMPARED, conclude
from counterpoise.diagnostics.row_sums import (
    WeightSums,
    column_sums,
    loss_numbers,
    standardized,
    weight_numbers,
)
from counterpoise.diagnostics.verdict import decide_verdict
from counterpoise.weights.resolve import resolve_weights

GAMMAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ROWS = (50, 100, 200, 500, 1000)
N_TARGET = 1000
WEIGHTS = ("true", "gaussian", "classifier", "nearest", "ulsif")
VERDICTS = ("trust", "caution", "do not trust")
# Coverage below which a limit of "caution" and of "do not trust" is set.
LEVELS = (0.85, 0.75)
# A limit must leave this many data sets of the fitted half beyond it.
FEWEST = 100
# Quantities that the verdict looks at; +1 where large values are bad.
QUANTITIES = {
    "disagreement": 1,
    "error_ratio": 1,
    "outside_share": 1,
    "balance_after": 1,
    "auc": 1,
    "weight_mean_factor": 1,
    "weight_mean_errors": 1,
    "n_effective": -1,
    "largest_share": 1,
    "pareto_k": 1,
    "pareto_k_losses": 1,
}
# Losses, weights, what they came from (a name or the weights themselves), and both samples.
Interval = Callable[..., tuple[float, float]]


def interval_of(method: str, kind: str | None, features: bool) -> Interval:
    """Return the function from one data set to the interval that is put to the test."""
    options = {} if kind is None else {"kind": kind}

    def interval(losses: Any, weights: Any, given: Any, X: Any, Z: Any) -> tuple[float, float]:
        if not features:
            return cp.target_risk(losses, weights, method=method).interval(**options)
        risk = cp.target_risk(losses, given, method=method, X_source=X, X_target=Z)
        return risk.interval(**options)

    return interval


def draw(kind: str, gamma: float, n: int, seed: int) -> tuple[Any, ...]:
    """One data set: source, target, losses on the source, true weights, true risk."""
    rng = np.random.default_rng([int(kind[0]), round(10 * gamma), n, seed])
    problem: Any = getattr(cp.datasets, f"gaussian_{kind}")(gamma)
    X, y, Z, _ = problem.sample(n, N_TARGET, random_state=rng)
    if kind == "1d":
        losses, points, truth = (X[:, 0] * problem.theta - y) ** 2, X[:, 0], problem.target_risk
        return X, Z, losses, problem.weights(points), truth
    # A ridge classifier trained on as many other source rows.
    T, labels, _, _ = problem.sample(n, 1, random_state=rng)
    design = np.c_[T, np.ones(n)]
    coef = np.linalg.solve(design.T @ design + np.eye(3), design.T @ labels)
    losses = (X @ coef[:2] + coef[2] - y) ** 2
    return X, Z, losses, problem.weights(X), problem.linear_risk(coef[:2], coef[2])


def with_weights(found: Any, X: Any, Z: Any, weights: np.ndarray, losses: np.ndarray) -> Any:
    """Return what `cp.diagnose` says of other weights, without testing the overlap again."""
    sums = WeightSums.of(weights, losses, tail_size(weights.shape[0]) + 1)
    numbers = {**weight_numbers(sums), **loss_numbers(sums)}
    after = standardized(column_sums(X, weights), column_sums(Z))[1]
    risks = [cp.target_risk(losses, weights, method=name) for name in METHODS_COMPARED]
    return conclude(replace(found, **numbers, balance_after=after, weights=weights), risks)


def quantities(found: Any) -> dict[str, float]:
    """Return what the limits are set for."""
    numbers = {name: getattr(found, name, None) for name in QUANTITIES}
    mean = found.weight_mean
    numbers["weight_mean_factor"] = max(mean, 1 / mean) if mean > 0 else math.inf
    numbers["weight_mean_errors"] = abs(mean - 1) / max(found.weight_mean_error, 1e-12)
    numbers["balance_after"] = float(np.max(np.abs(found.balance_after)))
    return numbers


def cell(
    kind: str,
    gamma: float,
    n: int,
    seeds: range,
    names: Sequence[str],
    interval: Interval,
) -> list[dict]:
    """Diagnose all data sets of one setting, under all weights."""
    warnings.simplefilter("ignore", RuntimeWarning)
    rows = []
    for seed in seeds:
        X, Z, losses, true, truth = draw(kind, gamma, n, seed)
        base = cp.diagnose(X, Z, weights=true, losses=losses)
        for name in names:
            w = true if name == "true" else resolve_weights(name, X, Z)[0]
            found = with_weights(base, X, Z, w, losses)
            low, high = interval(losses, w, true if name == "true" else name, X, Z)
            blind = replace(
                found, losses=None, disagreement=None, error_ratio=None, pareto_k_losses=None
            )
            rows.append(
                {
                    "problem": kind,
                    "gamma": gamma,
                    "n": n,
                    "seed": seed,
                    "weights": name,
                    "covered": bool(low <= truth <= high),
                    "width": (high - low) / 2 / truth,
                    "with losses": found.verdict,
                    "without losses": decide_verdict(blind)[0],
                    **quantities(found),
                }
            )
    return rows


def beyond(data: pd.DataFrame, name: str, limit: float) -> pd.Series:
    """Which data sets lie on the bad side of a limit."""
    return QUANTITIES[name] * data[name] > QUANTITIES[name] * limit


def fit_limit(data: pd.DataFrame, name: str, level: float) -> float:
    """Smallest limit beyond which less than `level` of the intervals cover; NaN for none."""
    order = np.argsort(-QUANTITIES[name] * data[name].fillna(-np.inf * QUANTITIES[name]))
    covered = data["covered"].to_numpy()[order]
    share = np.cumsum(covered) / np.arange(1, len(covered) + 1)
    fine = np.flatnonzero((share < level) & (np.arange(len(covered)) + 1 >= FEWEST))
    return float(data[name].to_numpy()[order][fine[-1]]) if len(fine) else math.nan


def show_coverage(rows: pd.DataFrame) -> str:
    """Coverage, and the number of intervals behind it."""
    if not len(rows):
        return f"{'-':>13}"
    return f"{rows['covered'].mean():>6.3f} {f'({len(rows)})':>6}"


def show_limits(fitted: pd.DataFrame, held_out: pd.DataFrame) -> None:
    """Print the limits that the fitted half asks for, and what limits do in the other half."""
    print("limits: coverage of the held-out intervals beyond them (and how many they are)")
    print(f"{'quantity':<20}{'':>8}{'fitted':>9}{'':>15}{'library':>10}")
    for name in QUANTITIES:
        library = cp.diagnostics.THRESHOLDS[name]
        for level, own, word in zip(LEVELS, library, ("caution", "stop"), strict=True):
            limit = fit_limit(fitted, name, level)
            cells = [
                f"{value:>9.3g} {show_coverage(held_out[beyond(held_out, name, value)])}"
                for value in (limit, own)
            ]
            print(f"{name if word == 'caution' else '':<20}{word:>8}{cells[0]}  {cells[1]}")


def standard_error(rows: pd.DataFrame) -> float:
    """Of the coverage: intervals from one data set under several weights hang together."""
    if len(rows) < 2:
        return math.nan
    residual = rows["covered"] - rows["covered"].mean()
    sums = residual.groupby([rows[key] for key in ("problem", "gamma", "n", "seed")]).sum()
    return math.sqrt((sums**2).sum()) / len(rows)


def summarise(data: pd.DataFrame) -> pd.DataFrame:
    """Coverage by weights, by what was known, and by verdict."""
    parts = []
    for known in ("with losses", "without losses"):
        for name, part in [("all", data), *data.groupby("weights", sort=False)]:
            for verdict in VERDICTS:
                rows = part[part[known] == verdict]
                parts.append(
                    {
                        "known": known,
                        "weights": name,
                        "verdict": verdict,
                        "intervals": len(rows),
                        "covered": rows["covered"].mean(),
                        "error": standard_error(rows),
                        "width": rows["width"].median(),
                    }
                )
    return pd.DataFrame(parts)


def show_verdicts(table: pd.DataFrame) -> None:
    """Print coverage by verdict."""
    for known, part in table.groupby("known", sort=False):
        print(f"\ncoverage by verdict, {known}, held-out half (nominal 0.95)")
        print(f"{'weights':<12}" + "".join(f"{verdict:>24}" for verdict in VERDICTS))
        for name, rows in part.groupby("weights", sort=False):
            cells = [
                f"{row.covered:.3f} ± {row.error:.3f} ({row.intervals})"
                for row in rows.itertuples()
            ]
            print(f"{name:<12}" + "".join(f"{text:>24}" for text in cells))
        widths = part[part["weights"] == "all"]["width"]
        cells = [f"{width:.0%}" for width in widths]
        print(f"{'half width':<12}" + "".join(f"{text:>24}" for text in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=30, help="data sets per setting")
    parser.add_argument("--first-seed", type=int, default=1000, help="number of the first of them")
    parser.add_argument("--method", default="controlled", help="risk method whose interval it is")
    parser.add_argument("--kind", help="kind of interval, passed to RiskEstimate.interval")
    parser.add_argument(
        "--features",
        action="store_true",
        help="let the interval see the features and the weight estimator, not the weights alone",
    )
    parser.add_argument("--weights", default=",".join(WEIGHTS), help="which, separated by commas")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", type=Path, help="file for the table of verdicts")
    parser.add_argument("--raw", type=Path, help="file for every interval and its numbers")
    chosen = parser.parse_args()
    if chosen.kind and "kind" not in inspect.signature(cp.RiskEstimate.interval).parameters:
        parser.error("RiskEstimate.interval has no argument `kind` in this version.")
    start = time.perf_counter()
    settings = [(p, g, n) for n in reversed(ROWS) for p in ("1d", "2d") for g in GAMMAS]
    names = chosen.weights.split(",")
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.repetitions)
    interval = interval_of(chosen.method, chosen.kind, chosen.features)
    rows = Parallel(n_jobs=chosen.jobs)(
        delayed(cell)(*setting, seeds, names, interval) for setting in settings
    )
    data = pd.DataFrame([row for part in rows for row in part])
    fitted, held_out = data[data["seed"] % 2 == 0], data[data["seed"] % 2 == 1]
    print(
        f"{len(data)} intervals, method {chosen.method}, kind {chosen.kind or 'default'}, from "
        f"{'features' if chosen.features else 'weights'}; coverage {data['covered'].mean():.3f}; "
        f"{time.perf_counter() - start:.0f} s\n"
    )
    show_limits(fitted.reset_index(drop=True), held_out)
    table = summarise(held_out)
    show_verdicts(table)
    if chosen.raw:
        data.to_csv(chosen.raw, index=False)
    if chosen.write:
        table.round(4).to_csv(chosen.write, index=False)


if __name__ == "__main__":
    main()
