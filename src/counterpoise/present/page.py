"""Documents as pages: one HTML file each, which needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from importlib.resources import files
from typing import Any

from counterpoise import __version__
from counterpoise._format import printable
from counterpoise.present.palette import DARK, LIGHT, Palette, css_variables
from counterpoise.present.sections import SIGNS, Document, Picture
from counterpoise.present.svg import inline_svg


def render_page(document: Document, /) -> str:
    """Return a document as HTML; every text in it is escaped, control characters are replaced.

    A policy in the head of the page allows only its own style sheet and its one script, which is
    named by its hash. A script that came with the data does not run.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("counterpoise.present"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if _is_text(value) else value,
    )
    environment.filters |= {"svg": _svg, "sort_value": _sort_value}
    environment.tests |= {"block": lambda block, name: type(block).__name__ == name}
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = environment.get_template("page.html").render(
        document=document,
        verdicts=SIGNS,
        version=__version__,
        css=Markup(_asset("style.css")),
        light=Markup(_declarations(LIGHT)),
        dark=Markup(_declarations(DARK)),
        script=Markup(script),
        script_hash=Markup(f"sha256-{digest}"),
    )
    return page.lstrip()


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not hasattr(value, "__html__")


@cache
def _asset(name: str) -> str:
    return files("counterpoise.present").joinpath("templates", name).read_text("utf-8")


def _declarations(palette: Palette) -> str:
    return " ".join(f"{name}: {value};" for name, value in css_variables(palette).items())


def _svg(picture: Picture) -> Any:
    from markupsafe import Markup

    words = ". ".join(text for text in (picture.title, picture.caption) if text)
    return Markup(inline_svg(picture.draw(), name=picture.name, description=printable(words)))


def _sort_value(cell: Any) -> str:
    """Return a cell's value as JavaScript reads it; the empty string where it is missing."""
    value = getattr(cell, "value", math.nan)
    if math.isnan(value):
        return ""
    return repr(value).replace("inf", "Infinity")
