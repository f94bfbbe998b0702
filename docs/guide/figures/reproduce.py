"""What choices cost and how far estimates are off in the reproduction, from its tables."""

import csv
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
from figure_style import BLUE, GREEN, GREY, PURPLE, VERMILLION

FOLDER = Path("../../_static/reproduce")
SETS = {"all": "all data sets", "top": "top 10 % by weight variance"}
LOOKS = {
    "unweighted": ("unweighted", GREY, "x", ":"),
    "source": ("source", GREY, "v", "--"),
    "weighted": ("weighted", BLUE, "^", "-"),
    "normalized": ("normalized", "#56B4E9", "<", "-"),
    "truncated": ("truncated", VERMILLION, ">", "-"),
    "controlled_known": ("controlled (known mean)", GREEN, "o", "-"),
    "controlled_sample": ("controlled (sample mean)", PURPLE, "s", "-"),
    "released_beta": ("released beta", "#B8860B", "P", "-"),
}


def read(name, **wanted):
    with (FOLDER / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def panels(table, problem, value, error, label, *, log=False):
    """Draw one quantity against gamma, for all data sets and for the top tenth."""
    fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.7), sharey=True)
    for ax, (sets, title) in zip(axes, SETS.items(), strict=True):
        for name, (words, color, marker, line) in LOOKS.items():
            rows = read(table, problem=problem, sets=sets, estimator=name)
            if rows:
                columns = ([float(row[key]) for row in rows] for key in ("gamma", value, error))
                gamma, numbers, errors = columns
                bars = [2 * e for e in errors]
                look = {"color": color, "marker": marker, "linestyle": line, "linewidth": 1.5}
                ax.errorbar(gamma, numbers, yerr=bars, label=words, markersize=5, **look)
        ax.set(title=title, xlabel=r"$\gamma$")
        if log:
            ax.set_yscale("log")
        else:
            ax.axhline(0, color=BLUE, linewidth=1.5)
    axes[0].set_ylabel(label)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=11)


def choice(table, problem):
    columns = ("difference", "standard_error", "target risk less weighted's")
    panels(f"{table}-comparisons", problem, *columns)


def estimates(problem):
    columns = ("rmse", "rmse_standard_error", "RMSE of the estimate")
    panels(f"{problem}-errors", problem, *columns, log=True)


def rates():
    fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.0))
    for gamma, center, color, marker in (
        ("1", "known", GREEN, "o"),
        ("1", "sample", PURPLE, "s"),
        ("1.25", "known", BLUE, "^"),
        ("1.25", "sample", VERMILLION, "D"),
    ):
        rows = read("example-rates", gamma=gamma, center=center)
        size = [float(row["size"]) for row in rows]
        for ax, key in zip(axes, ("beta_rmse", "bias"), strict=True):
            values = [abs(float(row[key])) for row in rows]
            label = rf"{center} mean, $\gamma$ = {gamma}"
            ax.plot(size, values, color=color, marker=marker, markersize=5, lw=1.5, label=label)
    for ax, power, start, name in zip(
        axes, (0.5, 1.0), (0.2, 0.008), ("RMSE of beta", "|bias of the risk|"), strict=True
    ):
        ends = [25, 3200]
        line = [start * (n / 25) ** -power for n in ends]
        ax.plot(ends, line, "--", color=GREY, linewidth=1.2)
        ax.set(xscale="log", yscale="log", xlabel="source rows", ylabel=name)
        ax.minorticks_off()
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=11)


synthetic, ozone = partial(choice, "synthetic", "synthetic"), partial(choice, "ozone", "ozone")
synthetic_released = partial(choice, "synthetic-released", "synthetic")
ozone_released = partial(choice, "ozone-released", "ozone")
kmm, kliep = partial(choice, "kernel", "kmm"), partial(choice, "kernel", "kliep")
synthetic_estimates, ozone_estimates = (partial(estimates, p) for p in ("synthetic", "ozone"))
