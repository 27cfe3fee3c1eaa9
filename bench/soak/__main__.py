"""scripts/soak --hours H [--store KIND] [--nodes 2] [--markdown PAGE] [--record FILE]

Nodes under a steady load, looked at every ten seconds: memory, handles, threads, tables, lateness. Ctrl-C ends it
early; the page is written all the same. `--page-of FILE` writes the page of a record that lies there already.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
from pathlib import Path

from rich.console import Console

from bench.places import STORES
from bench.soak.page import report_of
from bench.soak.sample import Recording
from bench.soak.soaking import EVERY_S, Plan, soak


def main() -> int:
    """Exit code 1 if something grew that should not."""
    options = _options()
    console = Console()
    if options.page_of is None:
        options.page_of = options.record or Path(tempfile.mkdtemp(prefix="onthedot-soak-")) / "record.jsonl"
        console.print(f"[dim]· the record is {options.page_of}[/]")
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        plan = Plan(options.store, options.hours, options.nodes, options.schedules, options.keep * 60_000, options.note)
        with options.page_of.open("w", encoding="utf-8") as record:
            soak(plan, record, stop, lambda text: console.print(f"[dim]· {text}[/]"))
    report = report_of(Recording.read(options.page_of))
    report.show(console)
    if options.markdown:
        report.write(options.markdown)
    return int(any(not goal.reached for goal in report.goals if not goal.text.startswith("wanted")))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=_hours, default=1.0)
    parser.add_argument("--store", choices=STORES, default="sqlite")
    parser.add_argument("--nodes", type=_number, default=2, help="processes; 2 if left out")
    parser.add_argument("--schedules", type=_number, default=10, help="that tick each second; 10 if left out")
    parser.add_argument("--keep", type=_number, default=5, metavar="MINUTES", help="retention; 5 if left out")
    parser.add_argument("--note", default="", help="what else the machine does meanwhile; it stands on the page")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the page and its plots there")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep what was seen there, as lines of JSON")
    parser.add_argument("--page-of", type=Path, metavar="FILE", help="soak nothing: the page of such a record")
    options = parser.parse_args()
    for file in (options.markdown, options.record):
        if file is not None and not file.parent.is_dir():
            parser.error(f"{file}: there is no folder {file.parent}")
    if options.page_of is not None and not options.page_of.is_file():
        parser.error(f"--page-of {options.page_of}: there is no such file")
    return options


def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def _hours(text: str) -> float:
    hours = float(text)
    if hours * 3600 < 3 * EVERY_S:
        raise argparse.ArgumentTypeError(f"{text} h is less than three looks, one every {EVERY_S} s")
    return hours


if __name__ == "__main__":
    sys.exit(main())
