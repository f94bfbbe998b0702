"""Results of jobs: everything that a page or a terminal shows, as strings, numbers and arrays.

Names of files, columns and categories come from the data and are not escaped here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise._facts import blend_name
from counterpoise._format import candidate_names
from counterpoise.diagnostics import Diagnostics
from counterpoise.risk import Baseline, GroupRisks, MetricReport

__all__ = [
    "PLAIN",
    "Audit",
    "Blended",
    "Candidates",
    "ColumnBalance",
    "Curve",
    "HiddenSelection",
    "JudgedByLabels",
    "Predictions",
    "Provenance",
    "Risks",
    "Selection",
    "ShiftMap",
    "SuggestedRows",
    "TableShape",
]

#: What cross-validation without any weights is called.
PLAIN = "plain cross-validation"


@dataclass(frozen=True)
class TableShape:
    """One of the two samples: file name, rows used, and columns in the file with the label."""

    name: str
    rows: int
    columns: int


@dataclass(frozen=True)
class Provenance:
    """How a record was made.

    The command that makes it again, every option with its value, the version of each package,
    the seed, the wall time of the job, and when it started (ISO 8601, UTC).
    """

    command: str
    arguments: Mapping[str, Any]
    versions: Mapping[str, str]
    seed: int
    seconds: float
    started: str


@dataclass(frozen=True)
class ColumnBalance:
    """The feature of one column whose mean differs most: "age", "age missing", "colour=red".

    `before` and `after` are its standardised mean differences, target minus source, without and
    with weights.
    """

    column: str
    kind: str
    feature: str
    before: float
    after: float


@dataclass(frozen=True)
class ShiftMap:
    """Some rows of both samples in one plane, by `diagnostics.projection.project`.

    `source` (n, 2) with its `weights` (n,), `target` (m, 2), and the names of the two axes.
    """

    source: np.ndarray
    weights: np.ndarray
    target: np.ndarray
    axis_labels: tuple[str, str]


@dataclass(frozen=True, eq=False)
class SuggestedRows:
    """Target rows to label: the columns of `suggested_rows.csv`, and what to do with them."""

    columns: Mapping[str, Any]
    words: str


@dataclass(frozen=True, eq=False)
class Audit:
    """Whether there is a shift, how large, in which columns, and whether weights can repair it.

    Attributes
    ----------
    source, target : TableShape
    columns : dict
        Column used to its kind ("number", "category", "boolean", "date"), in the order of the
        source.
    notes : list of str
        What was dropped, changed or assumed, in plain sentences.
    diagnostics : Diagnostics
        With verdict, reasons, advice and shift.
    weights_name : str
        Name of the weight estimator.
    weights_words : str
        What it is, in a sentence; how many target rows it was fitted to.
    weights : array of shape (n_source,)
    balance : list of ColumnBalance
        One per column, largest difference before weighting first.
    shift_map : ShiftMap
    provenance : Provenance
    suggested : SuggestedRows or None
        Target rows to label, where they were asked for.
    """

    source: TableShape
    target: TableShape
    columns: Mapping[str, str]
    notes: Sequence[str]
    diagnostics: Diagnostics
    weights_name: str
    weights_words: str
    weights: np.ndarray = field(repr=False)
    balance: Sequence[ColumnBalance] = field(repr=False)
    shift_map: ShiftMap = field(repr=False)
    provenance: Provenance = field(repr=False)
    suggested: SuggestedRows | None = None

    @property
    def shift(self) -> str:
        """Size of the shift: "none", "mild" or "strong"."""
        return self.diagnostics.shift.size

    @property
    def shift_words(self) -> str:
        """The shift in sentences that name the columns."""
        return self.diagnostics.shift.words

    @property
    def shifted(self) -> Sequence[str]:
        """Columns whose means differ, largest difference first."""
        return self.diagnostics.shift.columns


@dataclass(frozen=True, eq=False)
class Risks:
    """The risk of every candidate by one method, with 95 % intervals; NaN where one failed.

    `label` is a heading, and `best` the candidate with the least value. Plain cross-validation is
    the method "source" for candidates that are trained without weights, NaN for the others.
    """

    label: str
    method: str
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    standard_error: np.ndarray
    best: int


@dataclass(frozen=True, eq=False)
class Candidates:
    """Every candidate, in the order in which they were searched.

    Attributes
    ----------
    names : list of str
        Hyper-parameters that the grids set.
    parameters : list of dict
        Hyper-parameter to value, one dict per candidate.
    models : list of str
        Name of each candidate's model family.
    fit_weighted : bool array of shape (n_candidates,)
        Whether it is trained with the weights.
    risks : list of Risks
        The method of the search first, then those it is compared with; no method twice. All are
        estimates of the same quantity: the target risk of the candidate as it would be trained.
    chosen : int
        The best single candidate.
    indistinguishable : bool array of shape (n_candidates,)
        Whether the candidate is not significantly different from the chosen one (paired, 95 %).
    variance_reduction : array of shape (n_candidates,)
        Of the first method against plain weighting.
    plausibility, expected_regret : arrays of shape (n_candidates,), or None
        What a choice by consensus rests on: how often a candidate has the least loss on resampled
        source rows, and what it is expected to lose in the target against the plausible ones.
    truth, truth_error : arrays of shape (n_candidates,), or None
        The candidate's risk on labelled target rows and its standard error, where there are labels.
    """

    names: Sequence[str]
    parameters: Sequence[Mapping[str, Any]]
    models: Sequence[str]
    fit_weighted: np.ndarray
    risks: Sequence[Risks]
    chosen: int
    indistinguishable: np.ndarray
    variance_reduction: np.ndarray
    plausibility: np.ndarray | None = None
    expected_regret: np.ndarray | None = None
    truth: np.ndarray | None = None
    truth_error: np.ndarray | None = None

    @property
    def labels(self) -> list[str]:
        """Names of the candidates, by what differs between them."""
        return candidate_names(
            self.parameters, models=self.models, weighted=self.fit_weighted.tolist()
        )

    @property
    def plain(self) -> Risks | None:
        """Plain cross-validation, where candidates were trained without weights."""
        return next((risks for risks in self.risks if risks.label == PLAIN), None)


@dataclass(frozen=True, eq=False)
class Blended:
    """The delivered model where it is a weighted mean of candidates.

    `members` are places among the candidates, largest weight first, and `weights` have sum 1.
    `words` say what is averaged: "a weighted mean of their predictions".
    """

    members: np.ndarray
    weights: np.ndarray
    words: str

    @property
    def name(self) -> str:
        """What it is called: "blend of 5 models"."""
        return blend_name(len(self.members))


@dataclass(frozen=True, eq=False)
class Curve:
    """One hyper-parameter along which the risk can be drawn, the others as they were chosen.

    `candidates` are places among the candidates by increasing value, and `log` says whether the
    values are evenly spaced in their logarithm.
    """

    name: str
    candidates: np.ndarray
    values: np.ndarray
    log: bool


@dataclass(frozen=True)
class Predictions:
    """What the delivered model predicts for the target, beside the labels of the source.

    For `kind` "classes" the share of each class; for "numbers" the quantiles "minimum", "25%",
    "median", "75%", "maximum" and the "mean". The other two dicts are empty.
    """

    rows: int
    kind: str
    classes: Mapping[str, float]
    source_classes: Mapping[str, float]
    quantiles: Mapping[str, float]
    source_quantiles: Mapping[str, float]


@dataclass(frozen=True)
class JudgedByLabels:
    """What labels of target rows said about the delivered model.

    Number of labels, mean loss of these rows and its standard error, the same of the weighted
    estimate without labels, the share of the label mean in the combination, the p-value of "labels
    given features are the same in both populations", and all of it in sentences.
    """

    count: int
    label_risk: float
    label_error: float
    weighted_risk: float
    weighted_error: float
    share: float
    p_value: float
    words: Sequence[str]


@dataclass(frozen=True, eq=False)
class HiddenSelection:
    """The range of the risk if hidden selection makes every weight wrong by a factor up to gamma.

    `gammas`, `low` and `high` have shape (k,). `baseline` is the least gamma at which a constant
    prediction could be as good (None where it cannot be judged), and `words` say it in sentences.
    """

    gammas: np.ndarray
    low: np.ndarray
    high: np.ndarray
    baseline: float | None
    words: str


@dataclass(frozen=True, eq=False)
class Selection:
    """The model delivered for the target, its risk there, and whether to trust it.

    Attributes
    ----------
    audit : Audit
        With the diagnostics of the chosen model's held-out losses; its notes are those of the
        whole job.
    task : {"classification", "regression"}
    label : str
        Name of the label column.
    label_words : str
        How the task was decided, in a sentence.
    models : list of str
        Names of the model families: "ridge", "forest".
    model_words : str
        What they are: "ridge regression", "random forest of 200 trees".
    loss : str
        Name of the loss.
    loss_words : str
        Its unit in words: "mean squared error", "share of wrong predictions".
    method : str
        Name of the risk method.
    selection : {"min", "consensus"}
        How the best single candidate was chosen: least risk, or least expected regret.
    folds : int
    candidates : Candidates
    blend : Blended or None
        None where the chosen candidate is delivered.
    chosen_words : str
        What was chosen and why, in plain sentences.
    risk, risk_low, risk_high : float
        Of what is delivered, by the method, with its 95 % interval.
    corrected_risk, corrected_low, corrected_high : float
        The same corrected for having been chosen as the least of many. A blend needs no correction.
    variance_reduction : float
        Share of the plain weighted estimate's variance that the method removed for what is
        delivered; negative where it added some.
    curve : Curve or None
        None where no numeric hyper-parameter has two values.
    predictions : Predictions
    truth : float or None
        Risk of what is delivered on labelled target rows.
    truth_error : float or None
        Its standard error.
    truth_note : str
        Where the truth comes from and that it was not used to choose; empty without truth.
    truth_warning : str
        Which classes of the target the source has never seen, and how the truth counts them.
    provenance : Provenance
    judged : JudgedByLabels or None
        Where labels of target rows were used: they are in `risk` and `corrected_risk`, not in the
        risks of `candidates`.
    metrics : MetricReport or None
        Metrics of what is delivered, in the target; the first two are the headline.
    true_metrics : dict
        The same on labelled target rows, as far as they are known.
    baseline : Baseline or None
        The delivered model beside the best constant prediction.
    warnings : list of str
        What a reader must know first: no better than guessing, one class for all rows.
    by : str
        Column whose groups are reported; empty for none.
    groups : GroupRisks or None
    group_words : str
        What the risk by group is called.
    hidden : HiddenSelection or None
        How wrong the risk could be if weights are wrong; None where all weights are 0.
    """

    audit: Audit
    task: str
    label: str
    label_words: str
    models: Sequence[str]
    model_words: str
    loss: str
    loss_words: str
    method: str
    selection: str
    folds: int
    candidates: Candidates
    blend: Blended | None
    chosen_words: str
    risk: float
    risk_low: float
    risk_high: float
    corrected_risk: float
    corrected_low: float
    corrected_high: float
    variance_reduction: float
    curve: Curve | None
    predictions: Predictions
    truth: float | None
    truth_error: float | None
    truth_note: str
    provenance: Provenance
    judged: JudgedByLabels | None = None
    metrics: MetricReport | None = None
    true_metrics: Mapping[str, float] = field(default_factory=dict)
    baseline: Baseline | None = None
    warnings: Sequence[str] = ()
    by: str = ""
    groups: GroupRisks | None = None
    group_words: str = ""
    truth_warning: str = ""
    hidden: HiddenSelection | None = None

    @property
    def delivered(self) -> str:
        """Name of the delivered model: of the chosen candidate or of the blend."""
        if self.blend is not None:
            return self.blend.name
        return self.candidates.labels[self.candidates.chosen]
