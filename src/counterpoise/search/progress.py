"""A progress bar for terminals and notebooks, when a search is asked to be verbose."""

from __future__ import annotations

import sys
import time

from counterpoise.search.evaluate import Progress

__all__ = ["text_progress"]


def text_progress(start: float, /, *, width: int = 30) -> Progress:
    """Return a callback that draws fits done, fits per second and time left on standard error."""

    def draw(done: int, total: int) -> None:
        seconds = max(time.monotonic() - start, 1e-9)
        left = seconds / done * (total - done)
        filled = width * done // total
        bar = "#" * filled + "." * (width - filled)
        end = "\n" if done == total else ""
        sys.stderr.write(
            f"\r[{bar}] {done}/{total} fits, {done / seconds:.1f}/s, {left:.0f} s left {end}"
        )
        sys.stderr.flush()

    return draw
