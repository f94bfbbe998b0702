"""What the displays share: axes to draw on, a theme, and ``plot``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from counterpoise._validation import check_choice
from counterpoise.present.palette import DARK, LIGHT, Palette, palette_of, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Display"]

_THEMES = {"light": LIGHT, "dark": DARK}


class Display:
    """Base of the displays: a subclass has a `size` and draws itself in `_draw`."""

    ax_: Axes
    figure_: Figure
    #: Width and height in inches of a new figure.
    size: tuple[float, float] = (6.0, 3.8)

    def plot(self, ax: Any = None, *, theme: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure of pyplot, which a notebook shows.
        theme : {"light", "dark"}, optional
            Default: the shades that suit the background of the axes, in matplotlib's current style.

        Returns
        -------
        self
        """
        palette = None if theme is None else _THEMES[check_choice(theme, "theme", _THEMES)]
        with style(palette):
            if ax is None:
                import matplotlib.pyplot as plt

                _, ax = plt.subplots(figsize=self.size, layout="constrained")
            self.ax_, self.figure_ = ax, ax.figure
            self._draw(ax, palette or palette_of(ax))
        return self

    def _draw(self, ax: Any, palette: Palette) -> None:
        raise NotImplementedError
