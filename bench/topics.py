"""What can be measured, where its page lies, and one way to measure it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple

from bench import calm
from bench.report import Report, machine

Say = Callable[[str], None]
TOPICS = ("timing", "cli", "dispatch", "execution", "documents", "stores", "simulation", "scale")
BY_STORE = ("planning", "running", "flows", "growth", "pruning", "statistics", "web", "enqueue")
_ON_BOTH = ("sqlite", "postgresql")


class Page(NamedTuple):
    """One page of docs/benchmarks, and what is measured for it."""

    topic: str
    store: str = ""

    @property
    def name(self) -> str:
        """Of its file, without the ending: that of SQLite, with which everybody begins, has the topic's name alone."""
        return self.topic if self.store in ("", "sqlite") else f"{self.topic}-{self.store}"

    @property
    def arguments(self) -> list[str]:
        return [self.topic, *(["--store", self.store] if self.store else [])]

    @property
    def command(self) -> str:
        return f"scripts/bench {' '.join(self.arguments)}"


PAGES: tuple[Page, ...] = (
    *(Page("timing"), Page("cli"), Page("execution"), Page("simulation"), Page("dispatch"), Page("documents")),
    Page("stores"),
    *(Page(topic, store) for topic in BY_STORE for store in _ON_BOTH),
    Page("scale"),
)
"""In this order, the quick ones first."""


def chosen(only: Sequence[str]) -> list[Page]:
    """Those of these topics; all of them if none is named."""
    return [page for page in PAGES if not only or page.topic in only]


def measure(page: Page, say: Say) -> Report:
    """Tables, plots and goals; it says how long it took, and who else used the machine meanwhile."""
    topic = import_module(f"bench.{page.topic}")  # not all: each has peers of its own, which must be installed
    report = Report(page.command, machine())
    meter, began = calm.Meter(), time.monotonic()
    if page.topic in BY_STORE:
        topic.run(report, say, page.store or "sqlite")
    else:
        topic.run(report, say)
    others, minutes = meter.read().others, (time.monotonic() - began) / 60
    report.machine["took"] = f"{minutes:.1f} minutes"
    report.machine["others meanwhile"] = f"{others:.2f} of a core on the average"
    if others > calm.MOST:
        report.warnings.append(
            f"The machine was loaded: others used {others:.2f} of a core on the average. No figure here is that of a "
            "calm machine."
        )
    return report
