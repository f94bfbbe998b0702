"""Built-in problems with a known truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise._validation import InputError, check_choice
from counterpoise.datasets import gaussian_2d
from counterpoise.jobs.loading import Data, Truth, load
from counterpoise.jobs.records import TableShape
from counterpoise.jobs.request import Request

__all__ = ["EXAMPLES", "load_data", "load_example"]

# Name on the command line -> protocol of datasets.gaussian_2d.
EXAMPLES = {"gaussian-2d": "paper", "gaussian-2d-released": "released"}
# Labelled target rows drawn for the truth.
_TRUTH_ROWS = 100_000


def load_data(
    source: Path | None,
    target: Path | None,
    request: Request | None = None,
    /,
    *,
    label: str | None = None,
    drop: Sequence[str] | None = None,
    missing: Sequence[str] | None = None,
    labelled: bool = False,
    target_labels: str | None = None,
    suggested: Path | None = None,
    example: str | None = None,
    **drawn: Any,
) -> Data:
    """Read two files, or draw the example where one is named.

    Raises
    ------
    InputError
        Unless it is either two files (with a label where one is needed) or an example.
    """
    if example is not None:
        if source is not None or label is not None or drop or missing:
            raise InputError(
                "`--example` brings its own data: leave out files, --label, --drop and --missing."
            )
        if target_labels is not None or suggested is not None:
            raise InputError(
                "`--example` has no labels in its target: leave out --target-labels, --suggest "
                "and --suggested."
            )
        return load_example(example, seed=(request or Request()).seed, **drawn)
    if source is None or target is None:
        raise InputError("Pass two files, SOURCE and TARGET, or --example NAME.")
    if labelled and label is None:
        raise InputError("`--label` is missing. Pass the column that is to be predicted.")
    read: Any = {"label": label, "labelled": labelled, "drop": drop or (), "missing": missing or ()}
    read |= {"target_labels": target_labels, "suggested": suggested}
    return load(source, target, request, **read)


def load_example(
    name: str, /, *, gamma: float = 0.7, n_source: int = 500, n_target: int = 2000, seed: int = 0
) -> Data:
    """Draw a problem whose target labels are known, because it is simulated.

    Parameters
    ----------
    name : str
        "gaussian-2d" or "gaussian-2d-released" (:func:`counterpoise.datasets.gaussian_2d`).
    gamma : float, default=0.7
        Variance of the source; 1 in the target.
    n_source, n_target : int
        Rows to draw.
    seed : int, default=0

    Returns
    -------
    Data
        With 100 000 more labelled target rows for the truth.
    """
    import pandas as pd

    from counterpoise.encoding.pairing import TablePair

    protocol = EXAMPLES[check_choice(name, "--example", EXAMPLES)]
    problem = gaussian_2d(gamma, protocol=protocol)
    data = problem.sample(n_source, n_target, random_state=seed)
    more = problem.sample(1, _TRUTH_ROWS, random_state=np.random.default_rng([seed, 1]))
    columns = ["x1", "x2"]
    source, target, rows = (
        pd.DataFrame(X, columns=columns) for X in (data.X_source, data.X_target, more.X_target)
    )
    kinds = dict.fromkeys(columns, "number")
    pair = TablePair(source, target, kinds, np.arange(n_source), data.y_source, None, [])
    words = (
        "The problem is simulated, so the truth is known: the mean loss over "
        f"{_TRUTH_ROWS} more target rows with their labels, used for nothing else."
    )
    return Data(
        pair,
        TableShape(f"{name} source", n_source, 3),
        TableShape(f"{name} target", n_target, 2),
        "y",
        Truth(rows, more.y_target, words),
    )
