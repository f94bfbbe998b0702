"""The reproduction: its figures, and the document of claims, figures and errata."""
# ruff: noqa: RUF001 (labels are in Greek)

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from counterpoise._format import format_error, format_p_value
from counterpoise.experiments.claims import ERRATA, Claim
from counterpoise.experiments.curves import Curves, Densities
from counterpoise.experiments.protocols import LABELS
from counterpoise.experiments.summarise import Summary
from counterpoise.present.axes import log_axis
from counterpoise.present.estimates import number_cell
from counterpoise.present.page import render_page
from counterpoise.present.palette import LIGHT, REPRODUCTION, style
from counterpoise.present.sections import (
    Block,
    Column,
    Document,
    Numeral,
    Picture,
    Pictures,
    Section,
    Table,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from counterpoise.jobs.reproduce import Reproduction

_LEAD = (
    "Kouw, Krijthe, Loog (2019), “Robust importance-weighted cross-validation under sample "
    "selection bias”, arXiv:1710.06514: every figure and claim, computed again."
)


def reproduction_page(record: Reproduction, figures: Sequence[tuple[str, str, bytes]], /) -> str:
    """Return the page of a reproduction; figures are name, caption and bytes of an SVG file."""
    pictures = [Picture(name, "", caption, svg) for name, caption, svg in figures]
    columns = [Column(name, "text") for name in ("where", "as printed", "what holds")]
    errors = Table("Errata of the paper and its scripts", columns, ERRATA)
    sections = [
        *([Section("notes", "Notes", record.notes)] if record.notes else []),
        claims_section(record.claims),
        Section("figures", "Figures", [Pictures(pictures, wide=True)]),
        Section("errata", "Errata", [errors]),
    ]
    title = f"Reproduction, {record.plan.protocol} protocol"
    return render_page(Document("Reproduction", title, _LEAD, "", sections, record.facts))


def claims_section(claims: Sequence[Claim], /) -> Section:
    """Return the claims, each with a table of its findings; a terminal shows these tables."""
    held = sum(claim.held for claim in claims)
    words = (
        "A claim held if all of its findings did. Effect, standard error and p-value are those of "
        "the γ with the strongest evidence against the claim."
    )
    blocks: list[Block] = [words, *(_claim_table(claim) for claim in claims)]
    return Section("claims", f"Claims: {held} of {len(claims)} held", blocks)


def _claim_table(claim: Claim) -> Table:
    columns = [
        Column("finding", "text"),
        Column("rule", "text", optional=3),
        Column("measured", "text", optional=2),
        Column("effect"),
        Column("std. error"),
        Column("p"),
        Column("data sets", optional=1),
        Column("verdict", "word"),
    ]
    title = f"Claim {claim.number}, {claim.problem}: {'held' if claim.held else 'not held'}"
    rows = [
        [
            finding.says,
            finding.rule,
            finding.measured,
            number_cell(finding.effect),
            Numeral(format_error(finding.standard_error), finding.standard_error),
            "–" if finding.log10_p is None else format_p_value(log10=finding.log10_p),
            f"{finding.repetitions:,}" if finding.repetitions else "–",
            "held" if finding.held else "not held",
        ]
        for finding in claim.findings
    ]
    return Table(title, columns, rows, caption=f"The paper: {claim.paper}")


_COLORS = {name: light for name, (light, _) in REPRODUCTION.items()}
_MARKERS = dict(zip(_COLORS, "xv^<>osPD", strict=True))
_TITLES = {
    "synthetic": "Synthetic, Gaussian weights",
    "ozone": "Ozone, Gaussian weights",
    "kmm": "Synthetic, KMM weights",
    "kliep": "Synthetic, KLIEP weights",
}
_WIDTH = "source standard deviation γ"
# A table of the summary, and the names of a value and its error.
_Rows = tuple[str, str, str]
_SETS = {"all": "all data sets", "top": "top 10 % by weight variance"}


def draw_figures(
    summary: Summary, curves: dict[str, Curves], classes: Densities, /
) -> list[tuple[str, str, Figure]]:
    """Return file name, caption and figure of everything that was computed."""
    problems = list(dict.fromkeys(row.problem for row in summary.risks))
    with style(LIGHT):
        figures = []
        if summary.rates:
            caption = (
                "Example: error of the estimated β, and the bias it gives the risk, against the "
                "sample size. Dashed: the rates n^(-1/2) and 1/n."
            )
            figures += [*_example(curves), ("example-rates", caption, _rates(summary))]
        if "synthetic" in problems:
            caption = "Synthetic: class-conditional densities, γ = 1/√2. Figure 5 of the paper."
            figures.append(("synthetic-classes", caption, _classes(classes)))
        for problem in problems:
            caption = (
                f"{_TITLES[problem]}: mean target risk of the chosen classifier against γ, with "
                "two standard errors; below, paired with plain weighting."
            )
            figures.append((f"{problem}-risk", caption, _risk(summary, problem)))
            caption = (
                f"{_TITLES[problem]}: error of the risk estimates at a fixed penalty, with two "
                "standard errors."
            )
            figures.append((f"{problem}-estimates", caption, _errors(summary, problem)))
    return figures


def _axes(rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * columns + 0.6 * (columns == 1), 3.4 * rows))
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


# File name -> colours and styles of the lines, logarithmic axes, labels, and the caption.
_EXAMPLE: dict[str, tuple[list[tuple[str, str]], str, dict[str, Any], str]] = {
    "distributions": (
        [("weighted", "-"), ("oracle", "-")],
        "",
        {"xlabel": "x", "ylabel": "density", "ylim": (0, None)},
        "Example: densities of source (γ = 1/√2) and target. Figure 1 of the paper.",
    ),
    "weight-variance": (
        [("weighted", "-"), ("source", "--")],
        "y",
        {"xlabel": _WIDTH, "ylabel": "V[w]"},
        "Example: variance of the weights. Figure 2; the printed formula lacks a root.",
    ),
    "large-weights": (
        [(name, line) for name in ("truncated", "weighted", "controlled_known") for line in "-:"],
        "xy",
        {"xlabel": "c", "ylabel": "P(w > c)", "ylim": (1e-4, 1)},
        "Example: probability of a weight above c. Figure 3; solid under the source, dotted "
        "under the target.",
    ),
    "sampling-variances": (
        [("oracle", "-"), ("weighted", "-"), ("controlled_known", "-")],
        "y",
        {"xlabel": _WIDTH, "ylabel": "variance"},
        "Example: sampling variance of the three risk estimators, per point. Figure 4.",
    ),
}


def _example(curves: dict[str, Curves]) -> list[tuple[str, str, Figure]]:
    """Draw the closed forms of the example. A name that begins with "_" is not in the legend."""
    figures = []
    for name, (looks, logarithmic, labels, caption) in _EXAMPLE.items():
        figure, axes = _axes()
        ax = axes[0, 0]
        x, lines = curves[name]
        for (label, y), (color, line) in zip(lines.items(), looks, strict=True):
            ax.plot(x, y, line, color=_COLORS[color], label=label)
        for which in logarithmic:
            log_axis(ax, which)
        ax.set(**labels)
        ax.legend()
        figures.append((f"example-{name}", caption, figure))
    return figures


def _classes(classes: Densities) -> Figure:
    axis, densities = classes
    figure, axes = _axes(1, 2, sharey=True)
    for ax, domain in zip(axes[0], ("source", "target"), strict=True):
        for label, color in ((-1, _COLORS["weighted"]), (1, _COLORS["truncated"])):
            values = densities[domain, label]
            levels = [values.max() * share for share in (0.1, 0.3, 0.5, 0.7, 0.9)]
            ax.contour(axis, axis, values, levels=levels, colors=color)
            ax.plot([], [], color=color, label=f"p(x | y = {label:+d})")
        ax.set(title=domain, xlabel="x₁", aspect="equal")
    axes[0, 0].set_ylabel("x₂")
    axes[0, 0].legend(loc="upper left")
    return figure


def _panels(summary: Summary, problem: str, top: _Rows, bottom: _Rows) -> tuple[Figure, Any]:
    """Draw two quantities, each with its error, for all data sets and for the top 10 %."""
    figure, axes = _axes(2, 2, sharex=True, sharey="row")
    for column, (sets, title) in enumerate(_SETS.items()):
        for name in _COLORS:
            for ax, (table, value, error) in zip(axes[:, column], (top, bottom), strict=True):
                points = summary.of(table, problem, sets, name)
                # The oracle is far below the others, which would be squeezed together.
                if not points or (table == "comparisons" and name == "oracle"):
                    continue
                ax.errorbar(
                    [row.gamma for row in points],
                    [getattr(row, value) for row in points],
                    yerr=[2 * getattr(row, error) for row in points],
                    color=_COLORS[name],
                    marker=_MARKERS[name],
                    label=LABELS[name],
                    capsize=2,
                    linestyle="--" if name in ("oracle", "unweighted", "source") else "-",
                )
        axes[0, column].set_title(title)
        axes[1, column].set_xlabel("γ")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure, axes


def _risk(summary: Summary, problem: str) -> Figure:
    top = ("risks", "mean", "standard_error")
    bottom = ("comparisons", "difference", "standard_error")
    figure, axes = _panels(summary, problem, top, bottom)
    for ax in axes[1]:
        ax.axhline(0, color=_COLORS["weighted"], linewidth=1.8)
    axes[0, 0].set_ylabel("mean target risk")
    axes[1, 0].set_ylabel("difference from weighted")
    return figure


def _errors(summary: Summary, problem: str) -> Figure:
    from matplotlib.ticker import LogLocator, NullFormatter

    top = ("errors", "rmse", "rmse_standard_error")
    figure, axes = _panels(summary, problem, top, ("errors", "bias", "bias_standard_error"))
    for ax in axes[0]:
        ax.set_yscale("log")
    for ax in axes[1]:
        ax.axhline(0, color=LIGHT.soft, linewidth=0.8)
    axis = axes[0, 0].yaxis
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
    low, high = axes[0, 0].get_ylim()
    # Between powers of ten, labels only where there are few powers.
    axis.set_minor_formatter("{x:g}" if high < 100 * low else NullFormatter())
    if max(map(abs, axes[1, 0].get_ylim())) > 3:
        # Some estimators are off by orders of magnitude, on either side of zero.
        axes[1, 0].set_yscale("symlog", linthresh=1.0)
        axes[1, 0].yaxis.set_major_formatter("{x:g}")
    axes[0, 0].set_ylabel("RMSE of the estimate")
    axes[1, 0].set_ylabel("bias of the estimate")
    return figure


def _rates(summary: Summary) -> Figure:
    figure, axes = _axes(1, 2)
    for gamma, line in {1.0: "-", 1.25: "-."}.items():
        for center in ("known", "sample"):
            rows = [r for r in summary.rates if (r.gamma, r.center) == (gamma, center)]
            name, points = f"controlled_{center}", [row.size for row in rows]
            look: Any = {"color": _COLORS[name], "marker": _MARKERS[name], "linestyle": line}
            look["label"] = f"{center} mean, γ = {gamma:g}"
            axes[0, 0].plot(points, [row.beta_rmse for row in rows], **look)
            biases = [abs(row.bias) for row in rows]
            bars = [2 * row.bias_standard_error for row in rows]
            axes[0, 1].errorbar(points, biases, yerr=bars, **look)
    first, sizes = summary.rates[0], [row.size for row in rows]
    for ax, start, power in ((axes[0, 0], first.beta_rmse, 0.5), (axes[0, 1], abs(first.bias), 1)):
        ends = [1.3 * start, 1.3 * start * (first.size / sizes[-1]) ** power]
        ax.plot([first.size, sizes[-1]], ends, "--", color=_COLORS["unweighted"])
        for which in "xy":
            log_axis(ax, which)
        ax.set_xlabel("source points n")
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes[0, 0].set_ylabel("RMSE of the estimated β")
    axes[0, 1].set_ylabel("|bias| of the risk")
    axes[0, 0].legend()
    return figure
