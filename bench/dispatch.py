"""Dispatch."""

from collections.abc import Callable

from bench.report import Report


def run(report: Report, say: Callable[[str], None]) -> None: ...
