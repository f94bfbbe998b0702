"""`counterpoise reproduce`: parse the options, run the plan, show progress, write the page."""
# ruff: noqa: RUF001 (gamma is Greek)

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from counterpoise import __version__
from counterpoise._cluster import connect
from counterpoise._format import format_p_value
from counterpoise._validation import check_choice, check_number
from counterpoise.datasets import Ozone, fetch_ozone, load_ozone
from counterpoise.datasets.ozone import OZONE_URL
from counterpoise.experiments.claims import Claim, Finding, judge
from counterpoise.experiments.curves import class_densities, example_curves
from counterpoise.experiments.errata import ERRATA
from counterpoise.experiments.plan import PROBLEMS, Chunk, Plan
from counterpoise.experiments.protocols import GAMMAS
from counterpoise.experiments.quadratic import backend
from counterpoise.experiments.run import run_plan
from counterpoise.experiments.store import Store, StoreError
from counterpoise.experiments.summarise import Summary, summarise
from counterpoise.present.paper_figures import draw_figures, figure_bytes
from counterpoise.present.reproduction import claims_section, reproduction_page
from counterpoise.present.terminal import print_section

__all__ = ["reproduce"]

_CHOICES = (*PROBLEMS, "all")


def reproduce(
    problems: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROBLEM]...", help=f"What to compute: {', '.join(_CHOICES)}. Default: all."
        ),
    ] = None,
    reps: Annotated[
        int, typer.Option(help="Data sets per problem and gamma; 100000 is the paper's.")
    ] = 2000,
    gamma: Annotated[
        list[float] | None,
        typer.Option(help=f"Width of the source; repeat for several. Default: {GAMMAS}."),
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="paper: its text; released: its scripts, bugs corrected.")
    ] = "paper",
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; 0 for one per core.")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    out: Annotated[Path, typer.Option(help="Directory of the results.")] = Path("reproduction"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the results in --out.")
    ] = False,
    data: Annotated[Path | None, typer.Option(help="The UCI ozone file eighthr.data.")] = None,
    same_data: Annotated[
        bool, typer.Option("--same-data", help="Draw the data on the CPU for any device.")
    ] = False,
    as_released_beta: Annotated[
        bool, typer.Option("--as-released-beta", help="Add the released script's beta.")
    ] = False,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS|local",
            help="Compute on a Dask cluster: tcp://host:port of its scheduler, or local for "
            "processes on this machine (--jobs of them).",
        ),
    ] = None,
) -> None:
    """Run the paper's experiments and judge its claims.

    Example: counterpoise reproduce synthetic --reps 10000 --out results
    """
    console = Console(highlight=False, soft_wrap=True)
    try:
        for problem in problems or []:
            check_choice(problem, "problem", _CHOICES)
        everything = not problems or "all" in problems
        check_number(jobs, "--jobs", low=0, closed="low", integer=True)
        plan = Plan(
            problems=PROBLEMS if everything else tuple(problems or ()),
            repetitions=reps,
            gammas=tuple(gamma or GAMMAS),
            protocol=protocol,
            seed=seed,
            device=device,
            same_data=same_data,
            released_beta=as_released_beta,
        )
        _check_device(device)
        _check_dask(dask, jobs, device)
        plan, ozone, notes = _with_ozone(plan, data, asked=not everything)
        # The cluster first: a scheduler that does not answer must not leave a directory behind.
        with nullcontext() if dask is None else connect(dask, workers=jobs or None) as client:
            store = Store(out, plan, resume=resume)
            for note in notes:
                console.print(note)
            started = time.perf_counter()
            with _progress(plan, store, console) as advance:
                workers = 1 if device != "cpu" else jobs or os.cpu_count() or 1
                options: dict[str, Any] = {"progress": advance, "note": console.print}
                run_plan(plan, store, jobs=workers, ozone=ozone, client=client, **options)
            seconds = time.perf_counter() - started
        claims = _finish(plan, store, notes)
    except (ValueError, StoreError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error
    print_section(claims_section(claims), console)
    console.print(f"{seconds:.0f} s. Open {store.directory / 'index.html'}")


def _check_device(device: str) -> None:
    if device == "cpu":
        return
    try:
        import torch

        available = torch.cuda.is_available()
    except ModuleNotFoundError:
        available = False
    if not available:
        raise ValueError(
            "`--device cuda` needs PyTorch with a CUDA device, and there is none. "
            'Install "counterpoise[torch]" on a machine with one, or use --device cpu.'
        )


def _check_dask(dask: str | None, jobs: int, device: str) -> None:
    if dask is None:
        return
    if device != "cpu":
        raise ValueError(
            f"`--dask` computes on the workers' CPUs; got --device {device}. Leave one of the two "
            "out."
        )
    if jobs and dask != "local":
        raise ValueError(
            f"`--jobs` counts processes on this machine; got {jobs} with --dask {dask}. "
            "Start as many workers there as you want, and leave --jobs out."
        )


def _with_ozone(
    plan: Plan, data: Path | None, *, asked: bool
) -> tuple[Plan, Ozone | None, list[str]]:
    """Load the ozone data if the plan needs it; without data, leave the problem out.

    Unless it was asked for by name: then its absence is an error.
    """
    if "ozone" not in plan.problems:
        return plan, None, []
    try:
        ozone = load_ozone(data) if data is not None else fetch_ozone(download_if_missing=False)
    except OSError as error:
        if data is not None:
            reason = error.strerror or str(error)
            raise ValueError(
                f"`--data` must be the UCI ozone file; {data}: {reason}. "
                f"Download it from {OZONE_URL}."
            ) from error
        line = (
            "Ozone needs its data: pass --data PATH (the file eighthr.data of the UCI repository), "
            "or download it once with: "
            'python -c "import counterpoise as cp; cp.datasets.fetch_ozone()"'
        )
        if asked:
            raise ValueError(line) from error
        problems = tuple(p for p in plan.problems if p != "ozone")
        return replace(plan, problems=problems), None, [f"Ozone is left out. {line}"]
    digest = hashlib.sha256(ozone.X.tobytes() + ozone.y.tobytes() + ozone.day.tobytes())
    return replace(plan, ozone_digest=digest.hexdigest()[:16]), ozone, []


class _RateColumn(ProgressColumn):
    """Repetitions per second since the start."""

    def render(self, task: Task) -> Text:
        """Return the text of the column."""
        elapsed = task.finished_time if task.finished else task.elapsed
        rate = task.fields["repetitions"] / elapsed if elapsed else 0.0
        return Text(f"{rate:,.0f} repetitions/s")


@contextmanager
def _progress(plan: Plan, store: Store, console: Console) -> Iterator[Any]:
    chunks = plan.chunks()
    done = sum(store.has(chunk) for chunk in chunks)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("chunks"),
        _RateColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as display:
        task = display.add_task("starting", total=len(chunks), completed=done, repetitions=0)
        count = 0

        def advance(chunk: Chunk) -> None:
            nonlocal count
            count += chunk.repetitions
            where = f"{chunk.problem} γ={chunk.gamma:g}"
            display.update(task, advance=1, repetitions=count, description=f"{where:<16}")

        yield advance


def _finish(plan: Plan, store: Store, notes: list[str]) -> list[Claim]:
    """Write everything that follows from the chunks."""
    store.finish()
    summary = summarise(store)
    claims = judge(summary, plan)
    _save_tables(store, summary, claims)
    pictures = []
    figures = draw_figures(
        summary,
        curves=example_curves() if "example" in plan.problems else None,
        classes=class_densities(plan.protocol) if "synthetic" in plan.problems else None,
    )
    for name, caption, figure in figures:
        svg = figure_bytes(figure, "svg")
        store.save(f"figures/{name}.svg", svg)
        store.save(f"figures/{name}.png", figure_bytes(figure, "png"))
        pictures.append((name, caption, svg))
    page = reproduction_page(
        title=f"Reproduction, {plan.protocol} protocol",
        facts=_facts(plan),
        claims=claims,
        errata=ERRATA,
        figures=pictures,
        notes=notes,
    )
    store.save("index.html", page.encode())
    return claims


def _save_tables(store: Store, summary: Summary, claims: list[Claim]) -> None:
    document = {
        "version": __version__,
        "configuration": store.plan.configuration(),
        "claims": [claim.to_dict() for claim in claims],
        "errata": [dict(zip(("where", "printed", "holds"), row, strict=True)) for row in ERRATA],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=True) + "\n"
    store.save("claims.json", text.encode())
    store.save("claims.csv", _csv([_claim_row(c, part) for c in claims for part in c.findings]))
    for name in ("risks", "comparisons", "errors", "rates"):
        rows = [asdict(row) for row in getattr(summary, name)]
        if rows:
            store.save(f"{name}.csv", _csv(rows))


def _claim_row(claim: Claim, part: Finding) -> dict[str, Any]:
    return {
        "claim": claim.number,
        "part": part.says,
        "gamma": part.gamma,
        "effect": "" if part.effect is None else f"{part.effect:.3g}",
        "standard error": "" if part.standard_error is None else f"{part.standard_error:.2g}",
        "p": "" if part.log10_p is None else format_p_value(log10=part.log10_p),
        "data sets": part.repetitions,
        "verdict": "held" if part.held else "not held",
    }


def _csv(rows: list[dict[str, Any]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    return buffer.getvalue().encode()


def _facts(plan: Plan) -> list[tuple[str, str]]:
    return [
        ("problems", ", ".join(plan.problems)),
        ("data sets", f"{plan.repetitions:,} per problem and γ"),
        ("γ", ", ".join(f"{g:g}" for g in plan.gammas)),
        ("protocol", plan.protocol),
        ("seed", str(plan.seed)),
        ("computed by", f"counterpoise {__version__}, {backend(plan.device)} on {plan.device}"),
    ]
