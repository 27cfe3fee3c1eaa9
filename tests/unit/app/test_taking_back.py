"""An option that an update gives as None: the schedule says nothing of it any more, and follows its task again."""

from __future__ import annotations

import pytest

from onthedot import App, SettingsError, every
from onthedot.clock import ManualClock
from onthedot.model.node import Node
from onthedot.model.task_info import TaskInfo
from onthedot.moments import ceil_ms
from onthedot.stores.memory import MemoryStore


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(ManualClock(ceil_ms("2026-11-16T12:00:00Z")).now_ms)


@pytest.fixture
def app(store: MemoryStore) -> App:
    app = App("memory://", store=store, misfire="skip")
    app.task(name="job", retries=3)(job)
    return app


def job() -> None: ...


def test_what_is_taken_back_follows_the_task_then_the_app_then_the_default(app: App) -> None:
    app.schedules.put("s", "job", every("1h"), retries=7, misfire="catch_up", timeout="5m", limit="mail:5", group="eu")
    back = app.schedules.update("s", retries=None, misfire=None, timeout=None, limit=None)
    assert (back.policy.retries, back.policy.misfire, back.policy.timeout_ms, back.policy.limit) == (
        3, "skip", None, None,
    )  # fmt: skip
    assert (back.given, back.policy.group) == (("group",), "eu")


def test_what_describes_the_schedule_itself_is_taken_back_too(app: App) -> None:
    app.schedules.put("s", "job", every("1h"), max_runs=5, tags=["eu"], then=["job"], mode="local")
    back = app.schedules.update("s", max_runs=None, tags=None, then=None, mode=None)
    assert (back.max_runs, back.tags, back.then, back.mode, back.given) == (None, (), (), "durable", ())


def test_a_task_that_only_a_node_has_is_followed_as_the_node_publishes_it(app: App, store: MemoryStore) -> None:
    store.join(Node("n1", "there"), [TaskInfo("mail", policy={"timeout_ms": 60_000})])
    app.schedules.put("s", "mail", every("1h"), timeout="5m", misfire="catch_up")
    back = app.schedules.update("s", timeout=None, misfire=None)
    assert (back.policy.timeout_ms, back.policy.misfire) == (60_000, "skip")


def test_what_is_no_option_cannot_be_taken_back(app: App) -> None:
    app.schedules.put("s", "job", every("1h"))
    with pytest.raises(SettingsError, match="timeout"):
        app.schedules.update("s", timeuot=None)


def test_whether_it_is_paused_is_not_said_by_none(app: App) -> None:
    app.schedules.put("s", "job", every("1h"), enabled=False, retries=7)
    assert not app.schedules.update("s", enabled=None, retries=None).enabled
