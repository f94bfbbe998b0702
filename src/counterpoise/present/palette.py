"""Colours, line styles and markers: the one place that says what anything looks like.

The hues are Okabe and Ito's, which stay apart for every kind of colour blindness; each has a
shade for a light and one for a dark page. In print without colour, line styles and markers differ
too, and the shades of the weight classes are ordered by brightness.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = [
    "BOTH",
    "DARK",
    "LIGHT",
    "MARKERS",
    "METHOD_LABELS",
    "REPRODUCTION",
    "Palette",
    "colors",
    "css_variables",
    "line_style",
    "method_color",
    "method_label",
    "method_marker",
    "palette_of",
    "style",
]


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, as hexadecimal strings.

    No two colours are the same string: a picture in the light theme can be recoloured by
    replacing one string by another.

    Attributes
    ----------
    ink, soft, grid, paper : str
        Text, secondary text and axes, grid lines, background.
    unweighted, weighted, controlled, fourth, fifth, sixth : str
        Of the risk methods; the last three serve whatever else is drawn beside them.
    truth : str
        Known truth.
    source, target : str
        The two samples.
    mark : str
        What is singled out, such as a row of the indistinguishable set.
    classes : tuple of str
        Weight classes, least first.
    """

    ink: str
    soft: str
    grid: str
    paper: str
    unweighted: str
    weighted: str
    controlled: str
    fourth: str
    fifth: str
    sixth: str
    truth: str
    source: str
    target: str
    mark: str
    classes: tuple[str, ...]

    @property
    def hollow(self) -> str:
        """What a hollow marker is filled with."""
        return self.paper if len(self.paper) == 7 else "none"


LIGHT = Palette(
    ink="#1c2430",
    soft="#5b6675",
    grid="#e1e5eb",
    paper="#ffffff",
    unweighted="#7d7d7d",
    weighted="#0072b2",
    controlled="#00875f",
    fourth="#d55e00",
    fifth="#b3598c",
    sixth="#a67c00",
    truth="#111111",
    source="#0a6fae",
    target="#c95800",
    mark="#eaf4f0",
    classes=("#b9d3e6", "#7fb2d8", "#3d8cc4", "#0f5f99", "#06304f"),
)
DARK = Palette(
    ink="#e6eaf0",
    soft="#a3adba",
    grid="#2f3742",
    paper="#151a21",
    unweighted="#a8a8a8",
    weighted="#56b4e9",
    controlled="#2fc795",
    fourth="#f0803c",
    fifth="#dd93bd",
    sixth="#e3bd4a",
    truth="#ffffff",
    source="#5ab6ea",
    target="#f18a45",
    mark="#1c2e2b",
    classes=("#2b465c", "#3a6d94", "#559dcb", "#90caf0", "#dcf0ff"),
)
# For a transparent background, of which nothing is known: a contrast of about 3 with white and with
# nearly black alike.
BOTH = Palette(
    ink="#808080",
    soft="#818181",
    grid="#80808040",
    paper="#80808000",
    unweighted="#8c8c8c",
    weighted="#2a8fd0",
    controlled="#0fa37a",
    fourth="#e0702a",
    fifth="#c56fa3",
    sixth="#b8912a",
    truth="#b58900",
    source="#2b8fd1",
    target="#e1712b",
    mark="#0fa37a22",
    classes=("#8fb3cc", "#5fa3d0", "#2c90d2", "#8a63d2", "#d64f9e"),
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

# Estimators in the words of someone who has not read the paper.
METHOD_LABELS = {"source": "unweighted"}
_METHODS = {
    # color, line style, marker
    "source": ("unweighted", "--", "s"),
    "weighted": ("weighted", "-.", "^"),
    "controlled": ("controlled", "-", "o"),
}
_OTHERS = (
    ("fourth", (0, (5, 1, 1, 1, 1, 1)), "D"),
    ("fifth", (0, (1, 1)), "v"),
    ("sixth", (0, (7, 2)), "P"),
)
MARKERS = {"truth": "d", "before": "o", "after": "o"}

_SHAPE: dict[str, Any] = {
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
    "legend.fontsize": "small",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "svg.fonttype": "none",
    "svg.hashsalt": "counterpoise",
    "text.parse_math": False,
    "text.usetex": False,
}


def _place(method: str) -> tuple[str, Any, str]:
    # Any other method keeps its own look, whatever is drawn beside it.
    return _METHODS.get(method) or _OTHERS[sum(method.encode()) % len(_OTHERS)]


def method_label(method: str, /) -> str:
    """Return a method's name as it is shown."""
    return METHOD_LABELS.get(method, method)


def method_color(palette: Palette, method: str, /) -> str:
    """Return a method's colour."""
    return getattr(palette, _place(method)[0])


def line_style(method: str, /) -> Any:
    """Return a method's line style."""
    return _place(method)[1]


def method_marker(method: str, /) -> str:
    """Return a method's marker."""
    return _place(method)[2]


def palette_of(ax: Any, /) -> Palette:
    """Return the palette that suits the background of an axes, be it transparent."""
    from matplotlib.colors import to_rgba

    for color in (ax.get_facecolor(), ax.figure.get_facecolor()):
        red, green, blue, alpha = to_rgba(color)
        if alpha > 0.5:
            return LIGHT if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else DARK
    return BOTH


def colors(palette: Palette, /) -> dict[str, Any]:
    """Return matplotlib's settings for text, axes and background in a theme."""
    return {
        "axes.edgecolor": palette.soft,
        "axes.facecolor": palette.paper,
        "axes.labelcolor": palette.ink,
        "axes.titlecolor": palette.ink,
        "figure.facecolor": palette.paper,
        "grid.color": palette.grid,
        "legend.labelcolor": palette.ink,
        "savefig.facecolor": palette.paper,
        "text.color": palette.ink,
        "xtick.color": palette.soft,
        "xtick.labelcolor": palette.ink,
        "ytick.color": palette.soft,
        "ytick.labelcolor": palette.ink,
    }


@contextmanager
def style(palette: Palette | None, /) -> Iterator[None]:
    """Draw in the house style for a while; with None, in the style that the user has set."""
    import matplotlib

    settings: Any = {} if palette is None else {**_SHAPE, **colors(palette)}
    with matplotlib.rc_context(settings):
        yield


def css_variables(palette: Palette, /) -> dict[str, str]:
    """Return the palette as CSS custom properties, name to value."""
    own = {f"--{name}": value for name, value in vars(palette).items() if isinstance(value, str)}
    own |= {f"--class-{i}": value for i, value in enumerate(palette.classes)}
    place = 0 if palette is LIGHT else 1
    return own | {
        f"--r-{name.replace('_', '-')}": shades[place] for name, shades in REPRODUCTION.items()
    }
