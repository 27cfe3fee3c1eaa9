"""Pictures of a storm, from the summary of `scripts/chaos --json`: python -m bench.storms SUMMARY [--page PAGE]

How many runs began in each second, and how late the latest of them was, with everything that was done to it marked.
With `--page` they are written beside that page, and stand at its end.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import plots
from bench.plots import Axis, Line, Mark, Plot
from bench.report import picture

_HEADING = "## In pictures"


def plots_of(summary: Mapping[str, Any]) -> list[Plot]:
    """Of one storm."""
    started = [(int(second), int(runs), int(late_ms)) for second, runs, late_ms in summary["started"]]
    marks = tuple(Mark(float(at_s), str(what)) for at_s, what in summary["faults_at"])
    seconds = Axis("seconds")
    begun = Line("runs that began", tuple((second, runs) for second, runs, _ in started))
    late = Line("the latest tick of the second", tuple((second, max(late_ms, 1)) for second, _, late_ms in started))
    where = f"a storm on {summary['store']}, seed {summary['seed']}"
    return [
        Plot("started", f"Runs begun in {where}", seconds, Axis("a second"), (begun,), marks=marks, marked="a fault"),
        Plot("late", f"Lateness in {where}", seconds, Axis("ms", is_log=True), (late,), marks=marks, marked="a fault"),
    ]


def add_to(page: Path, drawn: list[Plot]) -> None:
    """At the end of the page, in place of those that stood there."""
    text = page.read_text(encoding="utf-8").partition(f"\n{_HEADING}\n")[0].rstrip()
    lines = [line for plot in drawn for line in picture(plot, page.stem)]
    page.write_text("\n".join([text, "", _HEADING, *lines, ""]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.storms", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("summary", type=Path)
    parser.add_argument("--page", type=Path, help="the page of the same storm; otherwise beside the summary")
    options = parser.parse_args()
    for file in filter(None, (options.summary, options.page)):
        if not file.is_file():
            parser.error(f"{file}: there is no such file")
    drawn = [plot for plot in plots_of(json.loads(options.summary.read_text(encoding="utf-8"))) if not plot.is_empty]
    beside = options.page or options.summary
    for plot in drawn:
        (beside.parent / plot.file_of(beside.stem)).write_text(plots.draw(plot), encoding="utf-8")
    if options.page:
        add_to(options.page, drawn)


if __name__ == "__main__":
    main()
