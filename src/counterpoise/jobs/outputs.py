"""The files of a job."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise.jobs.formats import digest_of, file_digest, json_text, write_csv
from counterpoise.jobs.loading import Data
from counterpoise.jobs.records import Audit, Candidates, Selection
from counterpoise.jobs.select import Selected

__all__ = ["summary", "write_audit", "write_selection"]


def write_audit(directory: Path, data: Data, audit: Audit, page: str, /) -> None:
    """Write report.html, weights.csv, run.json and, if asked for, suggested_rows.csv."""
    (directory / "report.html").write_text(page, encoding="utf-8")
    write_csv(directory / "weights.csv", {"row": data.pair.rows + 1, "weight": audit.weights})
    names = ["report.html", "weights.csv"]
    if audit.suggested is not None:
        write_csv(directory / "suggested_rows.csv", audit.suggested.columns)
        names.append("suggested_rows.csv")
    _write_run(directory, names, summary(audit))


def write_selection(directory: Path, selected: Selected, page: str, /) -> None:
    """Write report.html, model.skops, candidates.csv, weights.csv, predictions.csv, run.json."""
    from skops import io

    record = selected.record
    (directory / "report.html").write_text(page, encoding="utf-8")
    io.dump(selected.model, directory / "model.skops")
    write_csv(directory / "candidates.csv", _candidates(record))
    weights = {"row": selected.rows + 1, "weight": record.audit.weights}
    write_csv(directory / "weights.csv", weights)
    predictions = selected.predictions
    row = np.arange(1, len(predictions["prediction"]) + 1)
    write_csv(directory / "predictions.csv", {"row": row, **predictions})
    names = ("report.html", "model.skops", "candidates.csv", "weights.csv", "predictions.csv")
    _write_run(directory, names, summary(record))


def summary(record: Audit | Selection, /) -> dict[str, Any]:
    """Return the record as JSON holds it: dicts, lists and scalars, None for NaN."""
    audit = record.audit if isinstance(record, Selection) else record
    found, made = audit.diagnostics, audit.provenance
    content = {
        **vars(made),
        "source": vars(audit.source),
        "target": vars(audit.target),
        **_some(audit, "columns", "notes", "shift", "shift_words", "shifted"),
        **_some(found, "verdict", "reasons", "advice", "auc", "auc_p_value", "outside_share"),
        "weights": {
            "name": audit.weights_name,
            "words": audit.weights_words,
            **_some(found, "n_effective", "largest_share", "pareto_k"),
        },
        "balance": [vars(column) for column in audit.balance],
    }
    if audit.suggested is not None:
        content["suggested_rows"] = [int(row) for row in audit.suggested.columns["row"]]
    if isinstance(record, Selection):
        content.update(_selection(record))
    plain: dict[str, Any] = _plain(content)
    return plain


def _selection(record: Selection) -> dict[str, Any]:
    candidates = record.candidates
    plausible = candidates.plausibility
    return {
        **_some(record, "task", "label", "models", "loss", "method", "selection", "folds"),
        **_some(record, "delivered", "chosen_words", "variance_reduction", "truth_note"),
        **_some(record, "truth_warning"),
        "chosen": candidates.parameters[candidates.chosen],
        "model": candidates.models[candidates.chosen],
        "fit_weighted": candidates.fit_weighted[candidates.chosen],
        "risk": _risk(record.risk, record.risk_low, record.risk_high),
        "corrected_risk": _risk(record.corrected_risk, record.corrected_low, record.corrected_high),
        "truth": None
        if record.truth is None
        else {"value": record.truth, "standard_error": record.truth_error},
        "blend": None
        if record.blend is None
        else [
            {**_candidate(candidates, i), "weight": weight}
            for i, weight in zip(record.blend.members, record.blend.weights, strict=True)
        ],
        "target_labels": None if record.judged is None else vars(record.judged),
        "metrics": _metrics(record),
        "baseline": _baseline(record),
        "warnings": list(record.warnings),
        "groups": _groups(record),
        "plain_cross_validation": _plain_choice(candidates),
        "candidates": len(candidates.parameters),
        "plausible": None if plausible is None else int(np.count_nonzero(plausible)),
        "indistinguishable": int(candidates.indistinguishable.sum()),
    }


def _metrics(record: Selection) -> dict[str, Any]:
    """Return every metric with its interval, that of the best constant, and the truth of it."""
    return {
        name: {
            "words": own.words,
            **_risk(own.value, *own.interval()),
            "baseline": own.baseline,
            "truth": record.true_metrics.get(name),
        }
        for name, own in (record.metrics or {}).items()
    }


def _baseline(record: Selection) -> dict[str, Any] | None:
    found = record.baseline
    if found is None:
        return None
    risk, difference = (_risk(own.value, *own.interval()) for own in (found.risk, found.difference))
    return {"risk": risk, "difference": difference, "verdict": found.verdict, "words": found.words}


def _groups(record: Selection) -> dict[str, Any] | None:
    found = record.groups
    if found is None:
        return None
    groups = [
        {
            **_some(own, "name", "n_source", "n_target", "target_share", "outside_share"),
            **_some(own, "verdict", "reasons"),
            "risk": None if own.risk is None else _risk(own.risk.value, *own.risk.interval()),
            "n_effective": None if own.risk is None else own.risk.n_effective,
            "metrics": {
                name: _risk(metric.value, *metric.interval())
                for name, metric in (own.metrics or {}).items()
            },
        }
        for own in found.values()
    ]
    worst = found.worst
    return {
        "by": record.by,
        "words": found.words,
        "worst": None if worst is None else worst.name,
        "groups": groups,
    }


def _candidate(candidates: Candidates, place: int) -> dict[str, Any]:
    return {
        "model": candidates.models[place],
        "parameters": candidates.parameters[place],
        "fit_weighted": candidates.fit_weighted[place],
    }


def _plain_choice(candidates: Candidates) -> dict[str, Any] | None:
    """Return what cross-validation without any weights chooses, its risk, and the truth of it."""
    plain, truth = candidates.plain, candidates.truth
    if plain is None:
        return None
    best = plain.best
    return {
        **_candidate(candidates, best),
        "risk": _risk(plain.value[best], plain.low[best], plain.high[best]),
        "truth": None if truth is None else truth[best],
    }


def _risk(value: float, low: float, high: float) -> dict[str, float]:
    return {"value": value, "low": low, "high": high}


def _some(record: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _candidates(record: Selection) -> dict[str, Any]:
    """Return the columns of candidates.csv."""
    candidates = record.candidates
    columns: dict[str, Any] = {
        "model": list(candidates.models),
        "trained with weights": candidates.fit_weighted,
        **{name: _values(name, candidates.parameters) for name in candidates.names},
    }
    for risks in candidates.risks:
        columns[f"risk {risks.label}"] = risks.value
        columns[f"low {risks.label}"] = risks.low
        columns[f"high {risks.label}"] = risks.high
        columns[f"standard error {risks.label}"] = risks.standard_error
    columns["chosen"] = np.arange(len(candidates.parameters)) == candidates.chosen
    columns["indistinguishable"] = candidates.indistinguishable
    columns["variance reduction"] = candidates.variance_reduction
    if candidates.plausibility is not None:
        columns["plausibility"] = candidates.plausibility
        columns["expected regret"] = candidates.expected_regret
    if record.blend is not None:
        columns["weight in the blend"] = np.zeros(len(candidates.parameters))
        columns["weight in the blend"][record.blend.members] = record.blend.weights
    if candidates.truth is not None:
        columns["truth"] = candidates.truth
        columns["standard error of the truth"] = candidates.truth_error
    return columns


def _values(name: str, parameters: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return a parameter's values, as text if of several kinds; None for models without it."""
    mixed = len({type(own[name]) for own in parameters if name in own}) > 1
    found = [own.get(name) for own in parameters]
    if not mixed:
        return found
    return [
        str(value) if name in own else None for value, own in zip(found, parameters, strict=True)
    ]


def _write_run(directory: Path, names: Sequence[str], content: Mapping[str, Any]) -> None:
    """Write run.json, with the checksums of the files of these names, and its own."""
    files = {name: file_digest(directory / name) for name in names}
    whole = {**content, "files": files}
    text = json_text({**whole, "sha256": digest_of(whole)})
    (directory / "run.json").write_text(text + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """Return nested dicts, lists and scalars that JSON knows; None for NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
