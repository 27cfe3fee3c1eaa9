"""The command line. `main` is what the console script calls."""

from onthedot.cli.program import main

__all__ = ["main"]
