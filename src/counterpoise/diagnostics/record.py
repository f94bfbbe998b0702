"""The record of everything that speaks for or against the weights, and how it is made."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise._arrays import array_namespace, as_float, is_array, to_numpy
from counterpoise._validation import check_finite, check_matrix, check_number
from counterpoise.diagnostics.balance import (
    encoded_names,
    farthest_reach,
    standardized_differences,
)
from counterpoise.diagnostics.overlap import outside_share, two_sample_test
from counterpoise.diagnostics.tail import pareto_k
from counterpoise.diagnostics.verdict import judge
from counterpoise.weights._encoding import DomainEncoder
from counterpoise.weights._resolve import resolve_weights
from counterpoise.weights._table import as_table

__all__ = ["Diagnostics", "diagnose"]


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What speaks for and against weighting this source to look like this target.

    ``print`` shows a table with the verdict first.

    Attributes
    ----------
    verdict : {"trust", "caution", "do not trust"}
    reasons : list of str
        Why, in plain sentences, gravest first.
    advice : list of str
        What to do next.
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
    balance_before, balance_after : arrays of shape (n_features,)
        Standardised mean differences, target minus source, without and with weights.
    weights : array of shape (n_source,)
    losses : array of shape (n_source,) or None
    """

    verdict: str
    reasons: list[str]
    advice: list[str]
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
    correlation: float | None
    variance_reduction: float | None
    auc: float
    auc_error: float
    auc_p_value: float
    outside_share: float
    features: list[str] = field(repr=False)
    balance_before: np.ndarray = field(repr=False)
    balance_after: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    losses: np.ndarray | None = field(repr=False)

    def sensitivity(self, gamma: float, /) -> tuple[float, float]:
        """Range of the risk if every weight is off by a factor of up to `gamma`.

        The smallest and largest sum(u w loss) / sum(u w) over all u with 1 / gamma <= u <= gamma.
        Exact: at the maximum, u is gamma where the loss exceeds some threshold and 1 / gamma
        elsewhere, so that sorting the losses leaves n + 1 candidates.

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
        if not np.any(self.weights > 0):
            return math.nan, math.nan
        order = np.argsort(self.losses)
        w, losses = self.weights[order], self.losses[order]
        high = _extreme(w[::-1], losses[::-1], gamma).max()
        return float(_extreme(w, losses, gamma).min()), float(high)

    def __str__(self) -> str:
        rows = [
            ("rows (source, target)", f"{self.n_source}, {self.n_target}"),
            ("effective sample size", f"{self.n_effective:.1f}"),
            ("design effect", f"{self.design_effect:.2f}"),
            ("mean weight", f"{self.weight_mean:.3g} +- {self.weight_mean_error:.2g}"),
            ("weight variance", f"{self.weight_variance:.3g}"),
            ("largest weight's share", f"{self.largest_share:.1%}"),
            ("Pareto k, weights", f"{self.pareto_k:.2f}"),
            ("source against target, AUC", f"{self.auc:.3f} (p = {self.auc_p_value:.2g})"),
            ("target outside the source", f"{self.outside_share:.1%}"),
            ("largest mean difference", _largest(self.features, self.balance_before)),
            ("  after weighting", _largest(self.features, self.balance_after)),
        ]
        if self.losses is not None:
            rows += [
                ("Pareto k, weighted losses", f"{self.pareto_k_losses:.2f}"),
                ("variance reduction", f"{self.variance_reduction:.0%}"),
            ]
        lines = [f"Verdict: {self.verdict}"]
        lines += [f"- {reason}" for reason in self.reasons]
        lines += ["Next:", *(f"- {step}" for step in self.advice), ""]
        return "\n".join(lines + [f"{name:<27}  {value}" for name, value in rows])


def diagnose(
    X_source: Any,
    X_target: Any,
    /,
    *,
    weights: Any = "gaussian",
    losses: Any = None,
    random_state: int | None = 0,
) -> Diagnostics:
    """Say whether weighted source rows can stand for the target, why, and what to do next.

    Looks at the weights (how many rows do they leave, how heavy is their tail, do they average
    1), at the overlap of the two samples (can they be told apart, does the target reach beyond
    the source) and at the balance of each feature. The estimators' own warnings about overlap are
    silenced: the verdict says the same.

    Parameters
    ----------
    X_source : array, data frame or sparse matrix of shape (n_source, n_features)
        Mixed types and missing values are encoded: missing numbers become the median with an
        indicator, categories one indicator each.
    X_target : like `X_source`, of shape (n_target, n_features)
    weights : str, DensityRatio, array of shape (n_source,) or None, default="gaussian"
        Name of an estimator, "auto", an estimator, the weights themselves, or None for ones.
    losses : array of shape (n_source,), optional
        Of one model that was not trained on these rows. Adds what concerns the weighted losses.
    random_state : int or None, default=0
        Of the folds of the two-sample test, and of the rows looked at in large samples.

    Returns
    -------
    Diagnostics

    Notes
    -----
    Limits of "caution" and of "do not trust", in ``counterpoise.diagnostics.THRESHOLDS``.
    The verdict is the worst of them.

    ======================================  =================  ======================
    quantity                                limits             source
    ======================================  =================  ======================
    Pareto k (weights, weighted losses)     above 0.5, 0.7     arXiv:1507.02646
    share of the target outside the source  above 2 %, 10 %    rule of thumb
    effective sample size                   below 50, 20       rule of thumb
    mean weight, factor from 1              above 1.25, 2      rule of thumb
    mean weight, standard errors from 1     above 4 (caution)  rule of thumb
    largest weight's share                  above 0.1, 0.3     rule of thumb
    area under the curve                    above 0.983,       two normals 3 standard
                                            0.9999             deviations apart; rule
                                                               of thumb
    ======================================  =================  ======================

    Limits are not crossed by chance alone: the outside share must also exceed the expected 1 % by
    three standard errors and 3 / n_source, the area under the curve needs p < 0.001, and a mean
    weight within 5 % of 1 passes. Pareto k of weights with a design effect below 1.05 is not
    judged.

    Nothing here can see a shift in the labels given the features, or a feature that is not there;
    :meth:`Diagnostics.sensitivity` says how much such an error could matter.

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> cp.diagnose(X, rng.normal(size=(300, 2))).verdict
    'trust'
    >>> apart = cp.diagnose(X, rng.normal([6, 0], 1, size=(300, 2)))
    >>> apart.verdict
    'do not trust'
    >>> print(apart.advice[0])  # doctest: +ELLIPSIS
    Collect labels where x0 is above 2... (100% of the target, hardly any of the source), ...
    """
    X_source, X_target = _check_rows(X_source, "X_source"), _check_rows(X_target, "X_target")
    check_number(
        0 if random_state is None else random_state,
        "random_state",
        low=0,
        closed="low",
        integer=True,
        remedy="Pass an integer, or None.",
    )
    encoder = DomainEncoder().fit(X_source, X_target)
    source = check_matrix(encoder.transform(X_source), "X_source").astype(np.float64)
    target = check_matrix(encoder.transform(X_target), "X_target").astype(np.float64)
    w = _find_weights(weights, source, target)
    if losses is not None:
        losses = _check_losses(losses, w.shape[0])
    rng = np.random.default_rng(random_state)
    test = two_sample_test(source, target, rng=rng)
    before, after = standardized_differences(source, target, w)
    found = Diagnostics(
        verdict="",
        reasons=[],
        advice=[],
        n_target=target.shape[0],
        **_weight_numbers(w),
        **_loss_numbers(w, losses),
        auc=test.auc,
        auc_error=test.standard_error,
        auc_p_value=test.p_value,
        outside_share=outside_share(source, target, rng=rng),
        features=encoded_names(encoder, X_source, source.shape[1]),
        balance_before=before,
        balance_after=after,
        weights=w,
        losses=losses,
    )
    is_sparse = sparse.issparse(X_source) or sparse.issparse(X_target)
    reach = None if is_sparse else farthest_reach(X_source, X_target)
    verdict, reasons, advice = judge(found, reach)
    return replace(found, verdict=verdict, reasons=reasons, advice=advice)


def _check_rows(X: Any, name: str) -> Any:
    """Refuse what is not a table with rows and columns."""
    if sparse.issparse(X):
        if min(X.shape) < 1:
            raise ValueError(
                f"`{name}` must have at least 1 row and 1 feature; got shape {X.shape}. "
                "Pass more data."
            )
        return X
    return as_table(to_numpy(X) if is_array(X) else X, name)


def _check_losses(losses: Any, n: int) -> np.ndarray:
    found = to_numpy(as_float(losses)).astype(np.float64)
    if found.shape != (n,):
        raise ValueError(
            f"`losses` must have shape ({n},), one per source row; got shape {found.shape}. "
            "Pass the losses of one model, in the order of the rows."
        )
    check_finite(
        array_namespace(found),
        found,
        "losses",
        "Drop or impute those samples, or check the predictions.",
    )
    return found


def _find_weights(weights: Any, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Weights of the source rows, zero where an estimator finds no overlap at all."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message=".*hardly\\s+overlap", category=RuntimeWarning
            )
            found, _ = resolve_weights(weights, source, target)
    except ValueError as error:
        # Where supports are disjoint, that is the answer and not a failure to give one.
        if "gives every source point weight 0" not in str(error):
            raise
        return np.zeros(source.shape[0])
    return np.asarray(found, dtype=np.float64)


def _weight_numbers(w: np.ndarray) -> dict[str, Any]:
    n, mean, largest = w.shape[0], float(np.mean(w)), float(np.max(w))
    # Relative to the largest, so that squares of tiny or huge weights stay in range.
    relative = w / largest if largest > 0 else w
    total = float(np.sum(relative))
    n_effective = total**2 / float(np.sum(relative**2)) if total > 0 else 0.0
    with np.errstate(over="ignore"):
        variance = float(np.var(w, ddof=1)) if n > 1 else math.nan
    return {
        "n_source": n,
        "n_effective": n_effective,
        "design_effect": n / n_effective if n_effective > 0 else math.inf,
        "weight_mean": mean,
        "weight_mean_error": math.sqrt(variance / n),
        "weight_variance": variance,
        "largest_share": 1 / total if total > 0 else math.nan,
        "pareto_k": pareto_k(w),
    }


def _loss_numbers(w: np.ndarray, losses: np.ndarray | None) -> dict[str, Any]:
    if losses is None:
        return {"pareto_k_losses": None, "correlation": None, "variance_reduction": None}
    weighted = w * losses
    a, b = _centred(weighted), _centred(w)
    scale = math.sqrt(float(np.sum(a**2)) * float(np.sum(b**2)))
    correlation = float(np.sum(a * b)) / scale if scale > 0 else 0.0
    return {
        "pareto_k_losses": pareto_k(np.abs(weighted)),
        "correlation": correlation,
        "variance_reduction": correlation**2,
    }


def _centred(values: np.ndarray) -> np.ndarray:
    """Values minus their mean, over the largest of them: squares then stay in range."""
    centred = values - np.mean(values)
    largest = np.max(np.abs(centred))
    # What rounding leaves of equal values is no spread.
    return centred / largest if largest > 1e-14 * np.max(np.abs(values)) else 0.0 * centred


def _extreme(w: np.ndarray, losses: np.ndarray, gamma: float) -> np.ndarray:
    """Risks (n + 1,) with the first k weights multiplied and the others divided by gamma."""
    # Only the ratio of the two factors matters.
    extra = gamma**2 - 1.0
    first = np.concatenate([[0.0], np.cumsum(w)])
    first_losses = np.concatenate([[0.0], np.cumsum(w * losses)])
    return (first_losses[-1] + extra * first_losses) / (first[-1] + extra * first)


def _largest(features: list[str], differences: np.ndarray) -> str:
    if not np.any(np.isfinite(differences)):
        return "none finite"
    place = int(np.nanargmax(np.abs(differences)))
    return f"{differences[place]:+.2f} ({features[place]})"
