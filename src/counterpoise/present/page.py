"""Documents as pages: one HTML file each, which needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import io
import math
import re
import warnings
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from counterpoise import __version__
from counterpoise._format import printable
from counterpoise.present.palette import DARK, LIGHT, css_variables, style
from counterpoise.present.sections import SIGNS, Document, Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Inches: legible on a phone, and on half of a screen.
_WIDTH = 4.0


def render_page(document: Document, /) -> str:
    """Return a document as HTML; every text in it is escaped, control characters are replaced.

    A policy in the head of the page allows only its own style sheet and its one script, which is
    named by its hash. A script that came with the data does not run.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def finalize(value: Any) -> Any:
        return printable(value) if isinstance(value, str) and type(value) is not Markup else value

    environment = Environment(
        loader=PackageLoader("counterpoise.present"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=finalize,
    )
    environment.filters |= {"svg": _svg, "sort_value": _sort_value}
    environment.tests["block"] = lambda block, name: type(block).__name__ == name
    script = environment.get_template("page.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = environment.get_template("page.html").render(
        document=document,
        verdicts=SIGNS,
        version=__version__,
        light=css_variables(LIGHT),
        dark=css_variables(DARK),
        script_hash=f"sha256-{digest}",
    )
    return page.lstrip()


def _svg(picture: Picture) -> Any:
    from markupsafe import Markup
    from matplotlib.figure import Figure

    content = picture.plot
    if not isinstance(content, bytes):
        with style(LIGHT):
            figure = Figure(figsize=(_WIDTH, picture.height), layout="constrained")
            content(ax=figure.subplots(), theme="light")
        content = figure_file(figure)
    words = ". ".join(text for text in (picture.title, picture.caption) if text)
    return Markup(inline_svg(content, name=picture.name, description=printable(words)))


def _sort_value(cell: Any) -> str:
    """Return a cell's value as JavaScript reads it; the empty string where it is missing."""
    value = getattr(cell, "value", math.nan)
    return "" if math.isnan(value) else repr(value).replace("inf", "Infinity")


_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_COLOR = re.compile(r"#[0-9a-f]{6}\b")


_FILES: dict[str, Any] = {
    "svg": {"metadata": {"Date": None}},
    "png": {"metadata": {"Software": None}, "dpi": 160},
}


def figure_file(figure: Figure, form: str = "svg", /) -> bytes:
    """Return a figure as an SVG file with text as text, or as "png", the same bytes every time."""
    buffer = io.BytesIO()
    with style(LIGHT), warnings.catch_warnings():
        # Text stays text: the reader's fonts have what matplotlib's may lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure.savefig(buffer, format=form, **_FILES[form])
    return buffer.getvalue()


def inline_svg(content: bytes, /, *, name: str, description: str) -> str:
    """Return an SVG file as an element for an HTML page.

    Identifiers get the prefix `name`, which is unique on the page. Colours of the light theme
    become CSS variables of the page. An XML library parses and writes text and attributes, so that
    names from the data stay text. `description` is for screen readers.
    """
    variables = {color: f"var({key})" for key, color in css_variables(LIGHT).items()}
    root = ElementTree.fromstring(content)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
                parent.remove(child)  # a style sheet would apply to the whole page
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)  # HTML knows the namespace of <svg>
        attributes = dict(element.attrib)
        element.attrib.clear()
        for key, value in attributes.items():
            if key == "id":
                value = f"{name}-{value}"
            elif key in (f"{_XLINK}href", "href"):
                key, value = "href", f"#{name}-{value.removeprefix('#')}"
            elif key == "style":
                value = _COLOR.sub(lambda found: variables.get(found[0], found[0]), value)
            element.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))
    for key in ("width", "height", "version"):  # the page decides its size
        root.attrib.pop(key, None)
    root.set("style", f"--width: {root.attrib['viewBox'].split()[2]}px")
    root.set("class", "picture")
    root.set("role", "img")
    root.set("aria-label", description)
    return ElementTree.tostring(root, encoding="unicode")
