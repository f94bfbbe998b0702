"""Public functions: one estimate of the target risk, and all of them side by side."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from counterpoise._arrays import array_namespace
from counterpoise._dask import is_dask
from counterpoise._shown import ByName
from counterpoise._validation import check_domains, check_losses_and_weights
from counterpoise.exceptions import WeightWarning
from counterpoise.risk.averages import Method, Normalized, Source, name_methods
from counterpoise.risk.estimate import RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.held_out import Domains, HeldOut
from counterpoise.risk.labels import check_labelled_losses
from counterpoise.risk.methods import METHODS, get_method
from counterpoise.weights.resolve import resolve_weights

# A mean weight this close to 1 is fine, however many rows there are.
_CLOSE = 0.05


def target_risk(
    losses: Any,
    weights: Any,
    /,
    *,
    method: str | Method = "controlled",
    X_source: Any = None,
    X_target: Any = None,
    target_losses: Any = None,
) -> RiskEstimate:
    """Estimate the target risk from source losses and importance weights.

    Parameters
    ----------
    losses : array of shape (..., n)
        Loss of each source sample, under one model or, on leading axes, many. The models must
        not have been trained on these samples. Dask arrays are added up where they are, in one
        pass, for the methods that need sums alone.
    weights : array of shape (n,) or (..., n), str or DensityRatio
        p_target / p_source at each source sample: not negative, with expectation 1. A name or an
        estimator is fitted to `X_source` and `X_target`; it can then say the weights of target
        rows too.
    method : str or Method, default="controlled"
        "source", "weighted", "normalized", "truncated", "pareto_smoothed", "shrunk",
        "controlled", "moment_controlled" or "doubly_robust", or an object from
        :mod:`counterpoise.risk` such as ``Controlled(center="sample")`` or ``Truncated(cap=10)``.
    X_source : array of shape (n, n_features), optional
        Features of the samples. Needed by methods with controls or an outcome model.
    X_target : array of shape (m, n_features), optional
        Features of unlabelled target rows.
    target_losses : array of shape (..., k), optional
        Loss of each target row whose label is known, under the same models: combined with the
        weighted estimate, see :doc:`/guide/labels`. The rows must be drawn at random from the
        target, and the models must not have been trained on them.

    Returns
    -------
    RiskEstimate
        Value, standard error, interval and what goes with them, with the leading axes of
        `losses`.

    Notes
    -----
    Weights are expected to have mean 1. If their mean is further from 1 than its error allows,
    :class:`counterpoise.exceptions.WeightWarning` says so, unless `method` does not depend on it.

    Degenerate cases. Equal weights leave beta at 0: the controlled estimate is the weighted one.
    Samples of weight zero count in n, as they should: they say that the target is elsewhere. One
    sample gives a value but no standard error (NaN).

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(-1, 1, size=1000)  # source N(-1, 1), target N(0, 1)
    >>> weights = np.exp(x + 0.5)
    >>> risk = cp.target_risk(x**2, weights)  # in the target, E[x^2] = 1
    >>> low, high = risk.interval()
    >>> bool(low < 1 < high)
    True

    With the features of both domains, a method can use them:

    >>> X_source, X_target = x[:, None], rng.normal(size=(1000, 1))
    >>> risk = cp.target_risk(
    ...     x**2, "gaussian", method="doubly_robust", X_source=X_source, X_target=X_target
    ... )
    >>> low, high = risk.interval(drift=False)  # if labels depend on x in the same way
    >>> bool(low < 1 < high)
    True

    With 25 labels of target rows, say of the same model:

    >>> risk = cp.target_risk(x**2, weights, target_losses=X_target[:25, 0] ** 2)
    >>> risk.labels.n_labels, bool(0 < risk.labels.share < 1)
    (25, True)
    """
    chosen = get_method(method)
    if is_dask(losses, weights):
        if X_source is not None or X_target is not None or target_losses is not None:
            raise ValueError(
                "`X_source` and `X_target` must be None for Dask losses and weights, and so must "
                "`target_losses`: methods from sums do not use them. Leave them out, or bring "
                "everything into memory."
            )
        from counterpoise.risk.dask import target_risk_dask

        return target_risk_dask(losses, weights, chosen)
    held_out = _check_inputs(losses, weights, X_source, X_target)
    warn_of_mean(held_out.weights, [chosen])
    if target_losses is not None:
        labelled = check_labelled_losses(target_losses, held_out.losses)
        held_out = replace(held_out, labelled=labelled)
    return estimate_risk(held_out, chosen)[0]


def warn_of_mean(weights: Any, methods: Sequence[Method]) -> None:
    """Warn if the mean weight is further from 1 than four standard errors and a twentieth.

    A factor of the weights does no harm to a self-normalised mean, nor to one without weights.
    """
    if all(isinstance(method, Normalized | Source) for method in methods):
        return
    xp, n = array_namespace(weights), weights.shape[-1]
    mean = xp.mean(weights, axis=-1)
    if bool(xp.all(xp.abs(mean - 1) <= _CLOSE)):
        return
    error = xp.std(weights, axis=-1) / math.sqrt(max(n - 1, 1))
    off = xp.abs(mean - 1) - xp.clip(4 * error, _CLOSE, None)
    if bool(xp.any(off > 0)):
        shown = float(xp.reshape(mean, (-1,))[int(xp.argmax(xp.reshape(off, (-1,))))])
        warnings.warn(
            f"`weights` have mean {shown:.3g} where 1 is expected of a density ratio: the risk is "
            "wrong by a factor of about that. Pass weights / weights.mean(), or fit them again.",
            WeightWarning,
            stacklevel=3,
        )


def _check_inputs(losses: Any, weights: Any, X_source: Any, X_target: Any) -> HeldOut:
    """Return losses and weights as one fold, with the features of both domains."""
    if (X_source is None) != (X_target is None):
        given, missing = ("X_target", "X_source") if X_source is None else ("X_source", "X_target")
        raise ValueError(
            f"`{missing}` must be passed with `{given}`; got None. Controls compare the features "
            "of both domains: pass both, or neither."
        )
    if X_source is not None:
        _, X_source, X_target = check_domains(X_source, X_target)
    estimator = None
    if isinstance(weights, str) or hasattr(weights, "fit"):
        if X_source is None:
            raise ValueError(
                f"`X_source` and `X_target` are needed to estimate the weights {weights!r}. "
                "Pass both, or the weights as an array."
            )
        weights, estimator = resolve_weights(weights, X_source, X_target)
    _, losses, weights = check_losses_and_weights(losses, weights)
    if X_source is None:
        return HeldOut.of_sample(losses, weights)
    n = losses.shape[-1]
    if X_source.shape[0] != n:
        raise ValueError(
            f"`X_source` has {X_source.shape[0]} rows, `losses` has {n} samples. Pass the rows "
            "that the losses belong to, in the same order."
        )
    domains = Domains.of_rows(losses, X_source, X_target, estimator)
    return HeldOut.of_sample(losses, weights, domains=domains)


@dataclass(frozen=True)
class RiskComparison(ByName[RiskEstimate]):
    """Risk estimates by method name; printing it gives a table.

    Attributes
    ----------
    estimates : dict of str to RiskEstimate
    """

    estimates: dict[str, RiskEstimate]


def compare_risks(
    losses: Any,
    weights: Any,
    /,
    *,
    methods: Iterable[str | Method] | None = None,
    X_source: Any = None,
    X_target: Any = None,
) -> RiskComparison:
    """Estimate the target risk by several methods, in one table.

    Parameters
    ----------
    losses, weights, X_source, X_target
        As in :func:`target_risk`.
    methods : iterable of str or Method, optional
        Default: every method that has a name; without features, every one that needs none.

    Returns
    -------
    RiskComparison
        A mapping from method name to RiskEstimate. Two objects of one class get the names
        "controlled", "controlled (2)" and so on.

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(-1, 1, size=1000)  # source N(-1, 1), target N(0, 1)
    >>> print(cp.compare_risks(x**2, np.exp(x + 0.5)))  # in the target, E[x^2] = 1
    Target risk by method
    <BLANKLINE>
    method            risk   95% interval  without drift  effective rows
    source            2.05   1.51 to 2.78   1.90 to 2.22           1,000
    weighted         0.847  0.567 to 1.26  0.645 to 1.11             412
    normalized       0.915  0.634 to 1.32  0.735 to 1.14             412
    truncated        0.847  0.567 to 1.26  0.645 to 1.11             412
    pareto_smoothed  0.923  0.641 to 1.33  0.745 to 1.14             403
    shrunk           0.851  0.571 to 1.27  0.649 to 1.11             414
    controlled       0.951  0.583 to 1.55  0.643 to 1.41             412
    Without drift: if labels depend on the columns in the same way in source and
    target.
    <BLANKLINE>
    """
    held_out = _check_inputs(losses, weights, X_source, X_target)
    if methods is None:
        known = held_out.domains is not None
        chosen = [method for method in METHODS.values() if known or not method.needs_features]
    else:
        chosen = [get_method(method) for method in methods]
    warn_of_mean(held_out.weights, chosen)
    estimates = [estimate_risk(held_out, method)[0] for method in chosen]
    return RiskComparison(dict(zip(name_methods(chosen), estimates, strict=True)))
