"""Data in the stacked form that domain-adaptation toolboxes use."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise._sklearn import num_samples, safe_indexing


def from_domains(X: Any, y: Any, sample_domain: Any, /) -> tuple[Any, Any, Any]:
    """Split stacked data into labelled source rows and unlabelled target rows.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, n_features)
        Rows of all domains.
    y : array of shape (n,)
        Labels; those of target rows are not used, whatever they are.
    sample_domain : array of numbers, shape (n,)
        Positive for source domains; negative (skada's convention) or 0 for target domains.

    Returns
    -------
    X_source, y_source, X_target

    Examples
    --------
    >>> import counterpoise as cp
    >>> X, y, sample_domain = [[1.0], [2.0], [3.0]], [0, 1, -1], [1, 1, -2]
    >>> cp.from_domains(X, y, sample_domain)
    ([[1.0], [2.0]], [0, 1], [[3.0]])
    """
    domain = np.asarray(sample_domain)
    n = num_samples(X)
    numbers = domain.shape == (n,) and domain.dtype.kind in "biuf"
    if not numbers or not np.all(np.isfinite(domain)):
        raise ValueError(
            "`sample_domain` must hold one number per row, positive for source and negative or 0 "
            f"for target; got shape {domain.shape} and dtype {domain.dtype} for {n} rows. Pass for "
            "example 1 for source rows and -2 for target rows."
        )
    source, target = np.flatnonzero(domain > 0), np.flatnonzero(domain <= 0)
    if not len(source) or not len(target):
        raise ValueError(
            f"`sample_domain` must name both domains; got {len(source)} source rows and "
            f"{len(target)} target rows. Mark source rows with 1 and target rows with -2."
        )
    return safe_indexing(X, source), safe_indexing(y, source), safe_indexing(X, target)
