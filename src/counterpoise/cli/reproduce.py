"""`counterpoise reproduce`: run the job, draw its page, print its verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterpoise import jobs as work
from counterpoise._format import printable
from counterpoise._validation import check_choice
from counterpoise.cli.terminal import QUIET, guarded, option, stages
from counterpoise.experiments.curves import class_densities, example_curves
from counterpoise.experiments.plan import PROBLEMS, Plan
from counterpoise.experiments.protocols import GAMMAS
from counterpoise.present import reproduction as present
from counterpoise.present.page import figure_file
from counterpoise.present.text import section_text

_PROBLEMS = f"Problems to run: {', '.join(PROBLEMS)} or all. Default: all."
_GAMMA = f"Width of the source; repeat for several. Default: {', '.join(map(str, GAMMAS))}."


def reproduce(
    problems: Annotated[
        list[str] | None, typer.Argument(metavar="[PROBLEM]...", help=_PROBLEMS)
    ] = None,
    reps: Annotated[int, option("Data sets per problem and gamma. The paper has 100000.")] = 2000,
    gamma: Annotated[list[float] | None, option(_GAMMA)] = None,
    protocol: Annotated[
        str, option("paper: as the text says; released: as the scripts do, bugs corrected.")
    ] = "paper",
    seed: Annotated[int, option("Random seed.")] = 0,
    jobs: Annotated[int, option("Number of processes; -1 means one per core.")] = -1,
    device: Annotated[str, option("cpu or cuda.")] = "cpu",
    out: Annotated[Path, option("Directory of the results.")] = Path("reproduction"),
    resume: Annotated[bool, option("Continue the results in --out.", "--resume")] = False,
    data: Annotated[Path | None, option("The UCI ozone file eighthr.data.")] = None,
    same_data: Annotated[
        bool, option("Draw the data on the CPU for any device.", "--same-data")
    ] = False,
    as_released_beta: Annotated[
        bool, option("Add the estimator of the released script.", "--as-released-beta")
    ] = False,
    dask: Annotated[
        str | None, option('Compute on Dask: "local" or tcp://host:port of a scheduler.')
    ] = None,
    quiet: Annotated[bool, QUIET] = False,
) -> None:
    """Run the paper's experiments and check its claims.

    Example: counterpoise reproduce synthetic --reps 10000 --out results
    """
    left = ". Finished chunks are kept: continue with --resume."
    with guarded(left), stages(quiet=quiet) as progress:
        made = work.Request(seed=seed, jobs=jobs, progress=progress)
        for problem in problems or ():
            check_choice(problem, "problem", (*PROBLEMS, "all"))
        plan = Plan(
            problems=PROBLEMS if not problems or "all" in problems else tuple(problems),
            repetitions=reps,
            gammas=tuple(gamma or GAMMAS),
            protocol=protocol,
            seed=seed,
            device=device,
            same_data=same_data,
            released_beta=as_released_beta,
        )
        record = work.reproduce(
            plan, out, made, resume=resume, data=data, dask=dask, note=typer.echo
        )
        progress("drawing the figures", 0, 0)
        files, pictures, classes = [], [], class_densities(plan.protocol)
        figures = present.draw_figures(record.summary, example_curves(), classes)
        for name, caption, figure in figures:
            contents = {form: figure_file(figure, form) for form in ("svg", "png")}
            files += [(f"{name}.{form}", content) for form, content in contents.items()]
            pictures.append((name, caption, contents["svg"]))
        work.write_reproduction(record, present.reproduction_page(record, pictures), files)
    line = f"{sum(claim.held for claim in record.claims)} of {len(record.claims)} claims held"
    if not quiet:
        typer.echo(section_text(present.claims_section(record.claims), 100))
        page = printable(record.store.directory / "index.html")
        line += f". {record.seconds:.0f} s. Open {page}"
    typer.echo(line)
