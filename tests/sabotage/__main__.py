"""`python -m tests.sabotage`: takes the rules of the core out, one at a time, and looks whether a test notices.

Exit code 1 if one does not, 2 if the tests are red without any sabotage. With `--storms` no test is run: virtual storms
rage on each copy, and the verdict of the checker must name a broken promise.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from tests.sabotage.runner import NOTICED, Result, prepared_tree, run_all, what_is_red
from tests.sabotage.sabotage import Sabotage
from tests.sabotage.sabotages import SABOTAGES
from tests.sabotage.storms import SEEN_BY_STORMS, page_of, see_all


def main(arguments: Sequence[str] | None = None) -> int:
    """Run those that were asked for, or all, and print what noticed them."""
    asked = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 200)
    chosen = [each for each in SABOTAGES if not asked.names or any(name in each.name for name in asked.names)]
    if not chosen:
        console.print(f"No sabotage is called {' or '.join(asked.names)}. To see all: --list")
        return 2
    if asked.list:
        console.print(_listed(chosen))
        return 0
    if asked.storms:
        return _by_storms(console, asked)
    with prepared_tree() as tree:
        red = None if asked.at_once else what_is_red(tree, _tests_of(chosen))
        if red is not None:
            console.print(f"The tests are red without any sabotage: {red}")
            return 2
        results = [_told(console, result) for result in run_all(tree, chosen, asked.jobs)]
    console.print(_table(results))
    unnoticed = [result for result in results if result.verdict not in NOTICED]
    console.print(f"{len(results) - len(unnoticed)} of {len(results)} sabotages were noticed.")
    return 1 if unnoticed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("sabotage", description="Take the rules of the core out, one at a time.")
    parser.add_argument("names", nargs="*", help="parts of the names of those to run; all if there are none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--list", action="store_true", help="only say which there are")
    parser.add_argument("--at-once", action="store_true", help="do not look first whether all is green without them")
    parser.add_argument("--storms", action="store_true", help="let virtual storms judge, instead of tests")
    parser.add_argument("--seeds", type=int, default=300, help="so many storms for each sabotage, at most")
    parser.add_argument("--markdown", metavar="FILE", help="of storms: write the table as a page")
    return parser


def _by_storms(console: Console, asked: argparse.Namespace) -> int:
    chosen = [each for each in SEEN_BY_STORMS if not asked.names or any(name in each.name for name in asked.names)]
    results = []
    with prepared_tree() as tree:
        for each in see_all(tree, chosen, asked.seeds, asked.jobs):
            results.append(each)
            told = "not seen" if each.promise is None else f"{each.promise}, after {each.storms}"
            console.print(
                f"{each.took_s:5.0f} s  {each.sabotage.name}: {escape(told)}", highlight=False, soft_wrap=True
            )
            if asked.markdown:
                Path(asked.markdown).write_text(page_of(results, asked.seeds))
    unseen = [each for each in results if each.promise is None]
    console.print(f"{len(results) - len(unseen)} of {len(results)} sabotages were seen by the checker.")
    return 1 if unseen else 0


def _tests_of(sabotages: Iterable[Sabotage]) -> list[str]:
    return list(dict.fromkeys(test for each in sabotages for test in each.tests))


def _told(console: Console, result: Result) -> Result:
    line = f"{result.verdict:8}{result.took_s:5.0f} s  {result.sabotage.name}: {escape(result.by)}"
    console.print(line, highlight=False, soft_wrap=True)
    return result


def _listed(sabotages: Iterable[Sabotage]) -> Table:
    table = Table("sabotage", "the rule that it takes out", "where", box=None)
    for each in sabotages:
        table.add_row(each.name, each.rule, each.file)
    return table


def _table(results: Iterable[Result]) -> Table:
    table = Table("sabotage", "the rule that it takes out", "noticed by", "s", "verdict", box=None)
    for result in results:
        colour = "green" if result.verdict in NOTICED else "red"
        verdict = f"[{colour}]{result.verdict}[/]"
        table.add_row(result.sabotage.name, result.sabotage.rule, escape(result.by), f"{result.took_s:.0f}", verdict)
    return table


if __name__ == "__main__":
    sys.exit(main())
