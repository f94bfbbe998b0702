"""The command line: parses, calls, prints."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the `counterpoise` command."""
    try:
        from counterpoise.cli.app import app
        from counterpoise.cli.terminal import hear_terminations
    except ModuleNotFoundError as error:
        sys.exit(
            f"The command line needs the package {error.name!r}. "
            'Install it with: pip install "counterpoise[cli]"'
        )
    except KeyboardInterrupt:
        sys.exit(130)
    hear_terminations()
    try:
        app()
    except OSError as error:
        # Standard output is full. What is left of it must not be written again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        print(f"Error: the answer cannot be printed: {error.strerror}.", file=sys.stderr)
        sys.exit(2)
