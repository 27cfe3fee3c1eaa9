"""scripts/bench TOPIC [--store KIND] [--json] [--markdown FILE]

scripts/bench all [--only TOPIC,TOPIC] [--folder docs/benchmarks]    one after the other, each with its page
scripts/bench index [--folder docs/benchmarks]                       the page that lists the goals of all pages

Each turn waits up to BENCH_PATIENCE_S seconds (600) until others leave the machine alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from bench import every_page
from bench.places import STORES
from bench.report import Report
from bench.topics import BY_STORE, TOPICS, Page, measure

FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"


def main() -> int:
    options = _options()
    console = Console(stderr=options.json)
    if options.topic == "all":
        return every_page.measure_all(options.only, options.folder, console)
    if options.topic == "index":
        every_page.write_index(options.folder)
        return 0
    store = options.store or ("sqlite" if options.topic in BY_STORE else "")
    report = measure(Page(options.topic, store), lambda text: console.print(f"[dim]· {text}[/]"))
    _give(report, options, console)
    return 0


def _give(report: Report, options: argparse.Namespace, console: Console) -> None:
    if options.json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        report.show(console)
    if options.markdown:
        report.write(options.markdown)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("topic", choices=[*TOPICS, *BY_STORE, "all", "index"])
    parser.add_argument("--store", choices=STORES, help=f"for {', '.join(BY_STORE)}; sqlite if left out")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables to a page as well")
    parser.add_argument("--only", type=_topics, default=[], metavar="TOPIC,TOPIC", help="with all: these")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="with all and index: where the pages lie")
    options = parser.parse_args()
    if options.store and options.topic not in BY_STORE:
        parser.error(f"--store goes with {' and '.join(BY_STORE)}; {options.topic} has its stores in it")
    if options.only and options.topic != "all":
        parser.error("--only goes with all")
    for folder in (options.folder, options.markdown.parent if options.markdown else options.folder):
        if not folder.is_dir():
            parser.error(f"there is no folder {folder}")
    return options


def _topics(text: str) -> list[str]:
    named = [each.strip() for each in text.split(",") if each.strip()]
    unknown = [each for each in named if each not in (*TOPICS, *BY_STORE)]
    if unknown:
        known = ", ".join((*TOPICS, *BY_STORE))
        raise argparse.ArgumentTypeError(f"no topic {', '.join(unknown)}; there are {known}")
    return named


if __name__ == "__main__":
    sys.exit(main())
