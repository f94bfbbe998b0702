"""Figures as SVG elements of a page."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from counterpoise.present.palette import LIGHT, css_variables, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_COLOR = re.compile(r"#[0-9a-f]{6}\b")
# What the page decides: its size, and that of the text's font.
_DROPPED = ("width", "height", "version")


def figure_svg(figure: Figure, /) -> bytes:
    """Return a figure as an SVG file with text as text, the same bytes every time."""
    buffer = io.BytesIO()
    with style(LIGHT), warnings.catch_warnings():
        # Text stays text: the reader's fonts have what matplotlib's may lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
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
    for key in _DROPPED:
        root.attrib.pop(key, None)
    root.set("class", "picture")
    root.set("role", "img")
    root.set("aria-label", description)
    return ElementTree.tostring(root, encoding="unicode")
