"""Labels of some target rows: which rows they are of, checked against the source's labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._sklearn import num_samples, safe_indexing
from counterpoise._validation import InputError, is_missing
from counterpoise.losses import Loss

# Labelled rows that a variance needs.
_LEAST = 2


@dataclass(frozen=True, eq=False)
class TargetLabels:
    """The target rows whose labels are known: a random sample of the target.

    Attributes
    ----------
    rows : int array of shape (k,)
        Their places among the target rows.
    y : array of shape (k,)
        Their labels.
    """

    rows: np.ndarray
    y: np.ndarray

    @classmethod
    def of_column(cls, y_target: Any, /) -> TargetLabels:
        """Read a label per target row (n_target,), missing where unknown.

        Unknown are masked entries, NaN, None and pandas' NA. Nothing else is: mask a code such as
        -1 or an empty text.

        Examples
        --------
        >>> import numpy as np
        >>> from counterpoise.search import TargetLabels
        >>> TargetLabels.of_column([np.nan, 2.0, np.nan, 3.5]).rows
        array([1, 3])
        >>> TargetLabels.of_column(np.array([None, "yes", "no"], dtype=object)).y
        array(['yes', 'no'], dtype='<U3')
        """
        rows = np.flatnonzero(~missing_labels(y_target))
        return cls(rows, np.array(np.ma.getdata(np.asanyarray(y_target)).ravel()[rows].tolist()))

    def take(self, X_target: Any, which: Any, /) -> tuple[Any, np.ndarray]:
        """Return features and labels of some of these rows."""
        return safe_indexing(X_target, self.rows[which]), self.y[which]


def missing_labels(labels: Any, name: str = "y_target", /) -> np.ndarray:
    """Tell which labels (n,) are unknown: masked, NaN, None or pandas' NA."""
    values = np.asanyarray(labels)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"`{name}` must have one label per row; got an array of shape {values.shape}."
        )
    unknown = np.ma.getmaskarray(values).copy()
    plain = np.ma.getdata(values)
    if plain.dtype.kind == "f":
        unknown |= np.isnan(plain)
    if plain.dtype.kind == "O":
        unknown |= np.array([is_missing(label) for label in plain.tolist()], dtype=bool)
    return unknown


def resolve_target_labels(
    y_target: Any, X_target: Any, y: np.ndarray, loss: Loss, /, *, classifier: bool
) -> TargetLabels | None:
    """Check labels of target rows against the target's rows and the source's labels `y`.

    Labels of classes are given the source's type. Every model is wrong about a class that the
    source does not have: a loss of predicted labels counts an error, any other loss is refused.
    """
    if y_target is None:
        return None
    if X_target is None:
        raise ValueError("`y_target` holds labels of target rows, but `X_target` is missing.")
    m, labels = num_samples(X_target), y_target
    if not isinstance(labels, TargetLabels):
        if np.ndim(y_target) and len(y_target) != m:
            raise ValueError(
                f"`y_target` has {len(y_target)} labels, but `X_target` has {m} rows. Pass one "
                "label per target row, missing (NaN, None or masked) where unknown."
            )
        labels = TargetLabels.of_column(y_target)
    if len(labels.rows) < _LEAST:
        raise ValueError(
            f"`y_target` must hold at least {_LEAST} labels; {len(labels.rows)} of its {m} values "
            "are known. Label more rows, or leave it out."
        )
    own = _classes(labels.y, y, loss) if classifier else _numbers(labels.y)
    return TargetLabels(np.asarray(labels.rows), own)


def _classes(labels: np.ndarray, y: np.ndarray, loss: Loss) -> np.ndarray:
    """Return labels in the type of the source's; missing values turn integers into floats."""
    classes = np.unique(y)
    if {labels.dtype.kind, classes.dtype.kind} <= set("fiub"):
        with np.errstate(invalid="ignore"):
            same_type = labels.astype(classes.dtype)
        labels = same_type if np.array_equal(same_type, labels) else labels
    unknown = np.unique(labels[~np.isin(labels, classes)])
    if len(unknown) and loss.response != "predict":
        raise InputError(
            f"`y_target` holds {unknown[0]!s}, which is not among the classes of the source "
            f"({', '.join(str(c) for c in classes[:8])}). Every model is wrong there, but "
            f"loss {loss.name!r} cannot say by how much. Pass loss='zero_one', which counts it as "
            "an error."
        )
    return labels


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
