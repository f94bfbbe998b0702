"""Pages: one HTML file each, that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from counterpoise import __version__
from counterpoise.experiments.claims import format_p
from counterpoise.report.palette import DARK, LIGHT, Palette, css_variables
from counterpoise.report.svg import inline_svg

__all__ = ["Picture", "render", "reproduction_page"]

# Beside the palette of the pictures: what only pages have.
_PAGE = {
    "light": {
        "--page": "#f5f7f9",
        "--line": "#d9dee5",
        "--link": "#0a64a4",
        "--good": "#0a6b4d",
        "--fair": "#8a5a00",
        "--bad": "#b3261e",
    },
    "dark": {
        "--page": "#0d1116",
        "--line": "#303a46",
        "--link": "#7cc3f5",
        "--good": "#3ccf9c",
        "--fair": "#f0b545",
        "--bad": "#ff8a7a",
    },
}
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class Picture:
    """A figure on a page.

    Attributes
    ----------
    name : str
        Its address on the page.
    title, caption : str
    svg : Markup
        The picture, safe to be put on the page.
    """

    name: str
    title: str
    caption: str
    svg: Any

    @classmethod
    def make(cls, content: bytes, /, *, name: str, title: str = "", caption: str = "") -> Picture:
        """Make one of the bytes of an SVG file."""
        from markupsafe import Markup

        description = f"{title}. {caption}" if title else caption
        svg = Markup(inline_svg(content, name=name, description=description))
        return cls(name, title, caption, svg)


def render(template: str, /, **values: Any) -> str:
    """Fill one of the templates; what comes from outside is escaped.

    The page forbids itself everything but its own style sheet and its one script, which is named
    by its hash: a script that got in by way of the data would not run.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("counterpoise.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "count": lambda rows: f"{rows:,} row" + "s" * (rows != 1),
        "duration": _duration,
        "number": lambda value: "–" if value is None else f"{value:.4g}",  # noqa: RUF001
        "p": format_p,
        "sentence": lambda text: text[:1].upper() + text[1:],
        "word": lambda count: _WORDS[count] if count < len(_WORDS) else str(count),
    }
    script = _asset("sort.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template(template).render(
        version=__version__,
        css=Markup(_asset("style.css")),
        light=Markup(_declarations(LIGHT, "light")),
        dark=Markup(_declarations(DARK, "dark")),
        script=Markup(script),
        script_hash=Markup(f"sha256-{digest}"),
        **values,
    )


@cache
def _asset(name: str) -> str:
    return files("counterpoise.report").joinpath("templates", name).read_text("utf-8")


def _declarations(palette: Palette, theme: str) -> str:
    variables = css_variables(palette) | _PAGE[theme]
    return " ".join(f"{name}: {value};" for name, value in variables.items())


def reproduction_page(
    *,
    title: str,
    facts: Sequence[tuple[str, str]],
    claims: Sequence[Any],
    errata: Sequence[tuple[str, str, str]],
    figures: Sequence[tuple[str, str, bytes]],
    notes: Sequence[str] = (),
) -> str:
    """Return the page of a reproduction.

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
    pictures = [
        Picture.make(content, name=name, caption=caption) for name, caption, content in figures
    ]
    return render(
        "reproduce.html",
        title=title,
        facts=facts,
        claims=claims,
        errata=errata,
        pictures=pictures,
        notes=notes,
    )


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
