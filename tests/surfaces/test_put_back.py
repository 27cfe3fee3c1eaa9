"""Undo: an earlier definition is put back as a new change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from onthedot import App, every
from onthedot.app.put_back import put_back
from onthedot.errors import Conflict, ScheduleNotFound
from onthedot.model.change import Author

BY = Author("ann", "dashboard", "put back")


@pytest.fixture
def app() -> Iterator[App]:
    app = App("memory://")

    @app.task
    def report(to: str) -> None: ...

    app.open_store(create=True)
    app.schedules.put("nightly", "report", every("1d"), args={"to": "ann"}, tags=["eu"])
    yield app
    app.close()


def _undo(app: App, revision: int) -> None:
    put_back(app.open_store(), app.schedules, "nightly", revision, BY)


def test_an_edit_is_undone_by_the_former_definition(app: App) -> None:
    before = app.schedules.get("nightly")
    app.schedules.update("nightly", trigger=every("1h"), args={"to": "bob"})
    _undo(app, before.revision)
    now = app.schedules.get("nightly")
    assert (now.trigger, now.args, now.tags, now.revision) == (before.trigger, before.args, before.tags, 3)
    assert app.schedules.changes("nightly").items[0].by == BY


def test_a_pause_is_left_as_it_is_by_undoing_an_edit(app: App) -> None:
    app.schedules.update("nightly", args={"to": "bob"})
    app.schedules.pause("nightly", note="OPS-412")
    _undo(app, 1)
    assert app.schedules.get("nightly").paused_note == "OPS-412"


def test_what_was_deleted_comes_back_as_it_was_and_paused_if_it_was(app: App) -> None:
    app.schedules.pause("nightly", note="OPS-412")
    before = app.schedules.get("nightly")
    app.schedules.delete("nightly")
    _undo(app, before.revision)
    now = app.schedules.get("nightly")
    assert (now.id, now.trigger, now.enabled, now.paused_note) == (before.id, before.trigger, False, "OPS-412")


def test_a_revision_that_is_forgotten_cannot_be_put_back(app: App) -> None:
    with pytest.raises(Conflict, match="revision 7 of nightly is forgotten"):
        _undo(app, 7)
    with pytest.raises(ScheduleNotFound):
        put_back(app.open_store(), app.schedules, "never", 1, BY)
