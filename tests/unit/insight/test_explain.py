"""Why did it, or did it not, run? What real histories seldom have."""

from __future__ import annotations

from onthedot import App, every
from onthedot.testing import simulate


def test_a_run_by_hand_in_the_very_moment_of_a_tick_does_not_hide_that_the_tick_was_left_out() -> None:
    app = App("memory://")

    @app.schedule(every("10s"))
    def work() -> None: ...

    with simulate(app) as world:
        world.advance("10s")
        app.schedules.pause("work")
        world.advance("10s")
        moment = world.now
        run = app.schedules.trigger("work")
        world.advance("5s")
        app.schedules.resume("work")
        answer = app.schedules.explain("work", moment)
        assert f"run {run.id} succeeded" in answer.text
        assert answer.text.startswith("it did not run at")
        assert "paused" in answer.text
        assert [each.reason for each in answer.decisions] == ["paused"]
