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

__all__ = ["figure_svg", "inline_svg"]

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_FONT = re.compile(r"font: (?:(?P<weight>\w+) )?(?P<size>[\d.]+px) [^;]*")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_COLOR = re.compile(r"#[0-9a-f]{6}\b")
_FAMILY = re.compile(r"font-family: [^;]*;? ?")
_LONG_NUMBER = re.compile(r"(\d+\.\d\d)\d+")


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
    become CSS variables of the page, and text takes its font. An XML library parses and writes text
    and attributes, so that names from the data stay text. `description` is for screen readers.
    """
    variables = {color: f"var({key})" for key, color in css_variables(LIGHT).items()}
    root = ElementTree.fromstring(content)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)  # a style sheet would apply to the whole page
    used = _referenced(root)
    for element in root.iter():
        _share_style(element)
    for element in root.iter():
        attributes = dict(element.attrib)
        element.attrib.clear()
        for key, value in attributes.items():
            if key != "id" or value in used:
                _set(element, key, value, name, variables)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("class", "picture")
    root.set("role", "img")
    root.set("aria-label", description)
    return _serialise(root)


def _referenced(root: ElementTree.Element) -> set[str]:
    found = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            found |= set(_REFERENCE.findall(value))
            if key in (f"{{{_XLINK}}}href", "href"):
                found.add(value.removeprefix("#"))
    return found


def _share_style(group: ElementTree.Element) -> None:
    """Move a style that all markers share to their group: half the size of a scatter plot."""
    styles = {child.get("style", "") for child in group}
    markers = all(child.tag == f"{{{_SVG}}}use" for child in group)
    if len(group) > 1 and len(styles) == 1 and markers and "style" not in group.attrib:
        for child in group:
            child.attrib.pop("style", None)
        group.set("style", styles.pop())


def _set(
    element: ElementTree.Element, key: str, value: str, name: str, variables: dict[str, str]
) -> None:
    if key == "id":
        value = f"{name}-{value}"
    elif key in (f"{{{_XLINK}}}href", "href"):
        key, value = "href", f"#{name}-{value.removeprefix('#')}"
    elif key == "style":
        value = _COLOR.sub(lambda found: variables.get(found[0], found[0]), value)
        value = _FAMILY.sub("", _FONT.sub(_font, value))
    elif key in ("d", "x", "y"):
        value = _LONG_NUMBER.sub(r"\1", value)
    elif key == "transform" and value.startswith("rotate(-0 "):
        return
    element.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))


def _font(found: re.Match[str]) -> str:
    weight = f"; font-weight: {found['weight']}" if found["weight"] else ""
    return f"font-size: {found['size']}{weight}"


def _serialise(root: ElementTree.Element) -> str:
    # HTML knows the namespace of <svg>; prefixes would only be in the way.
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    return ElementTree.tostring(root, encoding="unicode")
