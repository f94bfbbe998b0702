"""Do the rules hold on real tables: intervals, metrics, labels of target rows, delivered models.

    python benchmarks/real_draws.py --out draws --draws 2 --jobs 2
    python benchmarks/real_tables.py --draws draws
    python benchmarks/real_tables.py --draws draws --part metrics

Reads the arrays that ``real_draws.py`` wrote and applies the library's own functions to them: no
model is fitted, so that every part takes seconds to minutes. Means are over tables. The oracle of a
width is the 95 % interval from as many *target* losses as there are source rows.

- intervals: risk of a linear model and of a forest; covered and width, with and without drift, by
  kind of split and by verdict.
- metrics: the same for accuracy, AUC, F1, RMSE, MAE and R^2.
- labels: the risk with 20 and 50 labels of target rows.
- rows: 90 % intervals and class sets for single rows, with and without weights, and with 50 labels.
- delivered: target risk of the blend and of NNLS alone over that of the plain choice.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from real_draws import MENU, Draw, read
from sklearn.preprocessing import LabelEncoder
from threadpoolctl import threadpool_limits

from counterpoise import losses as loss_functions
from counterpoise._folds import Folds
from counterpoise.diagnostics import diagnose
from counterpoise.metrics import METRICS, Predicted
from counterpoise.risk import Domains, HeldOut, RiskEstimate, estimate_risk, get_method
from counterpoise.risk.metric_estimates import estimate_metrics
from counterpoise.risk.rows import RowScores
from counterpoise.search.blend import stacking_weights

JUDGED = ("linear", "forest")
CLASS_METRICS = ("accuracy", "auc", "f1", "log_loss")
NUMBER_METRICS = ("rmse", "mae", "r2")
LABELS = (20, 50)
GROUPED_BY = {
    "intervals": "verdict",
    "metrics": "metric",
    "labels": "labels",
    "rows": "way",
    "delivered": "rule",
}


def labels_of(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Return source and target labels: numbers, or places of classes."""
    if draw.task == "regression":
        return draw.y, draw.y_target
    encoder = LabelEncoder().fit(draw.y)
    return encoder.transform(draw.y), encoder.transform(draw.y_target)


def losses_of(draw: Draw, y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return squared or log losses of predictions."""
    if draw.task == "regression":
        return np.asarray(loss_functions.squared(y, predictions))
    return np.asarray(loss_functions.log(y, predictions))


def held_out_of(draw: Draw, losses: np.ndarray) -> HeldOut:
    """Return what a search would hand on."""
    folds = Folds([np.flatnonzero(draw.fold == k) for k in np.unique(draw.fold)])
    domains = Domains(draw.X, draw.Z, draw.target_weights)
    return HeldOut(losses, draw.weights, folds, domains)


def predicted_of(draw: Draw, y: np.ndarray, predictions: np.ndarray) -> Predicted:
    """Return labels and predictions in the form that metrics judge."""
    if draw.task == "regression":
        return Predicted(y, predictions)
    classes = np.arange(predictions.shape[1])
    return Predicted(y, predictions.argmax(axis=1), predictions, predictions, classes)


def _row(draw: Draw, **found: Any) -> dict[str, Any]:
    return {"problem": draw.problem, "kind": draw.kind, "rows": len(draw.y), **found}


def _covered(estimate: Any, truth: float) -> dict[str, Any]:
    """Return whether both intervals hold the truth, and their widths."""
    found: dict[str, Any] = {"value": float(estimate.value), "truth": truth}
    for name, drift in (("", True), ("_alone", False)):
        low, high = estimate.interval(drift=drift)
        found |= {f"covered{name}": low <= truth <= high, f"width{name}": high - low}
    return found


def intervals(draw: Draw) -> Iterator[dict[str, Any]]:
    """Judge the intervals of two models' risks, and the verdict on each."""
    y, y_target = labels_of(draw)
    for model in JUDGED:
        place = MENU.index(model)
        there = losses_of(draw, y_target, draw.target_predictions[place])
        losses = losses_of(draw, y, draw.predictions[place])
        estimate, _ = estimate_risk(held_out_of(draw, losses), get_method("controlled"))
        verdict = diagnose(draw.X, draw.Z, weights=draw.weights, losses=losses).verdict
        oracle = 2 * 1.96 * float(np.std(there)) / math.sqrt(len(y))
        yield _row(
            draw,
            model=model,
            verdict=verdict,
            oracle=oracle,
            **_covered(estimate, float(np.mean(there))),
        )


def metrics(draw: Draw) -> Iterator[dict[str, Any]]:
    """Judge the intervals of metrics."""
    y, y_target = labels_of(draw)
    names = NUMBER_METRICS if draw.task == "regression" else CLASS_METRICS
    for model in JUDGED:
        place = MENU.index(model)
        predicted = predicted_of(draw, y, draw.predictions[place])
        there = predicted_of(draw, y_target, draw.target_predictions[place])
        held_out = held_out_of(draw, losses_of(draw, y, draw.predictions[place]))
        chosen = [METRICS[name] for name in names]
        report = estimate_metrics(held_out, predicted, chosen, get_method("controlled"))
        for metric in chosen:
            truth = metric(there)
            if math.isfinite(truth):
                yield _row(draw, metric=metric.name, **_covered(report[metric.name], truth))


def labels(draw: Draw) -> Iterator[dict[str, Any]]:
    """Judge the risk with labels of some target rows."""
    y, y_target = labels_of(draw)
    rng = np.random.default_rng(len(draw.y))
    for model in JUDGED:
        place = MENU.index(model)
        there = losses_of(draw, y_target, draw.target_predictions[place])
        held_out = held_out_of(draw, losses_of(draw, y, draw.predictions[place]))
        for count in (0, *LABELS):
            if count > len(there) / 2:
                continue
            some = rng.choice(there, count, replace=False) if count else None
            own = HeldOut(**{**vars(held_out), "labelled": some})
            estimate: RiskEstimate = estimate_risk(own, get_method("controlled"))[0]
            yield _row(draw, labels=count, **_covered(estimate, float(np.mean(there))))


def rows(draw: Draw) -> Iterator[dict[str, Any]]:
    """Judge 90 % intervals or sets of classes for the target rows that are not outside."""
    y, y_target = labels_of(draw)
    n, m = len(y), len(y_target)
    some = np.random.default_rng(n).choice(m, min(50, m // 2), replace=False)
    for model in JUDGED:
        place = MENU.index(model)
        here, there = draw.predictions[place], draw.target_predictions[place]
        predicted, seen = predicted_of(draw, y, here), predicted_of(draw, y_target, there)
        ways = {
            "no weights": (RowScores.of_predicted(predicted, np.ones(n)), np.ones(m)),
            "weights": (RowScores.of_predicted(predicted, draw.weights), draw.target_weights),
            "50 labels": (
                RowScores.of_predicted(predicted, draw.weights, seen.take(some)),
                draw.target_weights,
            ),
        }
        for way, (scores, weights) in ways.items():
            if draw.task == "regression":
                low, high = scores.interval(there, weights, 0.9)
                inside, size = np.isfinite(low), high - low
                covered = (low <= y_target) & (y_target <= high)
            else:
                sets = scores.sets(there, weights, 0.9)
                inside, size = sets.any(axis=1), sets.sum(axis=1)
                covered = sets[np.arange(m), y_target]
            yield _row(
                draw,
                way=f"{draw.task}, {way}",
                model=model,
                covered=float(np.mean(covered[inside])),
                size=float(np.median(size[inside])),
                outside=float(np.mean(~inside)),
            )


def delivered(draw: Draw) -> Iterator[dict[str, Any]]:
    """Compare what rules deliver with plain cross-validation's choice."""
    y, y_target = labels_of(draw)
    held_out = losses_of(draw, y, draw.predictions).mean(axis=-1)
    best = int(np.argmin(held_out))
    classes = draw.predictions.shape[-1]
    share = stacking_weights(
        draw.predictions, y if draw.task == "regression" else np.eye(classes)[y]
    )
    choice = np.arange(len(share)) == best
    for rule, q in (("blend", share / 2 + choice / 2), ("nnls", share)):
        mixed = np.tensordot(q, draw.target_predictions, axes=1)
        risks = [losses_of(draw, y_target, p).mean() for p in (mixed, *draw.target_predictions)]
        yield _row(draw, rule=rule, ratio=risks[0] / risks[1 + best], best=min(risks[1:]))


def _coverage(table: pd.DataFrame) -> str:
    """Return covered shares over tables with standard errors, and widths."""
    each = table.groupby("problem")[["covered", "covered_alone"]].mean()
    errors = each.std() / math.sqrt(max(len(each), 1))
    log = np.log(table.value.clip(lower=1e-12) / table.truth.clip(lower=1e-12)).abs()
    text = (
        f"{len(table):>4} cells, {len(each):>3} tables: covered {each.covered.mean():.3f} "
        f"({errors.covered:.3f}), without drift {each.covered_alone.mean():.3f} "
        f"({errors.covered_alone:.3f}), median error {log.median():.3f}"
    )
    if "oracle" in table:
        wide, narrow = ((table[name] / table.oracle).median() for name in ("width", "width_alone"))
        text += f", width / oracle {wide:.2f} and {narrow:.2f}"
    return text


def report(part: str, table: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a part's report."""
    yield f"\n{part}"
    by = GROUPED_BY[part]
    for kind, own in table.groupby("kind"):
        if part == "rows":
            plain = own[own.way.str.contains("no weights")].set_index(["problem", "rows", "model"])
            for way, some in own.groupby(by):
                wide = some.set_index(["problem", "rows", "model"])["size"] / plain["size"]
                each = some.groupby("problem").covered.mean()
                yield (
                    f"  {kind:<10} {way:<27} covered {each.mean():.3f} "
                    f"({each.std() / math.sqrt(len(each)):.3f}), a tenth of the cells below "
                    f"{some.covered.quantile(0.1):.3f}, size / unweighted {wide.median():.2f}, "
                    f"outside {some.outside.mean():.1%}"
                )
            continue
        if part == "delivered":
            for rule, some in own.groupby(by):
                logs = np.log(some.ratio).groupby(some.problem).mean()
                yield (
                    f"  {kind:<10} {rule:<7} over the plain choice: {math.exp(logs.mean()):.3f} "
                    f"({logs.std() / math.sqrt(len(logs)):.3f}), worst {some.ratio.max():.2f}, at "
                    f"most 1.01 in {(some.ratio <= 1.01).mean():.0%}"
                )
            continue
        if part == "intervals":
            yield f"  {kind:<10} all           {_coverage(own)}"
        for name, some in own.groupby(by):
            yield f"  {kind:<10} {name!s:<13} {_coverage(some)}"


PARTS: dict[str, Callable[[Draw], Iterator[dict[str, Any]]]] = {
    "intervals": intervals,
    "metrics": metrics,
    "labels": labels,
    "rows": rows,
    "delivered": delivered,
}


def _judge(part: str, draw: Draw) -> list[dict[str, Any]]:
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return list(PARTS[part](draw))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=Path, default=Path("draws"), help="from real_draws.py")
    parser.add_argument("--part", choices=[*PARTS], nargs="+", default=[*PARTS])
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    for part in options.part:
        tasks = (delayed(_judge)(part, draw) for draw in read(options.draws))
        rows = [row for own in Parallel(n_jobs=options.jobs)(tasks) for row in own]
        print(*report(part, pd.DataFrame(rows)), sep="\n", flush=True)


if __name__ == "__main__":
    main()
