"""scripts/bench timing|planning|running|execution|documents|stores [--json] [--markdown FILE]"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console

from bench import documents, execution, planning, running, stores, timing
from bench.report import Report, machine

TOPICS = {
    "timing": timing.run,
    "planning": planning.run,
    "running": running.run,
    "execution": execution.run,
    "documents": documents.run,
    "stores": stores.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("topic", choices=TOPICS)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables to a page as well")
    options = parser.parse_args()
    report = Report(f"scripts/bench {options.topic}", machine())
    console = Console(stderr=options.json)
    TOPICS[options.topic](report, lambda text: console.print(f"[dim]· {text}[/]"))
    if options.json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        report.show(console)
    if options.markdown:
        options.markdown.write_text(report.as_markdown(), encoding="utf-8")


main()
