"""Weights of the source rows of a job, from at most 200 000 target rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._validation import check_choice
from counterpoise.encoding import EncodedPair
from counterpoise.encoding.rows import some_rows
from counterpoise.weights.selection import NAMES, default_candidates, select_weights

__all__ = ["Weights", "check_weights_name", "estimate_weights"]

# Target rows that weights are fitted to; with 50 000 source rows more would not make them better.
_TARGET_ROWS = 200_000
# With more features than this, and with so many source rows to train a classifier on, the
# classifier's weights repair what nearest neighbours leave (see the guide of the command line).
_FEATURES, _SOURCE_ROWS = 10, 5000


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the source rows, which a search takes like a fitted weight estimator.

    Attributes
    ----------
    name : str
        Of the estimator.
    words : str
        What was done, in a sentence.
    weights_ : array of shape (n,)
        All zero where the estimator found no overlap at all.
    encoded : EncodedPair
    estimator : DensityRatio or None
        Of encoded features without redundancy; None where weights cannot be predicted.
    """

    name: str
    words: str
    weights_: np.ndarray
    encoded: EncodedPair
    estimator: Any = None

    def __sklearn_clone__(self) -> Weights:
        return self

    def fit(self, X_source: Any, X_target: Any) -> Weights:
        """Do nothing: the weights are known."""
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the weights of encoded rows."""
        return np.asarray(self.estimator.predict(self.encoded.independent(X)))


def check_weights_name(weights: str | None, /) -> None:
    """Refuse what is no name of weights."""
    if weights is not None:
        check_choice(weights, "--weights", [*NAMES, "auto", "none"])


def estimate_weights(
    weights: str | None, encoded: EncodedPair, /, *, jobs: int, rng: np.random.Generator
) -> Weights:
    """Estimate the weights of the source rows from at most 200 000 target rows.

    Parameters
    ----------
    weights : str or None
        A name from `counterpoise.weights`, "auto" (the best by held-out score) or "none". None is
        the default: "nearest"; "classifier" beyond 10 encoded features with 5000 source rows.
    encoded : EncodedPair

    Returns
    -------
    Weights
        Zero everywhere where an estimator finds no overlap at all.
    """
    check_weights_name(weights)
    if weights == "none":
        words = "No weights: every source row counts the same."
        return Weights("none", words, np.ones(len(encoded.source)), encoded)
    source = encoded.independent(encoded.source)
    m = len(encoded.target)
    target = encoded.independent(encoded.target[some_rows(m, _TARGET_ROWS, rng)])
    many = source.shape[1] > _FEATURES and len(source) >= _SOURCE_ROWS
    default = "classifier" if many else "nearest"
    name = default if weights is None else weights
    with warnings.catch_warnings():
        # The verdict says the same, and says what to do.
        warnings.filterwarnings("ignore", message=".*hardly\\s+overlap", category=RuntimeWarning)
        try:
            name, estimator = _fit(name, source, target, jobs)
            found = estimator.weights_
        except ValueError as error:
            # Disjoint supports: that is the answer, and not a failure to give one.
            if "gives every source point weight 0" not in str(error):
                raise
            found, estimator = np.zeros(len(source)), None
    why = ", the default for this many rows and columns" if weights is None else ""
    part = f", fitted to {len(target)} of the {m} target rows" if len(target) < m else ""
    words = f"Weights by {name!r}{why}{part}."
    return Weights(name, words, np.asarray(found, dtype=np.float64), encoded, estimator)


def _fit(name: str, source: np.ndarray, target: np.ndarray, jobs: int) -> tuple[str, Any]:
    if name == "auto":
        found = select_weights(default_candidates(), source, target, n_jobs=jobs)
        return f"auto: {found.best_name}", found.best_estimator
    estimator = NAMES[name]()
    if "n_jobs" in estimator.get_params():
        estimator.set_params(n_jobs=jobs)
    return name, estimator.fit(source, target)
