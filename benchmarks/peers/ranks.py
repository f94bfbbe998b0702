"""Mean ranks, critical differences and paired tests over problems.

A problem is one block: its draws and sizes are averaged first, so that blocks are independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats


@dataclass(frozen=True, eq=False)
class Ranks:
    """Comparison of k methods on N problems, ordered by mean rank.

    Attributes
    ----------
    table : data frame
        method, rank, ratio (geometric mean of error over that of `reference`), p (Wilcoxon's
        signed ranks against `ours`, Holm's correction; NaN for `ours`), better, worse (problems
        on which `ours` has the smaller or larger error).
    difference : float
        Nemenyi's critical difference of mean ranks at 5 %.
    friedman : float
        p-value of Friedman's test that all methods are equal.
    """

    table: pd.DataFrame
    difference: float
    friedman: float
    problems: int


def compare(errors: pd.DataFrame, ours: str, reference: str) -> Ranks:
    """Compare the columns of a table of positive errors with one row per problem."""
    problems, methods = errors.shape
    ranks = stats.rankdata(errors.to_numpy(), axis=1).mean(axis=0)
    others = [name for name in errors if name != ours]
    raw = [signed_ranks(errors[ours], errors[name]) for name in others]
    p = dict(zip(others, holm(np.array(raw)), strict=True))
    rows = [
        {
            "method": name,
            "rank": rank,
            "ratio": np.exp(np.mean(np.log(errors[name] / errors[reference]))),
            "p": p.get(name, np.nan),
            "better": int((errors[ours] < errors[name]).sum()),
            "worse": int((errors[ours] > errors[name]).sum()),
        }
        for name, rank in zip(errors, ranks, strict=True)
    ]
    table = pd.DataFrame(rows).sort_values("rank", kind="stable").reset_index(drop=True)
    friedman = stats.friedmanchisquare(*errors.to_numpy().T).pvalue
    return Ranks(table, nemenyi(methods, problems), float(friedman), problems)


def nemenyi(methods: int, problems: int, level: float = 0.05) -> float:
    """Return the difference of mean ranks that is significant (Demsar 2006, JMLR 7, 3.2)."""
    quantile = stats.studentized_range.ppf(1 - level, methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(methods * (methods + 1) / (6 * problems)))


def signed_ranks(one: pd.Series, two: pd.Series) -> float:
    """Return the p-value of Wilcoxon's test on log ratios, 1 if all are equal."""
    logs = np.log(one / two).to_numpy()
    return float(stats.wilcoxon(logs).pvalue) if np.any(logs) else 1.0


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values with Holm's correction."""
    order = np.argsort(p)
    scaled = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(scaled, 1.0)
    return found
