"""Colours, line styles and markers of all pictures.

The hues are those of Okabe and Ito, which differ for every kind of colour blindness; each has a
shade for a light and one for a dark page. Line styles, markers and the brightness of the weight
classes differ too, so that a print without colour is legible.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, as hexadecimal strings, no two the same.

    `estimate` is of numbers in the target, `mark` of what is singled out, `classes` are of the
    weight classes from the least on.
    """

    ink: str
    soft: str
    grid: str
    paper: str
    estimate: str
    truth: str
    source: str
    target: str
    mark: str
    classes: tuple[str, ...]


# Each colour for a light page and for a dark page.
_COLORS = {
    "ink": ("#1c2430", "#e6eaf0"),
    "soft": ("#5b6675", "#a3adba"),
    "grid": ("#e1e5eb", "#2f3742"),
    "paper": ("#ffffff", "#151a21"),
    "estimate": ("#00875f", "#2fc795"),
    "truth": ("#111111", "#fefefe"),
    "source": ("#0a6fae", "#5ab6ea"),
    "target": ("#c95800", "#f18a45"),
    "mark": ("#eaf4f0", "#1c2e2b"),
}
_CLASSES = (
    ("#b9d3e6", "#7fb2d8", "#3d8cc4", "#0f5f99", "#06304f"),
    ("#2b465c", "#3a6d94", "#559dcb", "#90caf0", "#dcf0ff"),
)
LIGHT, DARK = (
    Palette(**{name: shades[i] for name, shades in _COLORS.items()}, classes=classes)
    for i, classes in enumerate(_CLASSES)
)

# The estimators of the reproduction, light and dark; blue and green are the paper's.
REPRODUCTION = {
    "unweighted": ("#999999", "#9a9a9a"),
    "source": ("#555555", "#cfcfcf"),
    "weighted": ("#0073b3", "#4aa8e0"),
    "normalized": ("#56b4e8", "#8fd0f5"),
    "truncated": ("#d55f01", "#f07f3a"),
    "controlled_known": ("#009e73", "#25c094"),
    "controlled_sample": ("#cc79a7", "#dd93be"),
    "released_beta": ("#7a4b00", "#c99a52"),
    "oracle": ("#e0a800", "#ebc148"),
}

_SHAPE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": "medium",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "grid.linewidth": 0.8,
    "legend.fontsize": "medium",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "svg.fonttype": "none",
    "svg.hashsalt": "counterpoise",
    "text.parse_math": False,
    "text.usetex": False,
}


def palette_of(ax: Any, /) -> Palette:
    """Return the palette that suits the background of an axes; the light one if it has none."""
    from matplotlib.colors import to_rgba

    for color in (ax.get_facecolor(), ax.figure.get_facecolor()):
        red, green, blue, alpha = to_rgba(color)
        if alpha > 0.5:
            return LIGHT if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else DARK
    return LIGHT


def style(palette: Palette | None, /) -> AbstractContextManager[None]:
    """Draw in the style of a theme inside a `with` block; with None, in the user's own style."""
    import matplotlib

    if palette is None:
        return matplotlib.rc_context()
    names = {
        palette.ink: "axes.labelcolor axes.titlecolor legend.labelcolor text.color "
        "xtick.labelcolor ytick.labelcolor",
        palette.soft: "axes.edgecolor xtick.color ytick.color",
        palette.paper: "axes.facecolor figure.facecolor savefig.facecolor",
        palette.grid: "grid.color",
    }
    colors: Any = {name: color for color, group in names.items() for name in group.split()}
    return matplotlib.rc_context(_SHAPE | colors)


def css_variables(palette: Palette, /) -> dict[str, str]:
    """Return the palette as CSS custom properties, name to value."""
    place, classes = (0 if palette is LIGHT else 1), enumerate(zip(*_CLASSES, strict=True))
    shades = _COLORS | {f"class-{i}": pair for i, pair in classes}
    shades |= {f"r-{name.replace('_', '-')}": pair for name, pair in REPRODUCTION.items()}
    return {f"--{name}": pair[place] for name, pair in shades.items()}
