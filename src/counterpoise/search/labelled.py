"""Labels of some target rows: which rows, how they were drawn, and their labels checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._sklearn import num_samples
from counterpoise._validation import InputError
from counterpoise.losses import Loss

__all__ = ["TargetLabels", "is_missing", "join_strata", "resolve_target_labels"]

# Labelled rows that a stratum needs for a variance.
_LEAST = 2


@dataclass(frozen=True, eq=False)
class TargetLabels:
    """The target rows whose labels are known.

    Attributes
    ----------
    rows : int array of shape (k,)
        Their places among the target rows.
    y : array of shape (k,)
        Their labels.
    strata : int array of shape (k,) or None
        Stratum of each of these rows, from 0; None if they are a random sample of the target.
    shares : array of shape (n_strata,) or None
        Share of the target's rows in each stratum.
    """

    rows: np.ndarray
    y: np.ndarray
    strata: np.ndarray | None = None
    shares: np.ndarray | None = None

    @classmethod
    def of_column(cls, y_target: Any, /, *, strata: Any = None) -> TargetLabels:
        """Read a label per target row, missing where unknown.

        Parameters
        ----------
        y_target : array of shape (n_target,)
            Unknown are masked entries, NaN, None and pandas' NA. Nothing else is: mask a code such
            as -1 or an empty text.
        strata : array of shape (n_target,), optional
            A stratum for every target row, labelled or not, if rows to label were drawn at random
            within strata and not from all rows. Strata with fewer than two labels are joined with
            the next one in sorted order.

        Examples
        --------
        >>> import numpy as np
        >>> from counterpoise.search import TargetLabels
        >>> TargetLabels.of_column([np.nan, 2.0, np.nan, 3.5]).rows
        array([1, 3])
        >>> TargetLabels.of_column(np.array([None, "yes", "no"], dtype=object)).y
        array(['yes', 'no'], dtype='<U3')
        """
        missing = is_missing(y_target)
        rows = np.flatnonzero(~missing)
        y = np.array(np.ma.getdata(np.asanyarray(y_target))[rows].tolist())
        if strata is None:
            return cls(rows, y)
        every = np.asarray(strata)
        if every.shape != missing.shape:
            raise ValueError(
                f"`strata` must hold one stratum for each of the {len(missing)} target rows, "
                f"labelled or not; got shape {every.shape}."
            )
        _, codes = np.unique(every, return_inverse=True)
        own, shares = join_strata(codes[rows], np.bincount(codes) / len(codes))
        return cls(rows, y, own, shares)


def is_missing(y_target: Any, /) -> np.ndarray:
    """Tell which labels are unknown: masked, NaN, None or pandas' NA."""
    values = np.asanyarray(y_target)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"`y_target` must hold one label per target row, missing where unknown; got shape "
            f"{values.shape}."
        )
    mask = np.ma.getmaskarray(values).copy()
    plain = np.ma.getdata(values)
    if plain.dtype.kind == "f":
        return mask | np.isnan(plain)
    if plain.dtype.kind == "O":
        mask |= np.array([_is_unknown(label) for label in plain.tolist()], dtype=bool)
    return mask


def _is_unknown(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA cannot be compared
        return True


def join_strata(strata: np.ndarray, shares: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]:
    """Join strata with fewer than two labelled rows with the next ones; the last with the former.

    Parameters
    ----------
    strata : int array of shape (k,)
        Of the labelled rows.
    shares : array of shape (n_strata,)

    Returns
    -------
    strata, shares : arrays
        Of the strata that are left, numbered from 0.
    """
    counts = np.bincount(strata, minlength=len(shares))
    places, joined, filled = np.empty(len(shares), dtype=np.int64), [0.0], 0
    for h, count in enumerate(counts):
        if filled >= _LEAST:
            joined.append(0.0)
            filled = 0
        places[h] = len(joined) - 1
        joined[-1] += shares[h]
        filled += count
    if filled < _LEAST and len(joined) > 1:
        places[places == len(joined) - 1] -= 1
        rest = joined.pop()
        joined[-1] += rest
    return places[strata], np.asarray(joined)


def resolve_target_labels(
    y_target: Any, X_target: Any, y: np.ndarray, loss: Loss, /, *, classifier: bool
) -> TargetLabels | None:
    """Check labels of target rows against the target's rows and the source's labels.

    Labels of classes are given the source's type. A class that the source does not have is an
    error of every model: a loss of predicted labels counts it as one, any other loss is refused.
    """
    if y_target is None:
        return None
    if X_target is None:
        raise ValueError("`y_target` holds labels of target rows, but `X_target` is missing.")
    m, given = num_samples(X_target), y_target
    if not isinstance(given, TargetLabels):
        if np.ndim(y_target) and len(y_target) != m:
            raise ValueError(
                f"`y_target` has {len(y_target)} labels, but `X_target` has {m} rows. Pass one "
                "label per target row, missing (NaN, None or masked) where unknown."
            )
        given = TargetLabels.of_column(y_target)
    if len(given.rows) < _LEAST:
        raise ValueError(
            f"`y_target` must hold at least {_LEAST} labels; {len(given.rows)} of its {m} values "
            "are known. Label more rows, or leave it out."
        )
    labels = given.y
    if not classifier:
        return _replace(given, _numbers(labels))
    classes = np.unique(y)
    if labels.dtype.kind != classes.dtype.kind and labels.dtype.kind in "fiub":
        # Missing values turn integers into floats.
        same = classes.astype(labels.dtype) if classes.dtype.kind in "fiub" else classes
        found = np.searchsorted(same, labels) if same.dtype == labels.dtype else None
        if found is not None and np.array_equal(same[np.minimum(found, len(same) - 1)], labels):
            labels = classes[found]
    unknown = np.unique(labels[~np.isin(labels, classes)])
    if len(unknown) and loss.response != "predict":
        raise InputError(
            f"`y_target` holds {unknown[0]!s}, which is not among the classes of the source "
            f"({', '.join(str(c) for c in classes[:8])}). Every model is wrong there, but "
            f"loss {loss.name!r} cannot say by how much. Pass loss='zero_one', which counts it as "
            "an error."
        )
    return _replace(given, labels)


def _numbers(labels: np.ndarray) -> np.ndarray:
    try:
        numbers = labels.astype(np.float64)
    except ValueError as error:
        raise InputError(
            f"`y_target` must hold numbers for a regression; got {labels[0]!r}."
        ) from error
    if not np.all(np.isfinite(numbers)):
        raise InputError("`y_target` must not hold infinity. Correct or remove those labels.")
    return numbers


def _replace(given: TargetLabels, y: np.ndarray) -> TargetLabels:
    return TargetLabels(np.asarray(given.rows), y, given.strata, given.shares)
