"""Watch a delivered model: judge batch after batch, keep a ledger, raise alarms."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise._files import write_atomically
from counterpoise._shown import Shown, shown_page
from counterpoise._validation import InputError, check_choice
from counterpoise.diagnostics import Diagnostics
from counterpoise.jobs.alarms import (
    YEAR,
    batch_noise,
    change_limit,
    change_reasons,
    check_limits,
    label_reasons,
    limit_reasons,
    risk_change,
)
from counterpoise.jobs.answer import Answer, Estimates
from counterpoise.jobs.auditing import noted, weights_names
from counterpoise.jobs.batches import Batch, Ledger, Reader, Rows, one_watcher
from counterpoise.jobs.judging import judge_pair, limited_threads, weigh
from counterpoise.jobs.kept import Kept
from counterpoise.jobs.labels import Labelled, Labels, label_rows, match_labels, respond_with
from counterpoise.jobs.request import Progress, plain_values, quiet
from counterpoise.jobs.saved import SavedModel, load
from counterpoise.jobs.saving import digest_of, estimate_numbers, json_text, summary
from counterpoise.losses import get_loss
from counterpoise.metrics import METRICS
from counterpoise.weights.resolve import DEFAULT_WEIGHTS

# With fewer rows nothing is estimated.
_FEWEST = 10
# Random source rows that batches are weighed against: the error of a mean over them is far below
# the allowance for drift.
_SOURCE_ROWS = 5000


@dataclass(frozen=True, eq=False, repr=False)
class Watch(Shown):
    """What became of a delivered model, batch by batch. Made by :func:`counterpoise.watch`.

    Printing it gives what the command prints; a notebook shows a card.

    Attributes
    ----------
    batches : list of dict
        One for each batch, as in ``watch.json``: `name`, `rows`, `verdict`, `alarm` with its
        `reasons`, `metrics` and `risk` with both intervals, `change` against the delivered risk,
        `shift` and its size by column, share `outside`, `labels`. Names that differ only in numbers
        are in the order of these, others in the order of arrival.
    new : list of str
        Names of the batches that this call has added, or one before it that did not end.
    delivered : dict
        Risk, metrics, and differences of the columns when the model was delivered.
    notes : list of str
        What was skipped or left out.
    """

    batches: Sequence[Mapping[str, Any]]
    new: Sequence[str]
    delivered: Mapping[str, Any]
    notes: Sequence[str] = ()

    def __repr__(self) -> str:
        return f"Watch({self.counted}, {sum(b['alarm'] for b in self.batches)} with an alarm)"

    @property
    def counted(self) -> str:
        """The number of batches in words."""
        return "1 batch" if len(self.batches) == 1 else f"{len(self.batches)} batches"

    @property
    def alarm(self) -> bool:
        """Whether one of the batches `new` has raised an alarm."""
        added = set(self.new)
        return any(batch["alarm"] for batch in self.batches if batch["name"] in added)

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per batch: risk and metrics with intervals."""
        import pandas as pd

        rows = []
        for batch in self.batches:
            row = {name: batch[name] for name in ("name", "rows", "verdict", "alarm", "outside")}
            for name, numbers in {"risk": batch["risk"], **batch["metrics"]}.items():
                row |= {f"{name} {end}": (numbers or {}).get(end) for end in ("low", "high")}
                row[name] = (numbers or {}).get("value")
            rows.append(row)
        return pd.DataFrame(rows)


def watch(
    answer: Any,
    batches: Any,
    /,
    *,
    time: str | None = None,
    every: str = "week",
    max_risk: float | None = None,
    minimum: Mapping[str, float] | None = None,
    progress: Progress | None = None,
) -> Watch:
    """Judge batches of new rows by what was delivered, and raise an alarm where that got worse.

    Each batch gets the shift, a verdict, the expected risk and metrics with both intervals, and the
    share of rows outside. Labels in a batch, of rows drawn at random, are part of every number.

    Parameters
    ----------
    answer : Answer, SavedModel or path
        What :func:`counterpoise.select` delivered, or the folder it was saved in. A folder records
        the batches (``watch.jsonl``, ``watch.json``, ``watch.html``); else they are in memory.
    batches : iterable
        Files, pandas or polars data frames, pairs of a name and one of them, or a dict. A batch
        with the same content as a recorded one is skipped.
    time : str, optional
        Column of dates: the rows of all tables are sorted into calendar periods, the batches.
    every : {"week", "day", "month", "quarter"}, default="week"
        The period, or how often batches come. It divides the level of the alarms.
    max_risk : float, optional
        Alarm if the risk is above it.
    minimum : dict, optional
        Metric to its least value: alarm if the metric is below it. Without `max_risk` and
        `minimum`, a batch that is worse than delivered is an alarm.
    progress : callable, optional
        Called with (stage, done, total); total is 0 where the end is not known.

    Returns
    -------
    Watch

    Notes
    -----
    In a year without change at most 5 % of the watches have an alarm, see :doc:`/guide/watch`. At
    most 4000 random rows of a batch and 5000 of the source are looked at; rows are counted all.

    Examples
    --------
    >>> import counterpoise as cp
    >>> import pandas as pd
    >>> answer = cp.select(example="gaussian-2d", model="logistic:C=1")
    >>> X = cp.datasets.gaussian_2d(gamma=0.7).sample(1, 500, random_state=1).X_target
    >>> march = pd.DataFrame(X, columns=["x1", "x2"])
    >>> cp.watch(answer, {"march": march})
    Watch(1 batch, 0 with an alarm)
    >>> cp.watch(answer, {"march": march}, minimum={"accuracy": 0.95}).alarm
    True
    """
    check_choice(every, "every", YEAR)
    watched = _Watched.of(answer)
    limits: dict[str, Any] = {"max_risk": max_risk, "minimum": dict(minimum or {})}
    check_limits(max_risk, limits["minimum"], watched.metrics)
    progress = progress or quiet
    notes: list[str] = []
    with one_watcher(folder := watched.folder):
        ledger = Ledger(folder, digest_of(dict(watched.run)) if folder else "")
        added = _unreported(ledger)
        for batch in Reader.of_run(watched.run).batches(batches, time, every):
            name = _new_name(batch, ledger, notes)
            if name is None:
                continue
            progress(f"judging {name}", len(added), 0)
            last, kept = ledger.records[-1:], watched.kept
            noise = last[0]["noise"] if last else batch_noise(kept, watched.weights)
            found = watched.judge(name, batch.read(), every, limits, noise)
            ledger.append({"digest": batch.digest, "noise": noise, "batch": found})
            added.append(name)
        recorded = [record["batch"] for record in ledger.records]
        if len({re.sub(r"\d+", "0", batch["name"]) for batch in recorded}) == 1:
            recorded.sort(key=lambda own: [int(n) for n in re.findall(r"\d+", own["name"])])
        result = Watch(recorded, added, watched.delivered, notes)
        if folder is not None and recorded:
            text = f"{json_text(watch_summary(result))}\n"
            write_atomically(folder / "watch.json", text.encode())
            write_atomically(folder / "watch.html", shown_page(result).encode())
    return result


def watch_summary(result: Watch, /) -> dict[str, Any]:
    """Return a watch as ``watch.json`` holds it."""
    return {"batches": list(result.batches), "delivered": dict(result.delivered)}


def _unreported(ledger: Ledger) -> list[str]:
    """Return recorded batches that ``watch.json`` lacks: the run that judged them did not end."""
    try:
        text = ledger.path.with_name("watch.json").read_bytes() if ledger.path else b"{}"
        told = {batch["name"] for batch in json.loads(text)["batches"]}
    except (OSError, ValueError, LookupError, TypeError):
        told = set()
    return [own["batch"]["name"] for own in ledger.records if own["batch"]["name"] not in told]


def _new_name(batch: Batch, ledger: Ledger, notes: list[str]) -> str | None:
    """Return the name of a batch; None where it is recorded already."""
    name = batch.name or f"batch {len(ledger.records) + 1}"
    for record in ledger.records:
        recorded = record["batch"]["name"]
        same = record["digest"] == batch.digest
        if same and (recorded == name or record["batch"]["rows"]):
            notes.append(f"{name}: skipped, the same rows are recorded as {recorded}.")
            return None
        if recorded == name:
            raise InputError(
                f"{name} is recorded already, with other rows, and what is recorded does not "
                "change. Pass the new rows under another name; pass a period when it is complete."
            )
    return name


@dataclass(frozen=True, eq=False)
class _Watched:
    """The answer that is watched: what `run.json` says, what is kept, the model, the folder."""

    run: Mapping[str, Any]
    kept: Kept
    model: Any
    folder: Path | None

    @classmethod
    def of(cls, answer: Any, /) -> _Watched:
        if isinstance(answer, str | os.PathLike):
            answer = load(answer)
        if not isinstance(answer, Answer | SavedModel):
            raise InputError(
                "`answer` must be what counterpoise.select returned, or the folder it was saved "
                f"in; got {type(answer).__name__}."
            )
        kept = answer.kept
        if kept is None:
            raise InputError(
                "Watching needs what `select` keeps of the source, which is not here: this is an "
                "audit, or was saved with watch=False (--no-watch). Save a selection without it."
            )
        run = answer.run if isinstance(answer, SavedModel) else summary(answer)
        folder = answer.folder if isinstance(answer, SavedModel) else None
        return cls(run, kept.some(_SOURCE_ROWS), answer.model, folder)

    @property
    def weights(self) -> str:
        name = self.run["weights"]["name"]
        return name if name in weights_names() and name != "none" else DEFAULT_WEIGHTS

    @property
    def method(self) -> str:
        """That of the answer; batches have no predictions, which an evaluation learned from."""
        method = self.run["method"]
        return "controlled" if method == "modelled" and self.model is None else method

    @property
    def metrics(self) -> list[str]:
        return [name for name in self.run["metrics"] if name in METRICS]

    @property
    def delivered(self) -> dict[str, Any]:
        names = ("label", "verdict", "loss_words", "risk", "metrics", "target", "shift")
        known = {name: self.run[name] for name in names}
        known["metrics"] = {n: known["metrics"][n] for n in self.metrics} or known["metrics"]
        before = {row["column"]: row["before"] for row in self.run["balance"]}
        return {**known, "outside": self.run["outside_share"], "columns": before}

    def judge(
        self, name: str, rows: Rows, every: str, limits: Mapping[str, Any], noise: float
    ) -> dict[str, Any]:
        """Return the record of a batch."""
        batch: dict[str, Any] = {
            "name": name,
            "rows": rows.count,
            "verdict": "do not trust",
            "alarm": False,
            "reasons": [],
            "metrics": {},
            "limits": limits,
            "columns": {},
            **dict.fromkeys(("risk", "change", "shift", "outside", "labels")),
            "notes": rows.notes,
            "every": every,
            "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        if rows.count < _FEWEST:
            few = f"Too few rows: {rows.count} of the {_FEWEST} without which nothing is estimated."
            return {**batch, "notes": [*rows.notes, few]}
        with noted(rows.notes), limited_threads(len(self.kept.losses)):
            labelled = self._labelled(rows)
            use = labelled is not None and labelled.predicted is not None
            kept, pair = weigh(self.kept, rows.frame, self.weights)
            options: Any = {"labelled" if use else "aside": labelled, "metrics": self.metrics}
            found, estimates = judge_pair(kept, pair, method=self.method, **options)
            change = risk_change(self.kept, kept.weights)
        limit = change_limit(change, noise, len(rows.frame), self.run["target"]["rows"], every)
        reasons = change_reasons(change, limit, estimates.loss_words)
        if limits["max_risk"] is not None or limits["minimum"]:
            reasons = limit_reasons(estimates, limits["max_risk"], limits["minimum"], every)
        reasons += label_reasons(found.label_test, every)
        largest = float(change.link.move(np.asarray(change.delivered), limit))
        between = {"delivered": change.delivered, "here": change.here, "limit": largest}
        batch |= {"alarm": bool(reasons), "reasons": reasons, "change": between}
        plain: dict[str, Any] = plain_values({**batch, **_numbers(found, estimates)})
        return plain

    def _labelled(self, rows: Rows) -> Labelled | None:
        """Return the rows with labels and what the model says of them; None for fewer than 2."""
        if rows.labels is None or self.model is None:
            return None
        labels = Labels(self.kept.predicted.task, self.kept.predicted.labels)
        known = match_labels(rows.labels, labels)
        if len(known.rows) < 2:
            return None
        respond = respond_with(self.model, rows.frame, get_loss(self.kept.loss), labels)
        return label_rows(known, labels, respond)


def _numbers(found: Diagnostics, estimates: Estimates) -> dict[str, Any]:
    """Return what a record says of the batch."""
    largest: dict[str, float] = {}
    for column, size in zip(found.feature_columns, found.balance_before.tolist(), strict=True):
        if column not in largest or not abs(largest[column]) >= abs(size):
            largest[column] = size
    test = found.label_test
    return {
        "verdict": found.verdict,
        "why": list(found.reasons),
        "risk": estimate_numbers(estimates.risk),
        "metrics": {
            name: {"words": metric.words, **estimate_numbers(metric)}
            for name, metric in estimates.metrics.items()
        },
        "shift": vars(found.shift),
        "columns": largest,
        "outside": found.outside_share,
        "labels": None if test is None else vars(test),
    }
