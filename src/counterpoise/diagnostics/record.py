"""The record of a diagnosis: the verdict, the shift, and every number behind them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterpoise._shown import Shown
from counterpoise.diagnostics.gaps import Gap
from counterpoise.diagnostics.shift import Shift
from counterpoise.risk import LabelTest


@dataclass(frozen=True, eq=False)
class Diagnostics(Shown):
    """Whether weighted source rows can stand for the target, with every number behind it.

    ``print`` shows a table with the verdict first.

    Attributes
    ----------
    verdict : {"confirmed", "plausible", "caution", "do not trust"}
    reasons : list of str
        Why, in plain sentences, gravest first. The first reason of "plausible" says what was not
        checked.
    advice : list of str
        What to do next.
    shift : Shift
        Whether source and target differ, how much, and in which columns.
    n_source, n_target : int
    n_effective : float
        (sum w)^2 / sum w^2: equally weighted rows that would be as informative.
    design_effect : float
        n_source / n_effective.
    weight_mean, weight_mean_error : float
        Mean weight, expected to be 1 unless weights were normalised, and its standard error.
    largest_share : float
        Largest weight over the sum of weights.
    divergence : float
        Mean of w log w, for weights divided by their mean: the Kullback-Leibler divergence of the
        target from the source that the weights see.
    pareto_k : float
        Shape of the weights' upper tail, see :func:`~counterpoise.diagnostics.pareto_k`. NaN for
        too few or (nearly) equal weights.
    pareto_k_losses : float or None
        The same for abs(weight x loss); None without losses.
    rows_deciding : float or None
        How many rows the variance of the controlled risk rests on: (sum t^2)^2 / sum t^4 for its
        centred terms t = w loss - beta (w - 1). Infinite if they do not vary; None without losses.
    auc, auc_p_value : float
        Cross-validated area under the curve of a classifier that tells target from source, with
        a one-sided p-value for equal domains.
    outside_share : float
        Share of target rows whose nearest source row is further away than is usual among source
        rows; 0.01 for equal domains.
    features, feature_columns : lists of str
        Names of the encoded features, and the columns that they come from.
    balance_before, balance_after : arrays of shape (n_features,)
        Standardised mean differences, target minus source, without and with weights.
    gaps : list of Gap
        At most 5 regions where the target has rows and the source hardly any, largest first.
    separating : list of Gap
        Columns that alone tell the target from the source: 99 % of the target has values that
        hardly any source row has.
    weights : array of shape (n_source,)
    losses : array of shape (n_source,) or None
    label_test : LabelTest or None
        What labels of target rows say, if some are known.
    """

    verdict: str
    reasons: list[str]
    advice: list[str]
    shift: Shift
    n_source: int
    n_target: int
    n_effective: float
    design_effect: float
    weight_mean: float
    weight_mean_error: float
    largest_share: float
    divergence: float
    pareto_k: float
    pareto_k_losses: float | None
    rows_deciding: float | None
    auc: float
    auc_p_value: float
    outside_share: float
    features: list[str] = field(repr=False)
    feature_columns: list[str] = field(repr=False)
    balance_before: np.ndarray = field(repr=False)
    balance_after: np.ndarray = field(repr=False)
    gaps: list[Gap] = field(repr=False)
    separating: list[Gap] = field(repr=False)
    weights: np.ndarray = field(repr=False)
    losses: np.ndarray | None = field(repr=False)
    label_test: LabelTest | None = field(default=None, repr=False)
