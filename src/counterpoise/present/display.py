"""What the displays share: axes to draw on, a theme, and ``plot``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from counterpoise._validation import check_choice
from counterpoise.present.palette import BOTH, DARK, LIGHT, Palette, palette_of, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Display", "drawing"]

_THEMES = {"light": LIGHT, "dark": DARK, "both": BOTH}


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
            Default: a new figure.
        theme : {"light", "dark", "both"}, optional
            "both" is transparent and legible on a light and on a dark page. Default:
            matplotlib's current style.

        Returns
        -------
        self
        """
        with drawing(ax, theme, size=self.size) as (ax, palette):
            self.ax_, self.figure_ = ax, ax.figure
            self._draw(ax, palette)
        return self

    def _draw(self, ax: Any, palette: Palette) -> None:
        raise NotImplementedError


@contextmanager
def drawing(
    ax: Any, theme: str | None, /, *, size: tuple[float, float], panels: int = 1
) -> Iterator[tuple[Any, Palette]]:
    """Yield the axes to draw on (an array of them for several panels) and the palette.

    Without `ax`, pyplot makes a figure, so that a notebook shows it. Axes that are given keep their
    style; without a theme, their background decides which shades are used.
    """
    palette = None if theme is None else _THEMES[check_choice(theme, "theme", _THEMES)]
    with style(palette):
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(1, panels, figsize=size, layout="constrained", squeeze=False)
            ax = ax[0, 0] if panels == 1 else ax[0]
        elif panels > 1:
            ax = np.asarray(ax, dtype=object).ravel()
            if ax.shape[0] != panels:
                raise ValueError(
                    f"`ax` must hold {panels} axes, one per panel; got {ax.shape[0]}. "
                    f"Pass the axes of plt.subplots(1, {panels}), or None."
                )
        yield ax, palette or palette_of(ax if panels == 1 else ax[0])
