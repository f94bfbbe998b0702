"""The page of a reproduction: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

__all__ = ["format_p", "reproduction_page"]


def reproduction_page(
    *,
    title: str,
    facts: Sequence[tuple[str, str]],
    claims: Sequence[Any],
    errata: Sequence[tuple[str, str, str]],
    figures: Sequence[tuple[str, str, bytes]],
    notes: Sequence[str] = (),
) -> str:
    """Return the page.

    Parameters
    ----------
    title : str
    facts : sequence of (name, value)
        How the numbers were made.
    claims : sequence of Claim
    errata : sequence of (where, printed, correct)
    figures : sequence of (name, caption, bytes of an SVG file)
    notes : sequence of str
        What the reader must know first, such as a problem that was left out.
    """
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["number"] = _number
    environment.filters["p"] = format_p
    source = files("counterpoise.report").joinpath("templates/reproduce.html").read_text("utf-8")
    pictures = [
        (name, caption, "data:image/svg+xml;base64," + base64.b64encode(content).decode())
        for name, caption, content in figures
    ]
    return environment.from_string(source).render(
        title=title, facts=facts, claims=claims, errata=errata, figures=pictures, notes=notes
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"  # noqa: RUF001


def format_p(log10_p: float | None, /) -> str:
    """Return a p-value from its logarithm: 0.032, 4e-12, or 1e-412."""
    if log10_p is None:
        return "–"  # noqa: RUF001
    if log10_p > -3:
        return f"{10**log10_p:.2g}"
    exponent = int(log10_p // 1)
    return f"{10 ** (log10_p - exponent):.0f}e{exponent}"
