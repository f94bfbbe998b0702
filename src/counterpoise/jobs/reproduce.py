"""The paper's experiments, run or continued, and its claims judged by them."""
# ruff: noqa: RUF001 (gamma is Greek)

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from counterpoise import __version__
from counterpoise._cluster import connect
from counterpoise._validation import InputError
from counterpoise.datasets.ozone import OZONE_URL, Ozone, fetch_ozone, load_ozone
from counterpoise.experiments.claims import ERRATA, Claim, verify_claims
from counterpoise.experiments.plan import PROBLEMS, Plan
from counterpoise.experiments.run import run_plan
from counterpoise.experiments.run_accelerator import Note
from counterpoise.experiments.store import Store, one_run
from counterpoise.experiments.summarise import Summary, summarise
from counterpoise.jobs.request import Request


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What a run of the experiments found."""

    plan: Plan
    store: Store  # the directory, with every repetition
    summary: Summary
    claims: list[Claim]
    notes: list[str]  # about this run, such as a problem that was left out
    seconds: float

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Name and value of what was run."""
        plan = self.plan
        return [
            ("problems", ", ".join(plan.problems)),
            ("data sets", f"{plan.repetitions:,} per problem and γ"),
            ("γ", ", ".join(f"{g:g}" for g in plan.gammas)),
            ("protocol", plan.protocol),
            ("seed", str(plan.seed)),
            ("computed by", f"counterpoise {__version__} on {plan.device}"),
        ]


def reproduce(
    plan: Plan,
    out: Path,
    request: Request | None = None,
    /,
    *,
    resume: bool = False,
    data: Path | None = None,
    dask: str | None = None,
    note: Note | None = None,
) -> Reproduction:
    """Run the paper's experiments and check its claims.

    Finished chunks are stored in `out` at once, so that an interrupted run can be continued.

    Parameters
    ----------
    plan : Plan
        What to compute.
    out : path
        Directory of the results.
    request : Request, optional
        Jobs and progress. The results do not depend on the number of jobs.
    resume : bool, default=False
        Continue the results in `out`.
    data : path, optional
        The UCI ozone file. Default: the copy of :func:`counterpoise.datasets.fetch_ozone`. If
        there is none, a plan of all problems runs without ozone, and any other is refused.
    dask : str, optional
        "local" or the address of a Dask scheduler.
    note : callable, optional
        Called at once with each of the record's notes.

    Returns
    -------
    Reproduction

    Raises
    ------
    InputError
        For options that do not go together, missing data, or a directory with other results.
    """
    request = request or Request(seed=plan.seed)
    _check_place(plan.device, dask, request.jobs)
    notes: list[str] = []

    def noted(line: str) -> None:
        notes.append(line)
        if note is not None:
            note(line)

    plan, ozone = _with_ozone(plan, data, noted)
    workers = None if request.jobs == -1 else request.jobs
    # The cluster first: a scheduler that does not answer must not leave a directory behind.
    with nullcontext() if dask is None else connect(dask, workers=workers) as client, one_run(out):
        store = Store(out, plan, resume=resume)
        chunks = plan.chunks()
        finished = count(sum(store.has(chunk) for chunk in chunks))

        def progress(*_: Any) -> None:
            request.progress("computing the data sets", next(finished), len(chunks))

        progress()
        jobs = effective_n_jobs(request.jobs) if plan.device == "cpu" else 1
        run_plan(plan, store, jobs=jobs, ozone=ozone, progress=progress, client=client, note=noted)
        request.progress("summarising", 0, 0)
        store.finish()
        summary = summarise(store)
    claims = verify_claims(summary, plan)
    return Reproduction(plan, store, summary, claims, notes, request.provenance().seconds)


def write_reproduction(
    record: Reproduction, page: str, figures: Sequence[tuple[str, bytes]] = (), /
) -> None:
    """Write index.html, claims.json, the tables as CSV, and figures (file name, content)."""
    save = record.store.save
    document = {
        "version": __version__,
        "configuration": record.plan.configuration(),
        "claims": [{**asdict(claim), "held": claim.held} for claim in record.claims],
        "errata": [dict(zip(("where", "printed", "holds"), row, strict=True)) for row in ERRATA],
    }
    save("claims.json", (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())
    save("claims.csv", _csv([row for claim in record.claims for row in claim.rows()]))
    for name in ("risks", "comparisons", "errors", "rates"):
        rows = [asdict(row) for row in getattr(record.summary, name)]
        if rows:
            save(f"{name}.csv", _csv(rows))
    for name, content in figures:
        save(f"figures/{name}", content)
    save("index.html", page.encode())


def _csv(rows: list[dict[str, Any]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    return buffer.getvalue().encode()


def _check_place(device: str, dask: str | None, jobs: int) -> None:
    has_torch = find_spec("torch") is not None
    if device != "cpu" and not (has_torch and import_module("torch").cuda.is_available()):
        raise InputError(
            "`--device cuda` needs PyTorch with a CUDA device, and there is none. "
            'Install "counterpoise[torch]" on a machine with one, or use --device cpu.'
        )
    if dask is not None and device != "cpu":
        raise InputError(
            f"`--dask` computes on the workers' CPUs; got --device {device}. Leave one of the two "
            "out."
        )
    if dask not in (None, "local") and jobs != -1:
        raise InputError(
            f"`--jobs` counts processes on this machine; got {jobs} with --dask {dask}. "
            "Start as many workers there as you want, and leave --jobs out."
        )


def _with_ozone(plan: Plan, data: Path | None, note: Note) -> tuple[Plan, Ozone | None]:
    """Load the ozone data if the plan needs it; a plan of all problems can do without."""
    if "ozone" not in plan.problems:
        return plan, None
    try:
        ozone = load_ozone(data) if data is not None else fetch_ozone(download_if_missing=False)
    except OSError as error:
        if data is not None:
            raise InputError(
                f"`--data` must be the UCI ozone file; {data}: {error.strerror or error}. "
                f"Download it from {OZONE_URL}."
            ) from error
        line = (
            "Ozone needs its data: pass --data PATH (the file eighthr.data of the UCI repository), "
            "or download it once with: "
            'python -c "import counterpoise as cp; cp.datasets.fetch_ozone()"'
        )
        if plan.problems != PROBLEMS:
            raise InputError(line) from error
        note(f"Ozone is left out. {line}")
        return replace(plan, problems=tuple(p for p in PROBLEMS if p != "ozone")), None
    digest = hashlib.sha256(ozone.X.tobytes() + ozone.y.tobytes() + ozone.day.tobytes())
    return replace(plan, ozone_digest=digest.hexdigest()[:16]), ozone
