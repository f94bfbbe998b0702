"""Cross-validation splits: from whatever `cv=` may be to checked index arrays."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _num_samples

__all__ = ["Splits", "is_partition", "resolve_splits"]

Splits = Sequence[tuple[np.ndarray, np.ndarray]]


def resolve_splits(cv: Any, X: Any, y: Any, /, *, classifier: bool, groups: Any = None) -> Splits:
    """Return the (train, test) index arrays that `cv` makes of the rows."""
    n = _num_samples(X)
    if isinstance(cv, Integral) and not 2 <= int(cv) <= n:
        raise ValueError(
            f"`cv` must be from 2 to the number of rows; got {cv} folds for n_samples={n}. "
            "Use fewer folds or more rows."
        )
    splitter = check_cv(cv, y, classifier=classifier)
    pairs = splitter.split(X, y, groups)
    splits = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    if not splits or any(len(part) == 0 for split in splits for part in split):
        raise ValueError(
            f"`cv` must give at least one split, with rows on both sides; got {cv!r}. "
            "Pass an int, a scikit-learn splitter or pairs of index arrays."
        )
    return splits


def is_partition(splits: Splits, /) -> bool:
    """Tell whether each row is held out once, and trained on in all other splits."""
    n = sum(len(test) for _, test in splits)
    seen = np.zeros(n, dtype=bool)
    for train, test in splits:
        if len(train) + len(test) != n or max(np.max(train), np.max(test)) >= n:
            return False
        inside = np.zeros(n, dtype=bool)
        inside[train] = True
        if np.any(inside[test]) or np.count_nonzero(inside) != len(train):
            return False
        seen[test] = True
    return bool(np.all(seen))
