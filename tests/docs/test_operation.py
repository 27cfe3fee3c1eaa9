"""What the guides for operators say is so."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from onthedot.app.files.jobs import read_jobs
from onthedot.app.telemetry.metrics import Metrics
from onthedot.events import TOPICS, Emitter, Event
from onthedot.execution.thread_pool import Counts
from onthedot.model.run import Run
from onthedot.node.node import Gauges

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


def page(name: str) -> str:
    return (GUIDES / name).read_text(encoding="utf-8")


def test_every_job_file_in_a_guide_can_be_read() -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", page("files.md"), re.MULTILINE | re.DOTALL)
    assert [len(read_jobs(block, path="files.md").entries) for block in blocks] == [4, 1]


def test_the_guide_names_every_metric_and_no_other() -> None:
    gauges = Gauges({"fast": Counts(1, 1, 0, 0)}, 0, 0)
    metrics = Metrics(Emitter(lambda event, error: None), lambda: gauges)
    there = {
        f"{family.name}_total" if family.type == "counter" else family.name for family in metrics.registry.collect()
    }
    assert set(re.findall(r"^\| `(onthedot_\w+)`", page("metrics.md"), re.MULTILINE)) == there


def test_the_guide_has_every_event_with_its_fields_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", page("metrics.md").partition("## Events")[2], re.MULTILINE)
    assert {topic: re.findall(r"`(\w+)`", names) for topic, names in rows} == {
        topic: [each.name for each in fields(kind)] for topic, kind in TOPICS.items()
    }


OF_RUNS = [kind for topic, kind in TOPICS.items() if topic.startswith("run_")]


@pytest.mark.parametrize("kind", OF_RUNS, ids=lambda kind: kind.__name__)
def test_what_an_event_says_of_a_run_has_the_name_that_it_has_on_the_run(kind: type[Event]) -> None:
    names = {"id" if each.name == "run_id" else each.name for each in fields(kind)}
    assert names <= {*(each.name for each in fields(Run)), *vars(Run)}


def test_what_metrics_are_labelled_with_is_a_field_of_events() -> None:
    metrics = Metrics(Emitter(lambda event, error: None), lambda: None, by_schedule=True)
    labels = {label for each in vars(metrics).values() for label in getattr(each, "_labelnames", ())}
    assert labels == {"task", "schedule", "outcome", "reason", "stage"}
    assert labels <= {each.name for kind in TOPICS.values() for each in fields(kind)}
