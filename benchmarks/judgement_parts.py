"""The parts of ``judgement.py``: each takes the name of a pair and returns rows of numbers.

Classes are text and numbers are floats, as a user's table has them; categories go to LightGBM,
FLAML and AutoGluon as categories. Everything runs in one thread, and times are those of the
processor. Draws are those of ``real_data.py`` with seed 0.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import real_data
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit
from sklearn.pipeline import Pipeline

import counterpoise as cp
from counterpoise import losses as loss_functions
from counterpoise._folds import Folds
from counterpoise.encoding import TableEncoder
from counterpoise.metrics import METRICS, Predicted
from counterpoise.risk import Domains, HeldOut, estimate_risk, get_method
from counterpoise.risk.rows import RowRecord
from counterpoise.search import menu
from counterpoise.weights.names import NAMES
from counterpoise.weights.resolve import resolve_weights

LABEL, GROUP = "the label", "the group"
SIZES = (200, 1000, 5000)
ELSEWHERE = Path(__file__).parent / "peers" / "elsewhere.py"

Rows = list[dict[str, Any]]
Problem = real_data.Problem


def draw(name: str, rows: int) -> Problem:
    found = real_data.load(name, 0)
    cut = {part: getattr(found, part) for part in ("X_source", "y_source", "weights", "groups")}
    return replace(found, **{k: None if v is None else v[:rows] for k, v in cut.items()})


def labels_of(problem: Problem, y: np.ndarray) -> np.ndarray:
    return np.char.add("class ", y.astype(str)).astype(object) if problem.n_classes else y


def tables(problem: Problem) -> tuple[pd.DataFrame, pd.DataFrame]:
    source = problem.X_source.assign(**{LABEL: labels_of(problem, problem.y_source)})
    if problem.groups is not None:
        source = source.assign(**{GROUP: problem.groups})
    return source, problem.X_target


def native(problem: Problem) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the features with categories as such; those of the target alone are missing."""
    X, Z = problem.X_source.copy(), problem.X_target.copy()
    for column in X:
        if X[column].dtype.kind != "f":
            kind = pd.CategoricalDtype(sorted(X[column].unique()))
            X[column], Z[column] = X[column].astype(kind), Z[column].astype(kind)
    return X, Z


def boosting(problem: Problem) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if problem.n_classes else lightgbm.LGBMRegressor
    return kind(n_jobs=1, verbose=-1, random_state=0)


def respond(model: Any, X: Any, problem: Problem) -> np.ndarray:
    return np.asarray(model.predict_proba(X) if problem.n_classes else model.predict(X))


def losses(problem: Problem, y: np.ndarray, said: np.ndarray) -> np.ndarray:
    return np.asarray(
        (loss_functions.log if problem.n_classes else loss_functions.squared)(y, said)
    )


def predicted(problem: Problem, y: np.ndarray, said: np.ndarray) -> Predicted:
    if not problem.n_classes:
        return Predicted(y, said)
    return Predicted(y, said.argmax(axis=1), said, said, np.arange(said.shape[1]))


def select(problem: Problem, source: Any, target: Any) -> Any:
    """Run ``cp.select`` with its defaults; the loss tells numbers from classes."""
    loss, groups = "log" if problem.n_classes else "squared", GROUP if GROUP in source else None
    return cp.select(source, target, LABEL, loss=loss, groups=groups)


def elsewhere(python: str, what: str, source: Any, target: Any, **asked: Any) -> Any:
    """Run a peer in its own environment on two tables; return what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        source.to_parquet(Path(folder, "source.parquet"))
        target.to_parquet(Path(folder, "target.parquet"))
        command = [python, str(ELSEWHERE), what, folder, json.dumps(asked)]
        own = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        own |= {"NML_DISABLE_USAGE_LOGGING": "1", "OMP_NUM_THREADS": "1"}
        subprocess.run(command, check=True, capture_output=True, env=own)
        return json.loads(Path(folder, "found.json").read_text())


@functools.cache
def warm() -> None:
    """Import and compile what a first call would be charged with."""
    cp.select(example="gaussian-2d")


def delivered(name: str, options: Any) -> Rows:
    """Compare the target risk of what is delivered: RMSE, or log loss."""
    warm()
    problem = draw(name, options.rows)
    source, target = tables(problem)
    X, Z = native(problem)
    y, folds = problem.y_source, []

    def ours() -> np.ndarray:
        answer = select(problem, source, target)
        folds.append(PredefinedSplit(answer.kept.fold))
        return respond(answer.model, target, problem)

    def grid() -> np.ndarray:
        scoring = "neg_log_loss" if problem.n_classes else "neg_mean_squared_error"
        searches = []
        for _, model, values in menu(problem.task, len(y)):
            pipeline = Pipeline([("encode", TableEncoder()), ("model", model)])
            values = {f"model__{key}": value for key, value in values.items()}
            search = GridSearchCV(pipeline, values, scoring=scoring, cv=folds[0], refit=False)
            searches.append(search.fit(problem.X_source, y))
        best = max(searches, key=lambda search: search.best_score_)
        model = best.estimator.set_params(**best.best_params_).fit(problem.X_source, y)
        return respond(model, target, problem)

    return [
        judged(problem, "select", ours),
        judged(problem, "grid search", grid),
        judged(problem, "LightGBM", lambda: respond(boosting(problem).fit(X, y), Z, problem)),
    ]


def automl(name: str, options: Any) -> Rows:
    """Judge what people run instead, in the same way; needs a core to itself."""
    problem = draw(name, options.rows)
    X, Z = native(problem)
    y = problem.y_source

    def flaml(seconds: int) -> np.ndarray:
        from flaml import AutoML

        metric = "log_loss" if problem.n_classes else "rmse"
        own = {"time_budget": seconds, "metric": metric, "n_jobs": 1, "seed": 0, "verbose": 0}
        model = AutoML()
        model.fit(X, y, task=problem.task, **own)
        return respond(model, Z, problem)

    found = [judged(problem, f"FLAML {seconds} s", flaml, seconds) for seconds in options.flaml]
    if options.autogluon:
        asked = {"task": problem.task, "seconds": max(options.flaml)}
        there = elsewhere(options.autogluon, "autogluon", X.assign(**{LABEL: y}), Z, **asked)
        found.append(judged(problem, "AutoGluon", np.asarray, there["said"]))
        found[-1]["seconds"] = there["seconds"]
    return found


def judged(problem: Problem, way: str, make: Callable[..., np.ndarray], *given: Any) -> Any:
    """Return the target risk of what a way delivers, and the seconds it took."""
    start = time.process_time()
    said = make(*given)
    seconds = time.process_time() - start
    risk = float(np.mean(losses(problem, problem.y_target, said)))
    risk = risk if problem.n_classes else risk**0.5
    return {"pair": problem.name, "way": way, "risk": risk, "seconds": seconds}


def intervals(name: str, options: Any) -> Rows:
    """Judge what ``select`` says: risk, metrics and rows, without and with some labels."""
    problem = draw(name, options.judged)
    source, target = tables(problem)
    m = len(target)
    order, found = np.random.default_rng(0).permutation(m), []
    most = max(options.labels)
    rest = np.sort(order[most:])
    for count in options.labels if m >= 3 * most else options.labels[:1]:
        some = np.full(m, None, dtype=object)
        some[order[:count]] = labels_of(problem, problem.y_target)[order[:count]]
        own = target.assign(**{LABEL: some if problem.n_classes else some.astype(float)})
        answer = select(problem, source, own if count else target)
        said = respond(answer.model, target.iloc[rest], problem)
        there = predicted(problem, problem.y_target[rest], said)
        truth = float(np.mean(losses(problem, there.y, said)))
        row = {"pair": name, "kind": problem.kind, "labels": count, "verdict": answer.verdict}
        found.append(row | {"what": "risk", "risk": truth} | held(answer.risk, truth))
        found.append(row | {"what": "rows"} | rows_held(problem, answer, target.iloc[rest], there))
        for metric, estimate in answer.metrics.items() if not count else ():
            true = METRICS[metric](there)
            if np.isfinite(true):
                found.append(row | {"what": metric} | held(estimate, float(true)))
    return found


def held(estimate: Any, truth: float) -> dict[str, Any]:
    """Return whether both intervals hold the truth, and how wide they are over the value."""
    found = {}
    for name, drift in (("", True), ("_alone", False)):
        low, high = estimate.interval(drift=drift)
        width = (high - low) / max(abs(float(estimate.value)), 1e-12)
        found |= {f"covered{name}": bool(low <= truth <= high), f"width{name}": float(width)}
    return found


def rows_held(problem: Problem, answer: Any, X: Any, there: Predicted) -> dict[str, Any]:
    """Return the share of rows whose label is in their 90 % interval, weighted and not."""
    kept, one = answer.kept, np.ones(len(X))
    plain = RowRecord(None, kept.predicted, np.ones(len(kept.losses)))
    if problem.n_classes:
        both = answer.predict_set(X), plain.sets(there.probability, one, 0.9)
        inside, size = both[0].any(axis=1), [sets.sum(axis=1) for sets in both]
        covered = [sets[np.arange(len(X)), there.y] for sets in both]
    else:
        ends = answer.predict_interval(X), plain.interval(there.prediction, one, 0.9)
        inside, size = np.isfinite(ends[0][0]), [high - low for low, high in ends]
        covered = [(low <= there.y) & (there.y <= high) for low, high in ends]
    share = {"covered": covered[0][inside].mean(), "covered_alone": covered[1].mean()}
    wide = np.median(size[0][inside]) / np.median(size[1]) if inside.any() else np.nan
    found = share | {"width": wide, "outside": 1 - inside.mean()}
    return {key: float(value) for key, value in found.items()}


def held_out(problem: Problem, X: Any, n_folds: int = 5) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return what LightGBM says of rows that it has not seen, and the rows of each fold."""
    y, together = problem.y_source, problem.groups
    kind = KFold if together is None else GroupKFold
    splits = kind(n_folds, shuffle=True, random_state=0).split(y, y, together)
    said = np.zeros((len(y), problem.n_classes) if problem.n_classes else len(y))
    take = X.iloc if hasattr(X, "iloc") else X
    tests = []
    for train, test in splits:
        model = boosting(problem).fit(take[train], y[train])
        if problem.n_classes:
            said[np.ix_(test, model.classes_)] = model.predict_proba(take[test])
        else:
            said[test] = model.predict(take[test])
        tests.append(test)
    return said, tests


def weights(name: str, options: Any) -> Rows:
    """Judge weight estimators by the error of one model's risk, for three numbers of rows."""
    found = []
    for n in SIZES:
        problem = draw(name, n)
        if len(problem.y_source) < n:
            continue
        X, Z = real_data.encoded(problem)
        said, tests = held_out(problem, X)
        here = losses(problem, problem.y_source, said)
        model = boosting(problem).fit(X, problem.y_source)
        truth = np.mean(losses(problem, problem.y_target, respond(model, Z, problem)))
        for way in ("none", *NAMES):
            cell = {"pair": name, "kind": problem.kind, "rows": n, "way": way, "failed": False}
            start, own, new = time.process_time(), np.ones(n), np.ones(len(Z))
            try:
                if way != "none":
                    estimator = NAMES[way]().fit(X, Z)
                    own, new = estimator.weights_, estimator.predict(Z)
                held = HeldOut(here, own, Folds(tests), Domains(X, Z, new))
                value = estimate_risk(held, get_method("controlled"))[0].value
            except ValueError:  # no weights, or none that a number could be made of
                value, cell["failed"] = np.mean(here), True
            cell |= {"error": float(np.log(value / truth)), "seconds": time.process_time() - start}
            found.append(cell)
    return found


def evaluate(name: str, options: Any) -> Rows:
    """Judge estimates for a model that exists: ours, NannyML's, and the source's own value."""
    problem = draw(name, 2000)
    X, Z = native(problem)
    here = held_out(problem, X)[0]
    there = respond(boosting(problem).fit(X, problem.y_source), Z, problem)
    sides, codes, metrics = [], [], ("auc", "accuracy", "f1") if problem.n_classes else ("rmse",)
    for table, frame, said in zip(tables(problem), (X, Z), (here, there), strict=True):
        classes = problem.n_classes and {
            "prediction": said.argmax(axis=1),
            "probability": said[:, 1],
        }
        said = classes or {"prediction": said}
        own = frame.apply(lambda column: column.cat.codes if column.dtype == "category" else column)
        codes.append(own.assign(**said))
        said["prediction"] = labels_of(problem, said["prediction"])
        sides.append(table.assign(**{f"the {key}": values for key, values in said.items()}))
    codes[0]["y"] = problem.y_source
    asked: dict[str, Any] = {"prediction": "the prediction", "metrics": list(metrics)}
    asked |= {"groups": GROUP} if problem.groups is not None else {}
    if problem.n_classes:
        asked["probability"] = {"class 1": "the probability"}
    answer = cp.evaluate(*sides, LABEL, **asked)
    peer = elsewhere(options.nannyml, "nannyml", *codes, features=[*X], metrics=metrics)
    found = []
    for metric in metrics:
        truth = float(METRICS[metric](predicted(problem, problem.y_target, there)))
        plain = float(METRICS[metric](predicted(problem, problem.y_source, here)))
        low, high = answer.metrics[metric].interval()
        ways = {"NannyML": peer[metric], "source": (plain, np.nan, np.nan)}
        ways["evaluate"] = float(answer.metrics[metric].value), low, high
        for way, (value, low, high) in ways.items():
            off = value - truth if problem.n_classes else np.log(value / truth)
            cell = {"pair": name, "metric": metric, "way": way, "error": float(off)}
            width = (high - low) / (1 if problem.n_classes else truth)
            found.append(cell | {"covered": bool(low <= truth <= high), "width": float(width)})
    return found


def rows(name: str, options: Any) -> Rows:
    """Judge 90 % intervals for rows against MAPIE (no weights) and puncc (the same weights)."""
    from deel.puncc.api.prediction import BasePredictor
    from deel.puncc.regression import SplitCP
    from mapie.regression import CrossConformalRegressor

    problem = draw(name, options.judged)
    X, Z = real_data.encoded(problem)
    y, y_target, model = problem.y_source, problem.y_target, boosting(problem)
    folds = KFold(5, shuffle=True, random_state=0)
    search = cp.ShiftGridSearchCV(model, {}, metrics="auto", cv=folds).fit(X, y, X_target=Z)
    peer = CrossConformalRegressor(model, confidence_level=0.9, cv=folds).fit_conformalize(X, y)
    there = peer.predict_interval(Z)[1]
    ends = {"counterpoise": search.predict_interval(Z, 0.9), "MAPIE": there[:, :2, 0].T}
    estimator = resolve_weights("auto", X, Z)[1]
    weighted = SplitCP(BasePredictor(model), weight_func=estimator.predict, random_state=0)
    weighted.fit(X=X, y=y, fit_ratio=0.8)
    ends["puncc"] = weighted.predict(Z, alpha=0.1)[1:]
    found = []
    for way, (low, high) in ends.items():
        inside = np.isfinite(low) & np.isfinite(high)
        covered = ((low <= y_target) & (y_target <= high))[inside].mean()
        wide = np.median((high - low)[inside]) if inside.any() else np.nan
        cell = {"pair": name, "kind": problem.kind, "way": way, "covered": float(covered)}
        found.append(cell | {"width": float(wide), "outside": float(1 - inside.mean())})
    return found
