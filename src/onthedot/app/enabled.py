"""`enabled=` of a schedule: it is defined and paused, or resumed, in one edit, so that nothing starts in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from onthedot.model.schedule import Schedule
from onthedot.rules import edits
from onthedot.rules.effects import Before, Edit, Effects

DECLARED_PAUSE = "enabled = false in "
"""How the note of a pause begins that a declaration asked for: such a pause ends when it no longer asks for it."""


def was_declared(schedule: Schedule) -> bool:
    """Whether it is paused because its declaration says so, and not by an operator."""
    return (schedule.paused_note or "").startswith(DECLARED_PAUSE)


def as_asked(edit: Edit, options: Mapping[str, Any], where: str) -> Edit:
    """The edit, and a pause or a resume if `enabled` is among the options; without it a pause stays as it is."""
    match options.get("enabled"):
        case False:
            return and_pause(edit, f"enabled=False in {where}")
        case True:
            return and_pause(edit, None)
        case _:
            return edit


def and_pause(edit: Edit, paused: str | None, may_resume: Callable[[Schedule], bool] = lambda schedule: True) -> Edit:
    """The edit, then paused with this note or, at None, not paused any more. Who paused it before keeps his note."""

    def both(before: Before, now_ms: int) -> Effects:
        done = edit(before, now_ms)
        schedule = done.schedule or before.schedule
        assert schedule is not None
        now = replace(before, schedule=schedule)
        if paused is not None and schedule.enabled:
            return replace(edits.pause(paused)(now, now_ms), decisions=done.decisions)
        if paused is None and not schedule.enabled and may_resume(schedule):
            resumed = edits.resume()(now, now_ms)
            return replace(resumed, decisions=done.decisions + resumed.decisions)
        return done

    return both
