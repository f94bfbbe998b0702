"""The one record of a job: what was asked, what was found, and what to do next.

Names of files, columns and categories come from the data and are not escaped here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise._format import candidate_names, format_count
from counterpoise._shown import Shown
from counterpoise.diagnostics import Diagnostics
from counterpoise.jobs.kept import Kept, row_record
from counterpoise.risk import Baseline, GroupRisks, MetricReport, RiskEstimate, Sensitivity
from counterpoise.risk.rows import RowIntervals, RowRecord


@dataclass(frozen=True)
class Sample:
    """One of the two tables: its name, rows used, columns, and its file (empty for a frame)."""

    name: str
    rows: int
    columns: int
    path: str = ""


@dataclass(frozen=True, eq=False)
class Tables:
    """The two tables as they were read.

    Attributes
    ----------
    source, target : Sample
    kinds : dict
        Column used to its kind ("number", "category", "boolean", "date").
    label : str
        Name of the label column; empty where there is none.
    rows : int array of shape (n_source,)
        Row of the source table that each row was, from 0.
    notes : list of str
        What was dropped, changed or assumed, in plain sentences.
    """

    source: Sample
    target: Sample
    kinds: Mapping[str, str]
    label: str
    rows: np.ndarray = field(repr=False)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Provenance:
    """How an answer was made.

    The command or call that makes it again, every option with its value, the version of each
    package, the seed, the wall time, and when it started (ISO 8601, UTC).
    """

    command: str
    arguments: Mapping[str, Any]
    versions: Mapping[str, str]
    seed: int
    seconds: float
    started: str


@dataclass(frozen=True, eq=False, repr=False)
class Plane:
    """Some rows of both tables in one plane: (n, 2) with weights (n,), (m, 2); names of axes."""

    source: np.ndarray
    weights: np.ndarray
    target: np.ndarray
    axis_labels: tuple[str, str]


@dataclass(frozen=True, eq=False)
class TrueValues:
    """What the delivered model cost on labelled target rows that no estimate has used.

    `risk` is NaN and a metric is left out where it cannot be known; `note` says where the labels
    come from.
    """

    risk: float
    metrics: Mapping[str, float]
    note: str


@dataclass(frozen=True, eq=False)
class Estimates:
    """What the delivered model will cost in the target.

    Attributes
    ----------
    loss, loss_words, method : str
        Name of the loss, what its mean is called, and the risk method.
    risk : RiskEstimate
        Of what is delivered, target labels included.
    metrics : MetricReport
    baseline : Baseline
        The model beside the best constant prediction.
    plain : RiskEstimate
        What cross-validation without weights says of the same model; it knows no drift.
    sensitivity : Sensitivity
        The range of the risk if weights are wrong.
    by : str
        Column whose groups are reported; empty for none.
    groups : GroupRisks or None
    truth : TrueValues or None
    more_labels : dict
        Number of further labels of random target rows to the risk with its narrower interval.
    """

    loss: str
    loss_words: str
    method: str
    risk: RiskEstimate
    metrics: MetricReport
    baseline: Baseline
    plain: RiskEstimate
    sensitivity: Sensitivity
    by: str = ""
    groups: GroupRisks | None = None
    truth: TrueValues | None = None
    more_labels: Mapping[int, RiskEstimate] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Choice:
    """What was searched, and what is delivered.

    Attributes
    ----------
    task : {"classification", "regression"}
    selection : {"source", "target"}
        Whether the least held-out loss or the least target risk decides.
    models : list of str
        Name of each candidate's model family.
    parameters : list of dict
        Hyper-parameter to value, one dict per candidate.
    risks : RiskEstimate
        Of all candidates.
    source_risks : array of shape (n_candidates,)
        Mean held-out loss without weights.
    chosen : int
        The best single candidate.
    shares : array of shape (n_candidates,)
        Weight of each candidate in what is delivered: 1 for the choice, or those of a blend.
    label_words : str
        What labels of target rows did for the model; empty without.
    """

    task: str
    selection: str
    models: Sequence[str]
    parameters: Sequence[Mapping[str, Any]]
    risks: RiskEstimate
    source_risks: np.ndarray
    chosen: int
    shares: np.ndarray
    label_words: str = ""

    @property
    def names(self) -> list[str]:
        """Names of the candidates, by what differs between them."""
        return candidate_names(self.parameters, models=self.models)

    @property
    def members(self) -> list[int]:
        """Places of what is delivered among the candidates, largest weight first."""
        return [int(i) for i in np.argsort(-self.shares, kind="stable") if self.shares[i] > 0]

    @property
    def delivered(self) -> str:
        """What is delivered: a candidate by its name, or a blend with the number of its members."""
        if len(self.members) == 1:
            return self.names[self.members[0]]
        return f"blend of {format_count(len(self.members), 'model')}"


@dataclass(frozen=True, eq=False, repr=False)
class Answer(RowIntervals, Shown):
    """The answer of :func:`counterpoise.audit`, `evaluate` or `select`.

    Printing it gives what the command prints; a notebook shows a card.

    Attributes
    ----------
    tables : Tables
        What was asked about.
    diagnostics : Diagnostics
        The verdict with its reasons, the shift, and every number behind them.
    weights_name : str
        Name of the weight estimator.
    plane : Plane
        Some rows of both tables, for a picture.
    made : Provenance
    warnings : list of str
        What would change a decision: no better than one answer for all rows, unknown classes.
    estimates : Estimates or None
        None for an audit, as the following.
    choice : Choice or None
    model : estimator or None
        The delivered model, fitted: takes data frames with the columns of the tables.
    predictions : dict or None
        Column of `predictions.csv` to its values, one per target row; None without target rows.
    kept : Kept or None
        Held-out predictions on the source rows: what judges new rows.
    """

    tables: Tables
    diagnostics: Diagnostics
    weights_name: str
    plane: Plane
    made: Provenance
    warnings: Sequence[str] = ()
    estimates: Estimates | None = None
    choice: Choice | None = None
    model: Any = None
    predictions: Mapping[str, np.ndarray] | None = None
    kept: Kept | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        delivered = "" if self.choice is None else f", delivered: {self.choice.delivered}"
        return f"Answer({self.verdict}{delivered})"

    @property
    def verdict(self) -> str:
        """How far to believe it: "confirmed", "plausible", "caution" or "do not trust"."""
        return self.diagnostics.verdict

    @property
    def risk(self) -> RiskEstimate | None:
        """Target risk of the delivered model; None for an audit."""
        return None if self.estimates is None else self.estimates.risk

    @property
    def metrics(self) -> MetricReport | None:
        """Metrics of the delivered model in the target; None for an audit."""
        return None if self.estimates is None else self.estimates.metrics

    @property
    def next(self) -> Sequence[str]:
        """What to do next."""
        return self.diagnostics.advice

    @property
    def balance(self) -> list[tuple[str, str, float, float]]:
        """Per column, the feature whose mean differs most, and its difference before and after.

        In standard deviations, target minus source; the largest before weighting first.
        """
        found = self.diagnostics
        size = np.where(np.isnan(found.balance_before), -1.0, np.abs(found.balance_before))
        owners = np.asarray(found.feature_columns, dtype=object)
        rows = []
        for column in self.tables.kinds:
            features = np.flatnonzero(owners == column)
            j = int(features[np.argmax(size[features])])
            ends = float(found.balance_before[j]), float(found.balance_after[j])
            rows.append((column, found.features[j], *ends))
        return sorted(rows, key=lambda row: -np.nan_to_num(abs(row[2])))

    def _row_record(self) -> RowRecord:
        return row_record(self.model, self.kept)

    def save(
        self, folder: str | os.PathLike[str], /, *, force: bool = False, watch: bool = True
    ) -> None:
        """Write the answer: page, model, tables and ``run.json``, all of it or nothing.

        Parameters
        ----------
        folder : path
            Made if it does not exist. :func:`counterpoise.load` reads the model from there.
        force : bool, default=False
            Write into a folder that is not empty. Files of a former answer are replaced, others
            stay; a file that this answer was made from is never replaced.
        watch : bool, default=True
            Keep the source rows, with what judges new rows: row intervals and watching need it.
        """
        from counterpoise.jobs.directory import output_directory, write_or_keep
        from counterpoise.jobs.saving import write_answer

        place = Path(folder)
        read = self.tables.source.path, self.tables.target.path, self.made.arguments.get("margins")
        with output_directory(place, force=force, inputs=list(filter(None, read))) as directory:
            write_or_keep(directory, place, lambda where: write_answer(self, where, watch=watch))
