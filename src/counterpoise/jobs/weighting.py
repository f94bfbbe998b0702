"""Weights of the source rows of a job, from at most 200 000 target rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._validation import check_choice
from counterpoise.encoding import EncodedPair
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.request import Progress, quiet
from counterpoise.weights.default import (
    DEFAULT_WEIGHTS,
    MOST_ROWS,
    fit_default,
    is_default,
)
from counterpoise.weights.names import NAMES

__all__ = ["Weights", "check_weights_name", "estimate_weights", "weights_names"]

# What `--weights` takes.
# Target rows that weights are fitted to; with 50 000 source rows more would not make them better.
_TARGET_ROWS = 200_000


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


def weights_names() -> tuple[str, ...]:
    """Return the names for ``--weights``."""
    return DEFAULT_WEIGHTS, *NAMES, "none"


def check_weights_name(weights: str, /) -> None:
    """Refuse what is no name of weights."""
    check_choice(weights, "--weights", weights_names())


def estimate_weights(
    weights: str,
    encoded: EncodedPair,
    /,
    *,
    rng: np.random.Generator,
    progress: Progress = quiet,
) -> Weights:
    """Estimate the weights of the source rows from at most 200 000 target rows.

    Parameters
    ----------
    weights : str
        A name from `counterpoise.weights`, "auto" (the library's default) or "none".
    encoded : EncodedPair

    Returns
    -------
    Weights
        Zero everywhere where an estimator finds no overlap at all.
    """
    check_weights_name(weights)
    if weights == "none":
        progress("estimating the weights", 0, 0)
        words = "No weights: every source row counts the same."
        return Weights("none", words, np.ones(len(encoded.source)), encoded)
    source = encoded.independent(encoded.source)
    m = len(encoded.target)
    target = encoded.independent(encoded.target[some_rows(m, _TARGET_ROWS, rng)])
    name, note = weights, ""
    progress("estimating the weights", 0, 0)
    with warnings.catch_warnings():
        # The verdict says the same, and says what to do.
        warnings.filterwarnings("ignore", message=".*hardly\\s+overlap", category=RuntimeWarning)
        try:
            if is_default(weights):
                default = fit_default(source, target)
                name, estimator, note = default.name, default.estimator, default.note
                found = default.weights
            else:
                estimator = NAMES[weights]().fit(source, target)
                found = estimator.weights_
        except ValueError as error:
            # Disjoint supports: that is the answer, and not a failure to give one.
            if "gives every source point weight 0" not in str(error):
                raise
            found, estimator = np.zeros(len(source)), None
    why = ", the default" if is_default(weights) and not note else ""
    most = MOST_ROWS if is_default(weights) else _TARGET_ROWS
    fitted = [("target", min(len(target), most), m)]
    if is_default(weights):
        fitted.insert(0, ("source", min(len(source), most), len(source)))
    parts = [f"{some} of the {rows} {which} rows" for which, some, rows in fitted if some < rows]
    part = f", fitted to {' and '.join(parts)}" if parts else ""
    words = f"Weights by {name!r}{why}{part}. {note}".rstrip()
    return Weights(name, words, np.asarray(found, dtype=np.float64), encoded, estimator)
