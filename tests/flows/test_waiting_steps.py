"""A flow whose step cannot begin says which, and why; it does not say that it runs."""

from __future__ import annotations

from onthedot import App, every
from onthedot.moments import from_ms
from onthedot.testing import simulate


def test_a_step_that_no_node_has_is_told_as_waiting_by_the_story_and_by_explain() -> None:
    app = App("memory://")

    @app.task
    def first() -> str:
        return "done"

    flow = app.flow("etl")
    flow.step("far", after=[flow.step(first)])
    with simulate(app) as world:
        app = world.app
        app.schedules.put("etl", flow, every("1h"), unchecked=True)
        world.advance("1h")
        world.advance("5s")
        (run,) = app.runs.list(schedule="etl")
        why = "no live node has the task far"
        assert f"Far waits: {why}" in app.runs.story(run.id).text
        assert "runs." not in app.runs.story(run.id).text
        assert f"its step far waits: {why}" in app.schedules.explain("etl", from_ms(run.scheduled_ms)).text
