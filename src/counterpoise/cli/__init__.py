"""The command line: parses, calls, prints."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the `counterpoise` command."""
    try:
        from counterpoise.cli.app import app
    except ModuleNotFoundError as error:
        sys.exit(
            f"The command line needs the package {error.name!r}. "
            'Install it with: pip install "counterpoise[cli]"'
        )
    except KeyboardInterrupt:
        sys.exit(130)
    app()
