"""Flows in tests of users: done at once, in the caller's thread."""

from __future__ import annotations

from typing import Any

import pytest

from onthedot import App, Skip
from onthedot.model.states import State
from onthedot.testing import inline


def declared() -> tuple[App, Any]:
    app = App("memory://")

    @app.task
    def numbers(many: int) -> list[int]:
        return list(range(many))

    @app.task
    async def inverse(number: int) -> float:
        return 12 / number

    @app.task
    def add(parts: list[float]) -> float:
        return sum(parts)

    @app.task
    def check(wanted: bool) -> None:
        if not wanted:
            raise Skip("not so deep")

    @app.flow
    def inner(number: int) -> None:
        inverse(number)

    @app.flow
    def outer(many: int, deep: bool = False) -> None:
        listed = numbers(many)
        inner.options(after=[check(deep)]).map(listed)
        add(inverse.options(name="parts").map([1, 2, 3]))

    return app, outer


def test_a_flow_is_done_when_enqueue_returns() -> None:
    app, outer = declared()
    with inline(app):
        run = app.enqueue(outer, args={"many": 2})
        assert run.state is State.SUCCEEDED
        assert {each.name: each.state for each in app.runs.get(run.id).steps}["inner"] == "skipped"
        (added,) = app.runs.list(parent=run.id, task="add")
        assert added.result == 22


def test_what_a_step_raised_is_raised_also_from_a_flow_in_the_flow() -> None:
    app, outer = declared()
    with inline(app), pytest.raises(ZeroDivisionError):
        app.enqueue(outer, args={"many": 1, "deep": True})
    with inline(app, raises=False):
        run = app.enqueue(outer, args={"many": 1, "deep": True})
        assert run.state is State.FAILED


def test_replaced_tasks_are_called_for_steps() -> None:
    app, outer = declared()
    with inline(app, tasks={"numbers": lambda many: [4] * many}):
        assert app.enqueue(outer, args={"many": 2, "deep": True}).state is State.SUCCEEDED
