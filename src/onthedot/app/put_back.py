"""Undo: the definition that a schedule had at an earlier revision, put anew. History stays; it is one more change."""

from __future__ import annotations

from onthedot.app.enabled import and_pause
from onthedot.app.pinning import pinned_definitions, with_the_latest
from onthedot.app.schedules import Schedules
from onthedot.errors import Conflict
from onthedot.model.change import Author
from onthedot.model.schedule import Schedule
from onthedot.rules import edits
from onthedot.stores.base import Store


@with_the_latest
def put_back(store: Store, schedules: Schedules, name: str, revision: int, by: Author) -> Schedule:
    """Of a schedule that is there, the definition of that revision; of one that was deleted, also its pause.

    `Conflict` if that revision is forgotten, `ScheduleNotFound` if there never was such a schedule.
    """
    held = schedules.remembered(name)
    former = next((each for each in store.revisions(held.id) if each.revision == revision), None)
    if former is None:
        raise Conflict(f"revision {revision} of {name} is forgotten: nothing can be put back")
    definition = pinned_definitions(store, {name: edits.definition_of(former)})[name]
    edit = edits.put(definition)
    if held.deleted and not held.enabled:
        edit = and_pause(edit, held.paused_note or "as before")
    store.change([name], edit, by)
    return schedules.get(name)
