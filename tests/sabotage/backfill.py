"""Backfill: once each, in the schedule's slots, so many at once."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory

BACKFILL = (
    Sabotage(
        name="filled-in-twice",
        rule="A missing tick is filled in once, however many backfills name it.",
        file="stores/engine/lookout.py",
        find="if run.key in taken and taken[run.key].run_id != run.id:",
        replace="if False:",
        tests=memory("TestBackfill"),
    ),
    Sabotage(
        name="left-out-for-good",
        rule="A tick that was left out when it was to be filled in is filled in by the next backfill.",
        file="stores/engine/settling.py",
        find="_LONG_AGO if left_out else None",
        replace="None",
        tests=memory("TestBackfill"),
    ),
    Sabotage(
        name="filled-in-beside-itself",
        rule="A filled tick takes the slot of its schedule.",
        file="stores/engine/lookout.py",
        find="None if run.is_flow or run.is_filled_in else judge(run)",
        replace="None if run.is_flow else judge(run)",
        tests=memory("TestBackfill"),
    ),
    Sabotage(
        name="beside-holds-a-slot",
        rule="What is filled in beside a schedule's runs holds up none of them.",
        file="model/run.py",
        find=" and not self.runs_beside",
        replace="",
        tests=memory("TestBackfill"),
    ),
    Sabotage(
        name="filled-in-without-the-schedules-version",
        rule="Whoever adds a run of a schedule raises its version.",
        file="stores/engine/lookout.py",
        find="        raise_versions(tx, [schedule])\n",
        replace="",
        tests=memory("TestBackfill"),
    ),
    Sabotage(
        name="filled-ticks-count-for-the-backfill",
        rule="Filled ticks are counted as runs of their schedule.",
        file="stores/memory_prune.py",
        find='run.step or "") if run.is_kept_by_flow else',
        replace='run.step or "") if run.is_step else',
        tests=memory("TestBackfill"),
    ),
    Sabotage(
        name="filled-ticks-go-with-the-backfill",
        rule="Filled ticks are the schedule's history.",
        file="stores/memory_prune.py",
        find="    if run.is_kept_by_flow:\n        return _OF_FLOWS",
        replace="    if run.is_step:\n        return _OF_FLOWS",
        tests=memory("TestBackfill"),
    ),
)
