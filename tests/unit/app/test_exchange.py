"""Schedules out of one store and into another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onthedot import App, FileError, cron, dates, every
from onthedot.model.schedule import Schedule


def filled() -> App:
    app = App("memory://")

    @app.schedule(cron("0 3 * * *", tz="Europe/Berlin") - dates("2026-12-24"), retries=2, timeout="10m")
    def nightly() -> None: ...

    app.sync()
    put = app.schedules.put
    put("digest", "send", every("15m"), args={"to": "eu"}, overlap="discard", tags=["eu"], max_runs=9, unchecked=True)
    put("last", "send", every("1h"), then=["nightly"], unchecked=True)
    app.schedules.pause("digest", note="migration")
    return app


def definition(schedule: Schedule) -> tuple[Any, ...]:
    return (
        *(schedule.task, schedule.args, schedule.trigger, schedule.policy, schedule.given, schedule.tags),
        *(schedule.mode, schedule.max_runs, schedule.auto_remove, schedule.then, schedule.on_failure),
        *(schedule.origin, schedule.declared_hash, schedule.enabled, schedule.paused_note),
    )


def problems(document: object) -> tuple[str, ...]:
    with pytest.raises(FileError) as caught:
        App("memory://").schedules.import_document(document)
    return caught.value.problems


def test_what_was_exported_is_the_same_in_another_store() -> None:
    here, there = filled(), App("memory://")
    document = json.loads(json.dumps(here.schedules.export()))
    done = there.schedules.import_document(document)
    assert (done.created, done.written) == (("digest", "last", "nightly"), True)
    for name in done.created:
        assert definition(there.schedules.get(name)) == definition(here.schedules.get(name))
    assert there.schedules.import_document(document).unchanged == done.created
    assert there.schedules.export() == here.schedules.export()


def test_a_dry_run_tells_what_differs_and_writes_nothing() -> None:
    app = filled()
    document = app.schedules.export()
    app.schedules.update("digest", trigger=every("20m"), overlap="serial", misfire="skip")
    app.schedules.resume("digest")
    app.schedules.delete("last")
    app.schedules.put("only", "send", every("1h"), unchecked=True)
    before = app.schedules.export()
    done = app.schedules.import_document(document, dry_run=True)
    assert (done.created, done.unchanged, done.only_here, done.written) == (("last",), ("nightly",), ("only",), False)
    (changed,) = done.changed
    assert changed.name == "digest"
    assert changed.fields["overlap"] == (None, "discard")
    assert changed.fields["misfire"] == ("skip", None)
    assert changed.fields["enabled"] == (True, False)
    assert changed.fields["paused_note"] == (None, "migration")
    assert [changed.fields["trigger"][number]["interval"] for number in (0, 1)] == ["20m", "15m"]
    assert app.schedules.export() == before
    app.schedules.import_document(document)
    assert app.schedules.get("digest").enabled is False
    assert app.schedules.import_document(document).changed == ()


def test_a_schedule_that_is_paused_only_here_is_resumed() -> None:
    app = filled()
    document = app.schedules.export()
    app.schedules.pause("last", note="by hand")
    app.schedules.import_document(document)
    assert app.schedules.get("last").enabled


def test_all_that_is_wrong_is_told_with_its_place_and_nothing_is_written() -> None:
    good = {"name": "good", "task": "t", "trigger": {"v": 1, "type": "every", "interval": "1m"}}
    found = problems(
        {
            "onthedot": 1,
            "schedules": [
                good,
                {**good, "tsk": 1},
                {**good, "name": "a/b"},
                {**good, "name": "c", "options": {"overlap": "never"}},
                {**good, "name": "d", "trigger": {"v": 1, "type": "cron", "text": "0 0 31 2 *"}},
                {**good, "name": "e", "tags": "x"},
                "text",
                {"name": "f"},
            ],
        }
    )
    places = [problem.split(": ")[0] for problem in found]
    assert places == [
        "schedule 2 (good)",
        "schedule 2 (good)",
        "schedule 3 (a/b)",
        "schedule 4 (c)",
        "schedule 5 (d)",
        "schedule 6 (e)",
        "schedule 7",
        "schedule 8 (f)",
        "schedule 8 (f)",
    ]
    assert found[0] == "schedule 2 (good): tsk: unknown key; did you mean task?"


@pytest.mark.parametrize("document", [[], {}, {"schedules": {}}, {"schedules": []}, {"onthedot": 2, "schedules": []}])
def test_what_is_no_export_is_told_so(document: object) -> None:
    assert len(problems(document)) == 1
