"""One look for every figure of the docs: legible on a light and on a dark page.

The background is transparent, text and axes are a grey between the two pages, and the colours are
those of Okabe and Ito that keep a contrast of about 3 or more on both.
"""

from cycler import cycler

GREY = "#808080"
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"

FIGURE_STYLE = {
    "axes.edgecolor": GREY,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": GREY,
    "axes.prop_cycle": cycler(color=[BLUE, VERMILLION, GREEN, PURPLE]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": GREY,
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "figure.facecolor": "none",
    "figure.figsize": (6.0, 3.4),
    "font.size": 12,
    "grid.alpha": 0.25,
    "grid.color": GREY,
    "legend.frameon": False,
    "legend.labelcolor": GREY,
    "lines.linewidth": 2,
    "savefig.facecolor": "none",
    "text.color": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
}


# Figures of guide and tutorials: dark text, which the style sheet turns light on a dark page.
INK = "#333333"
_TEXT = "axes.labelcolor axes.titlecolor legend.labelcolor text.color xtick.labelcolor"
GUIDE_STYLE = FIGURE_STYLE | dict.fromkeys([*_TEXT.split(), "ytick.labelcolor"], INK)


def apply(gallery_conf: dict, script: str) -> None:
    """Set the style before each gallery script (sphinx-gallery resets it after each)."""
    import matplotlib

    matplotlib.rcParams.update(GUIDE_STYLE)
