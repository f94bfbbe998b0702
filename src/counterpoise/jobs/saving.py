"""The files of an answer: page, model, tables, and ``run.json`` with everything in numbers.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break for a
formula, and labels come from the data. Text that begins so is written with an apostrophe before
it; text that begins with apostrophes and then so gets one more, so that reading can take exactly
one away. Numbers are written as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise._shown import shown_page
from counterpoise.jobs.answer import Answer, Choice, Estimates
from counterpoise.jobs.kept import write_kept
from counterpoise.jobs.request import plain_values


def write_answer(answer: Answer, directory: Path, /, *, watch: bool = True) -> None:
    """Write report.html, weights.csv, run.json and, for a selection, model and tables.

    With `watch` also what judges new rows.
    """
    (directory / "report.html").write_text(shown_page(answer), encoding="utf-8")
    weights = {"row": answer.tables.rows + 1, "weight": np.asarray(answer.diagnostics.weights)}
    write_csv(directory / "weights.csv", weights)
    names = ["report.html", "weights.csv"]
    if answer.choice is not None:
        from skops import io

        io.dump(answer.model, directory / "model.skops")
        write_csv(directory / "candidates.csv", _candidates(answer.choice))
        names += ["model.skops", "candidates.csv"]
    if answer.predictions is not None:
        row = np.arange(1, len(answer.predictions["prediction"]) + 1)
        write_csv(directory / "predictions.csv", {"row": row, **answer.predictions})
        names.append("predictions.csv")
    if watch and answer.kept is not None:
        names += write_kept(answer.kept, directory)
    content = summary(answer)
    content["files"] = {name: file_digest(directory / name) for name in names}
    text = json_text({**content, "sha256": digest_of(content)})
    (directory / "run.json").write_text(text + "\n", encoding="utf-8")


def summary(answer: Answer, /) -> dict[str, Any]:
    """Return the answer as JSON holds it: dicts, lists and scalars, None for NaN.

    The keys are listed in the guide of the command line. Every estimate has `value`, `low` and
    `high` (95 %, allowing for drift), `low_without_drift` and `high_without_drift`.
    """
    found, tables = answer.diagnostics, answer.tables
    content = {
        **vars(answer.made),
        "source": vars(tables.source),
        "target": vars(tables.target),
        "columns": tables.kinds,
        "label": tables.label,
        "notes": tables.notes,
        "verdict": answer.verdict,
        "reasons": found.reasons,
        "advice": found.advice,
        "warnings": answer.warnings,
        "shift": vars(found.shift),
        **_some(found, "auc", "auc_p_value", "outside_share"),
        "weights": {
            "name": answer.weights_name,
            **_some(found, "n_effective", "largest_share", "pareto_k", "divergence"),
        },
        "balance": [
            dict(zip(("column", "feature", "before", "after"), row, strict=True))
            for row in answer.balance
        ],
    }
    if answer.estimates is not None:
        content |= _estimates(answer.estimates)
        content |= {} if answer.choice is None else _choice(answer.choice)
        content["target_labels"] = None if found.label_test is None else vars(found.label_test)
    plain: dict[str, Any] = plain_values(content)
    return plain


def _estimates(found: Estimates) -> dict[str, Any]:
    truth = found.truth
    true = {} if truth is None else truth.metrics
    return {
        **_some(found, "loss", "loss_words", "method"),
        "risk": {**estimate_numbers(found.risk), "truth": None if truth is None else truth.risk},
        "truth_note": "" if truth is None else truth.note,
        "more_labels": {str(k): estimate_numbers(own) for k, own in found.more_labels.items()},
        "metrics": {
            name: {
                "words": metric.words,
                **estimate_numbers(metric),
                "baseline": metric.baseline,
                "truth": true.get(name),
            }
            for name, metric in found.metrics.items()
        },
        "baseline": {"verdict": found.baseline.verdict, **estimate_numbers(found.baseline.risk)},
        "plain_cross_validation": estimate_numbers(found.plain),
        "groups": None
        if found.groups is None
        else {
            "by": found.by,
            "groups": [
                {
                    **_some(own, "name", "n_source", "n_target", "target_share", "verdict"),
                    "risk": None if own.risk is None else estimate_numbers(own.risk),
                }
                for own in found.groups.values()
            ],
        },
    }


def _choice(choice: Choice) -> dict[str, Any]:
    def candidate(place: int) -> dict[str, Any]:
        return {
            "model": choice.models[place],
            "parameters": choice.parameters[place],
            "weight": choice.shares[place],
        }

    return {
        **_some(choice, "task", "selection", "delivered", "label_words"),
        "candidates": len(choice.parameters),
        "chosen": candidate(choice.chosen),
        "members": [candidate(place) for place in choice.members],
    }


def estimate_numbers(estimate: Any, /) -> dict[str, float]:
    """Return the value of an estimate and the ends of both intervals."""
    names = "value", "low", "high", "low_without_drift", "high_without_drift"
    ends = *estimate.interval(), *estimate.interval(drift=False)
    return dict(zip(names, (estimate.value, *ends), strict=True))


def _some(record: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _candidates(choice: Choice) -> dict[str, Any]:
    """Return the columns of candidates.csv."""
    numbers = estimate_numbers(choice.risks)
    names = dict.fromkeys(name for own in choice.parameters for name in own)
    return {
        "model": list(choice.models),
        **{name: _values(name, choice.parameters) for name in names},
        "risk": np.asarray(numbers.pop("value")),
        **{end.replace("_", " "): values for end, values in numbers.items()},
        "standard error": np.asarray(choice.risks.standard_error),
        "risk without weights": choice.source_risks,
        "chosen": np.arange(len(choice.parameters)) == choice.chosen,
        "weight in what is delivered": choice.shares,
    }


def _values(name: str, parameters: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return a parameter's values, as text if of several kinds; None for models without it."""
    mixed = len({type(own[name]) for own in parameters if name in own}) > 1
    return [str(own[name]) if mixed and name in own else own.get(name) for own in parameters]


# Also the full-width forms, which some spreadsheets read alike.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def guard_text(text: str, /) -> str:
    """Put an apostrophe before text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> guard_text("=1+1"), guard_text("yes"), guard_text("'=1+1")
    ("'=1+1", 'yes', "''=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguard_text(text: str, /) -> str:
    """Take away the apostrophe that :func:`guard_text` has put there."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def write_csv(path: Any, columns: Mapping[str, Any], /) -> None:
    """Write columns of equal length into a file, text guarded against spreadsheets."""
    import pyarrow as pa
    from pyarrow import csv

    arrays = [_guarded(pa.array(values)) for values in columns.values()]
    table = pa.Table.from_arrays(arrays, names=[guard_text(name) for name in columns])
    csv.write_csv(table, path, csv.WriteOptions(quoting_style="needed"))


def _guarded(values: Any) -> Any:
    import pyarrow as pa

    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    coded = values.dictionary_encode()
    texts = pa.array([guard_text(text) for text in coded.dictionary.to_pylist()], pa.string())
    return texts.take(coded.indices)


def json_text(content: Any, /) -> str:
    r"""Return JSON that a terminal can show: control characters are written as ``\u009b``."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    return "".join(c if c.isprintable() or c in "\n " else json.dumps(c)[1:-1] for c in text)


def file_digest(path: Path, /) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(content: Mapping[str, Any], /) -> str:
    """Return the SHA-256 of what JSON holds, whatever the order and the layout."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
