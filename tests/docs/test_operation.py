"""What the guides for operators say is so."""

from __future__ import annotations

import re
from pathlib import Path

from onthedot.app.files.jobs import read_jobs
from onthedot.app.telemetry.metrics import Metrics
from onthedot.events import TOPICS, Emitter
from onthedot.execution.thread_pool import Counts
from onthedot.node.node import Gauges

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


def page(name: str) -> str:
    return (GUIDES / name).read_text(encoding="utf-8")


def test_every_job_file_in_a_guide_can_be_read() -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", page("files.md"), re.MULTILINE | re.DOTALL)
    assert [len(read_jobs(block, path="files.md").entries) for block in blocks] == [4]


def test_the_guide_names_every_metric_and_no_other() -> None:
    gauges = Gauges({"fast": Counts(1, 1, 0, 0)}, 0, 0)
    metrics = Metrics(Emitter(lambda event, error: None), lambda: gauges)
    there = {
        f"{family.name}_total" if family.type == "counter" else family.name for family in metrics.registry.collect()
    }
    assert set(re.findall(r"^\| `(onthedot_\w+)`", page("metrics.md"), re.MULTILINE)) == there


def test_the_guide_names_every_event() -> None:
    (names,) = re.findall(r"^The names: (.*?)\. Each is", page("metrics.md"), re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(\w+)`", names)) == set(TOPICS)
