"""scripts/bench TOPIC [--store KIND] [--json] [--markdown FILE]"""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path

from rich.console import Console

from bench.places import STORES
from bench.report import Report, machine

TOPICS = ("timing", "cli", "dispatch", "execution", "documents", "stores", "simulation")
BY_STORE = ("planning", "running", "flows", "pruning", "statistics", "web", "enqueue")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("topic", choices=[*TOPICS, *BY_STORE])
    parser.add_argument(
        "--store",
        choices=STORES,
        help="for planning, running, flows, pruning, statistics, web and enqueue; sqlite if left out",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables to a page as well")
    options = parser.parse_args()
    if options.store and options.topic not in BY_STORE:
        parser.error(f"--store goes with {' and '.join(BY_STORE)}; {options.topic} has its stores in it")
    topic = import_module(f"bench.{options.topic}")  # not all: each has peers of its own, which must be installed
    report = Report(
        f"scripts/bench {options.topic}" + (f" --store {options.store}" if options.store else ""), machine()
    )
    console = Console(stderr=options.json)

    def say(text: str) -> None:
        console.print(f"[dim]· {text}[/]")

    if options.topic in BY_STORE:
        topic.run(report, say, options.store or "sqlite")
    else:
        topic.run(report, say)
    if options.json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        report.show(console)
    if options.markdown:
        options.markdown.write_text(report.as_markdown(), encoding="utf-8")


main()
