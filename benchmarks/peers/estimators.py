"""Weight estimators of every package behind one function: (X_source, X_target) -> weights.

``fit_weights(name, X_source, X_target)`` fits one of ``ESTIMATORS``. Settings are each package's
defaults; where there is none, what its documentation uses. Everybody gets the same arrays, with
columns in standard deviations.
"""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

Estimator = Callable[[np.ndarray, np.ndarray], np.ndarray]
NONE, OURS = "no weights", "counterpoise, default"


def counterpoise(name: str) -> Estimator:
    """Return an estimator by its name in counterpoise, or the default for "auto"."""

    def fit(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        from counterpoise.weights.names import NAMES
        from counterpoise.weights.resolve import fit_default

        if name == "auto":
            return fit_default(X, Z)[0]
        return np.asarray(NAMES[name]().fit(X, Z).weights_)

    return fit


def skada(name: str, **options: Any) -> Estimator:
    """Return one of skada's adapters that weight source rows."""

    def fit(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        adapter = getattr(import_skada("_reweight"), f"{name}ReweightAdapter")(**options)
        domain = np.repeat([1, -2], [len(X), len(Z)])
        with sklearn.config_context(enable_metadata_routing=True):
            found = adapter.fit_transform(np.concatenate([X, Z]), sample_domain=domain)
        return np.asarray(found[1]["sample_weight"])[: len(X)]

    return fit


def import_skada(module: str) -> Any:
    """Return a module of skada, with scikit-learn's settings as they were.

    Importing skada turns metadata routing on for the whole process.
    """
    before = sklearn.get_config()["enable_metadata_routing"]
    found = importlib.import_module(f"skada.{module}")
    sklearn.set_config(enable_metadata_routing=before)
    return found


def densratio(method: str, **options: Any) -> Estimator:
    """Return one of densratio's methods; it takes the numerator first."""

    def fit(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        from densratio import densratio as estimate

        np.random.seed(0)  # noqa: NPY002  (it draws from the global state)
        ratio = estimate(Z, X, method=method, verbose=False, **options)
        return np.asarray(ratio.compute_density_ratio(X))

    return fit


def adapt(name: str, **options: Any) -> Estimator:
    """Return one of adapt's instance-based methods."""

    def fit(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        from adapt import instance_based

        model = getattr(instance_based, name)(Xt=Z, verbose=0, random_state=0, **options)
        return np.asarray(model.fit_weights(X, Z))

    return fit


def balance(method: str, **options: Any) -> Estimator:
    """Return one of balance's adjustments."""

    def fit(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        from balance import Sample

        logging.getLogger("balance").setLevel(logging.ERROR)
        columns = [f"x{i}" for i in range(X.shape[1])]
        samples = [
            Sample.from_frame(
                pd.DataFrame(rows, columns=columns).assign(id=np.arange(len(rows)).astype(str)),
                id_column="id",
            )
            for rows in (X, Z)
        ]
        adjusted = samples[0].set_target(samples[1]).adjust(method=method, **options)
        return adjusted.weights().df.iloc[:, 0].to_numpy(float)

    return fit


def odds(classifier: Any, folds: int = 0) -> Estimator:
    """Return the odds of a scikit-learn classifier, in-sample or cross-fitted."""

    def fit(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        both, side = np.concatenate([X, Z]), np.repeat([0, 1], [len(X), len(Z)])
        if folds:
            chance = cross_val_predict(classifier, both, side, cv=folds, method="predict_proba")
        else:
            chance = classifier.fit(both, side).predict_proba(both)
        chance = np.clip(chance[: len(X), 1], 1e-6, 1 - 1e-6)
        return chance / (1 - chance) * len(X) / len(Z)

    return fit


ESTIMATORS: dict[str, Estimator] = {
    NONE: lambda X, Z: np.ones(len(X)),
    OURS: counterpoise("auto"),
    **{
        f"counterpoise, {name}": counterpoise(name)
        for name in ("ulsif", "kliep", "classifier", "gaussian", "nearest")
    },
    "skada, KMM": skada("KMM"),
    # Its width has no default; it takes the best of these by its own cross-validation.
    "skada, KLIEP": skada("KLIEP", gamma=[0.01, 0.1, 1.0], random_state=0),
    "skada, Gaussian": skada("Gaussian"),
    "skada, discriminator": skada("Discriminator"),
    "skada, density": skada("Density"),
    "skada, nearest": skada("NearestNeighbor"),
    "densratio, uLSIF": densratio("uLSIF"),
    "densratio, RuLSIF": densratio("RuLSIF"),
    "densratio, KLIEP": densratio("KLIEP"),
    "adapt, KMM": adapt("KMM"),
    "adapt, KLIEP": adapt("KLIEP"),
    "adapt, uLSIF": adapt("ULSIF"),
    "adapt, RuLSIF": adapt("RULSIF"),
    "adapt, classifier": adapt("IWC"),
    "adapt, nearest": adapt("NearestNeighborsWeighting"),
    # 250 penalties, its default, take a minute for 200 rows.
    "balance, ipw": balance("ipw", num_lambdas=25),
    "scikit-learn, logistic": odds(LogisticRegression(max_iter=1000)),
    "scikit-learn, boosting": odds(HistGradientBoostingClassifier(random_state=0), folds=5),
}


def fit_weights(name: str, X: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return weights with mean 1, and whether the estimator failed.

    One that raises, or whose weights are not finite or all zero, counts as weights of 1.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            weights = np.ravel(np.asarray(ESTIMATORS[name](X, Z), dtype=float))
        except (Exception, SystemExit):  # whatever another package raises
            return np.ones(len(X)), True
    usable = len(weights) == len(X) and np.isfinite(weights).all() and weights.sum() > 0
    if not usable:
        return np.ones(len(X)), True
    return weights / weights.mean(), False
