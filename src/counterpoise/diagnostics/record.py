"""The record of a diagnosis: the verdict, the shift, and every number behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from counterpoise._facts import Card, diagnostics_card
from counterpoise._shown import Shown
from counterpoise._validation import check_number
from counterpoise.diagnostics.gaps import Gap
from counterpoise.diagnostics.shift import Shift
from counterpoise.risk.estimate import Rehearsals
from counterpoise.risk.sensitivity import risk_bounds

__all__ = ["Diagnostics"]


@dataclass(frozen=True, eq=False)
class Diagnostics(Shown):
    """Whether weighted source rows can stand for the target, with every number behind it.

    ``print`` shows a table with the verdict first.

    Attributes
    ----------
    verdict : {"trust", "caution", "do not trust"}
    reasons : list of str
        Why, in plain sentences, gravest first.
    advice : list of str
        What to do next.
    shift : Shift
        Whether source and target differ, how much, and in which columns.
    n_source, n_target : int
    n_effective : float
        (sum w)^2 / sum w^2: equally weighted rows that would be as informative.
    design_effect : float
        n_source / n_effective = 1 + (coefficient of variation of w)^2.
    weight_mean, weight_mean_error : float
        Mean weight, expected to be 1, and its standard error. Says nothing for weights that were
        normalised to mean 1.
    weight_variance : float
    largest_share : float
        Largest weight over the sum of weights.
    pareto_k : float
        Shape of the weights' upper tail, see :func:`~counterpoise.diagnostics.pareto_k`. NaN for
        too few or (nearly) equal weights.
    pareto_k_losses : float or None
        The same for abs(weight x loss); None without losses.
    loss_growth : float or None
        Factor by which weight x loss grows with one standard deviation of the log weights, where
        the losses themselves grow with the weights; 1 where they do not. None without losses.
    correlation : float or None
        Of weighted losses with weights: what a control variate can use. 0 for equal weights.
    variance_reduction : float or None
        correlation^2, the share of the variance that the control variate removes.
    auc, auc_error, auc_p_value : float
        Cross-validated area under the curve of a classifier that tells target from source, with
        DeLong's standard error and a one-sided p-value for equal domains.
    outside_share : float
        Share of target rows whose nearest source row is further away than is usual among source
        rows; 0.01 for equal domains.
    features : list of str
        Names of the encoded features, one per entry of the two arrays that follow.
    feature_columns : list of str
        The column that each encoded feature comes from.
    balance_before, balance_after : arrays of shape (n_features,)
        Standardised mean differences, target minus source, without and with weights.
    weights : array of shape (n_source,)
    losses : array of shape (n_source,) or None
    disagreement : float or None
        Distance between the self-normalised and the controlled risk, in standard errors of the
        latter; None without losses. Both estimate the same number.
    error_ratio : float or None
        Standard error of the self-normalised risk over that of the controlled risk. Well above 1,
        the control variate has fitted a few large weights, and its interval is too narrow.
    gaps : list of Gap
        Regions of single features, at most 5, where the target has rows and the source hardly
        any: `words` such as "age is above 63", and `share` of the target. Largest first.
    separating : list of Gap
        Columns that alone tell the target from the source: 99 % of the target has values that
        hardly any source row has.
    rehearsals : Rehearsals or None
        What rehearsals of the transfer inside the source found, where a search made them.
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
    weight_variance: float
    largest_share: float
    pareto_k: float
    pareto_k_losses: float | None
    loss_growth: float | None
    correlation: float | None
    variance_reduction: float | None
    auc: float
    auc_error: float
    auc_p_value: float
    outside_share: float
    features: list[str] = field(repr=False)
    feature_columns: list[str] = field(repr=False)
    balance_before: np.ndarray = field(repr=False)
    balance_after: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    losses: np.ndarray | None = field(repr=False)
    disagreement: float | None = None
    error_ratio: float | None = None
    gaps: list[Gap] = field(default_factory=list, repr=False)
    separating: list[Gap] = field(default_factory=list, repr=False)
    rehearsals: Rehearsals | None = field(default=None, repr=False)

    def sensitivity(self, gamma: float, /) -> tuple[float, float]:
        """Range of the risk if every weight is off by a factor of up to `gamma`.

        The smallest and largest sum(u w loss) / sum(u w) over all u with 1 / gamma <= u <= gamma.
        :func:`counterpoise.risk.sensitivity` says more. Dask arrays are brought into memory for it.

        Parameters
        ----------
        gamma : float, at least 1

        Returns
        -------
        low, high : float
            Both the self-normalised risk for gamma = 1.
        """
        check_number(gamma, "gamma", low=1, high=math.inf, closed="low", remedy="2 is a start.")
        if self.losses is None:
            raise ValueError(
                "`losses` are needed for the sensitivity of the risk; got None. "
                "Call diagnose(..., losses=...) with the loss of each source row."
            )
        ends = risk_bounds(np.asarray(self.losses), np.asarray(self.weights), np.array([gamma]))
        return float(ends[0][0]), float(ends[1][0])

    def _card(self) -> Card:
        return diagnostics_card(self)
