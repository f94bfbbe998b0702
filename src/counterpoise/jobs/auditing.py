"""Whether there is a shift, how large, in which columns, and whether weights can repair it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from counterpoise.diagnostics import Diagnostics, diagnose
from counterpoise.diagnostics.projection import project
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.answer import Answer, Plane, Tables
from counterpoise.jobs.design import used_weights, weights_name, with_unknown
from counterpoise.jobs.loading import READING, Data, load_data, load_example
from counterpoise.jobs.request import Progress, Request, quiet
from counterpoise.weights.names import NAMES
from counterpoise.weights.resolve import DEFAULT_WEIGHTS

# Rows of each sample in the map.
_MAP_ROWS = 1000


def weights_names() -> tuple[str, ...]:
    """Return the names that `weights` takes."""
    return DEFAULT_WEIGHTS, *NAMES, "none"


def audit(
    source: Any = None,
    target: Any = None,
    label: str | None = None,
    *,
    drop: Sequence[str] = (),
    missing: Sequence[str] = (),
    encoding: str | None = None,
    weights: str = DEFAULT_WEIGHTS,
    source_weight: str | None = None,
    target_weight: str | None = None,
    example: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Answer:
    """Say whether there is a shift, in which columns, and whether weights can repair it.

    Parameters
    ----------
    source, target : path or data frame
        Files (CSV, TSV, Excel, Parquet) or pandas or polars data frames.
    label : str, optional
        Column of the label, which is left out.
    drop, missing, encoding, weights, source_weight, target_weight, progress
        As in :func:`counterpoise.select`.
    example : str, optional
        Name of a built-in problem, in place of two tables.
    seed : int, default=0
        Random seed of an example.

    Returns
    -------
    Answer
        Without estimates and a model.

    Examples
    --------
    >>> import counterpoise as cp
    >>> answer = cp.audit(example="gaussian-2d")
    >>> answer.verdict
    'caution'
    """
    request = Request(dict(locals()), seed, progress=progress or quiet, job="audit")
    request.check(weights=weights_names())
    if example is not None:
        data = load_example(example, seed=seed)
    else:
        data = load_data(source, target, request.progress, **request.some(READING))
    notes = list(data.pair.notes)
    request.progress("diagnosing", 0, 0)
    with noted(notes):
        used = used_weights(data, weights)
        diagnostics = diagnose(data.pair.source, data.pair.target, weights=used)
    return make_answer(data, request, diagnostics, notes)


def make_answer(
    data: Data, request: Request, diagnostics: Diagnostics, notes: Sequence[str], /, **found: Any
) -> Answer:
    """Put an answer together; `found` are its fields from `warnings` on."""
    pair, rng = data.pair, np.random.default_rng(0)
    rows, others = (some_rows(len(frame), _MAP_ROWS, rng) for frame in (pair.source, pair.target))
    points, crosses, axes = project(pair.source.iloc[rows], pair.target.iloc[others])
    return Answer(
        Tables(data.source, data.target, pair.kinds, data.label, pair.rows, notes),
        with_unknown(diagnostics, data.unknown),
        weights_name(data, request["weights"]),
        Plane(points, np.asarray(diagnostics.weights)[rows], crosses, axes),
        request.provenance(),
        **found,
    )


@contextmanager
def noted(notes: list[str], /) -> Iterator[None]:
    """Turn warnings into notes, one per text; overlap is for the verdict."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    new = [str(warning.message).strip().partition("\n")[0] for warning in caught]
    notes += [t for t in dict.fromkeys(new) if t and t not in notes and "hardly overlap" not in t]
