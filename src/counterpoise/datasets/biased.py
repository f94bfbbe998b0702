"""Biased samples of real data: the selection is simulated, so the weights are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from counterpoise._random import as_generator
from counterpoise._validation import check_choice, check_matrix, check_number


@dataclass(frozen=True, eq=False)
class BiasedSample:
    """Which rows were selected, and how likely each row was.

    Attributes
    ----------
    rows : int array of shape (n_source,)
        The selected rows: the source. The target is all rows.
    probability : array of shape (n,)
        Selection probability of each row, relative to the others; sums to 1.
    """

    rows: np.ndarray
    probability: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Importance weights of the selected rows: uniform over all rows, over the probability.

        Exact for draws with replacement; without it, as good as the sample is small.
        """
        weights: np.ndarray = 1.0 / (len(self.probability) * self.probability[self.rows])
        return weights


def biased_sample(
    X: Any,
    n_source: int,
    *,
    selection: str = "component",
    strength: float = 1.0,
    replace: bool = False,
    random_state: Any = None,
) -> BiasedSample:
    """Select rows with probabilities that depend on their features.

    Labels play no part, so the conditional distribution of y given X is the same in the selected
    rows and in all rows: covariate shift, on real data.

    Parameters
    ----------
    X : array of shape (n, n_features)
        All rows: the target.
    n_source : int
        How many rows to select.
    selection : {"component", "threshold", "nearest", "logistic"}, default="component"
        The log-probability is `strength` times, for standardised features,

        - "component": minus the score on the first principal component;
        - "threshold": -2 where a randomly chosen feature exceeds its median, else 0;
        - "nearest": -2 times the squared distance to a randomly chosen row, relative to its mean;
        - "logistic": -2 log(1 + exp(the sum of two randomly chosen features)).
    strength : float, default=1.0
        0 is no bias.
    replace : bool, default=False
        Draw with replacement.
    random_state : int, Generator or None, default=None

    Returns
    -------
    BiasedSample
        With `rows`, `weights` of these rows, and `probability` of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.datasets import biased_sample
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> sample = biased_sample(X, 100, strength=2.0, random_state=0)
    >>> sample.rows.shape, bool(sample.weights.min() > 0)
    ((100,), True)
    """
    X = check_matrix(X, "X", min_rows=2)
    check_choice(selection, "selection", SELECTIONS)
    check_number(strength, "strength", low=0, closed="low")
    n = X.shape[0]
    most = None if replace else n
    check_number(n_source, "n_source", low=1, high=most, closed="both", integer=True)
    rng = as_generator(random_state)
    spread = X.std(axis=0)
    standard = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    probability = softmax(strength * SELECTIONS[selection](standard, rng))
    rows = rng.choice(n, size=n_source, replace=replace, p=probability)
    return BiasedSample(rows, probability)


def _component(X: np.ndarray, rng: np.random.Generator) -> Any:
    _, _, directions = np.linalg.svd(X, full_matrices=False)
    score = X @ directions[0]
    # The sign of a principal component is arbitrary; fix it, or two machines differ.
    score = score * np.sign(directions[0][np.argmax(np.abs(directions[0]))])
    return -score / score.std()


def _threshold(X: np.ndarray, rng: np.random.Generator) -> Any:
    feature = X[:, rng.integers(X.shape[1])]
    return -2.0 * (feature > np.median(feature))


def _nearest(X: np.ndarray, rng: np.random.Generator) -> Any:
    distance = np.sum((X - X[rng.integers(len(X))]) ** 2, axis=1)
    return -2.0 * distance / distance.mean()


def _logistic(X: np.ndarray, rng: np.random.Generator) -> Any:
    features = rng.choice(X.shape[1], size=min(2, X.shape[1]), replace=False)
    return -2.0 * np.logaddexp(0.0, X[:, features].sum(axis=1))


SELECTIONS = {
    "component": _component,
    "threshold": _threshold,
    "nearest": _nearest,
    "logistic": _logistic,
}
