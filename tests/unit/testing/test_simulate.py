"""`simulate`: what users see of it, and that leaving out the passes that find nothing leaves out nothing else."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from onthedot import App, Context, OnthedotError, SettingsError, alert, cron, every
from onthedot.model.run import Run
from onthedot.testing import World, simulate
from onthedot.triggers.base import Trigger


def app_of(trigger: Trigger, **options: Any) -> App:
    """One schedule, "job", whose task must not be called; the app's own store cannot even be opened."""
    app = App("sqlite:////nowhere/at/all.db")

    @app.schedule(trigger, **options)
    def job() -> None:
        raise AssertionError("it was called")

    return app


def seen(world: World) -> list[tuple[Any, ...]]:
    """All that happened."""
    runs = [(run.id, run.schedule, run.scheduled_ms, run.state, run.owner, run.attempt) for run in world.runs()]
    return [*runs, *((each.id, each.schedule, each.reason, each.count) for each in world.decisions())]


def begun_at(run: Run) -> datetime:
    assert run.started_at is not None
    return run.started_at


# time


def test_a_schedule_fires_once_at_the_end_of_the_gap_when_the_clock_jumps() -> None:
    with simulate(app_of(cron("30 2 * * *", tz="Europe/Berlin")), start="2026-03-28T00:00Z") as world:
        world.advance("72h")
        assert [f"{moment:%m-%d %H:%M}" for moment in world.moments("job", tz="Europe/Berlin")] == [
            "03-28 02:30",
            "03-29 03:00",
            "03-30 02:30",
        ]
        assert world.moments("job")[1] == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
        assert world.now == datetime(2026, 3, 31, tzinfo=UTC)


def test_every_run_begins_at_its_moment_to_the_millisecond() -> None:
    with simulate(app_of(every("7s")), nodes=3) as world:
        world.advance("1h")
        assert len(world.runs()) == 3600 // 7
        assert all(run.started_ms == run.scheduled_ms for run in world.runs())


def test_time_never_goes_back() -> None:
    moments: list[datetime] = []
    app = app_of(every("7m"), depends_on="job", within="3m")  # waits for itself: some looks matter, others do not
    with simulate(app, nodes=2, tasks={"job": lambda: moments.append(world.now)}) as world:
        app.schedules.trigger("job")
        for _ in range(20):
            world.advance("11m")
        assert moments == sorted(moments)
        assert all((run.finished_ms or 0) >= (run.started_ms or 0) for run in world.runs())


@pytest.mark.parametrize("overlap", ["serial", "discard", "cover", "concurrent"])
def test_time_in_one_piece_and_in_many_are_the_same(overlap: str) -> None:
    def world_of(pieces: int) -> list[tuple[Any, ...]]:
        with simulate(app_of(every("90s"), overlap=overlap), nodes=3, takes={"job": "2m"}) as world:
            for _ in range(pieces):
                world.advance(timedelta(hours=6) / pieces)
            return seen(world)

    assert world_of(1) == world_of(48)


def test_advance_to_goes_to_a_moment_and_never_back() -> None:
    with simulate(app_of(every("1h"))) as world:
        world.advance_to("2026-01-01T05:30Z")
        assert len(world.runs()) == 5
        with pytest.raises(SettingsError, match="is over; here it is 2026-01-01T05:30"):
            world.advance_to("2026-01-01T05:00Z")


def test_a_year_of_nothing_costs_nothing() -> None:
    """Ten thousand years of polling once a second would not end."""
    with simulate(app_of(cron("0 0 29 2 *")), nodes=5) as world:
        world.advance_to("2396-03-01T00:00Z")
        assert [moment.year for moment in world.moments("job")][:3] == [2028, 2032, 2036]


def test_a_run_that_nobody_can_take_does_not_stop_the_others() -> None:
    app = app_of(every("1h"))
    with simulate(app) as world:
        app.enqueue("of another program", unchecked=True)
        world.advance("30d")
        assert len(world.moments("job")) == 720


# the same again


def test_the_same_seed_gives_the_same_world() -> None:
    def world_of(seed: int) -> list[tuple[Any, ...]]:
        with simulate(app_of(every("10m"), route="random"), nodes=3, takes={"job": "1m"}, seed=seed) as world:
            world.advance("6h")
            world.kill(2)
            world.advance("6h")
            return seen(world)

    assert world_of(1) == world_of(1)
    assert world_of(1) != world_of(2)


def test_the_same_seed_gives_the_same_world_in_another_process(tmp_path: Path) -> None:
    """Nothing hangs on the order of sets, which differs from process to process."""
    program = tmp_path / "program.py"
    program.write_text(
        "from onthedot import App, every\n"
        "from onthedot.testing import simulate\n"
        "app = App('memory://')\n"
        "def job(): ...\n"
        "for number in range(20): app.schedule(every('15m'), name=f's{number}', route='lfu')(job)\n"
        "with simulate(app, nodes=3, takes={'job': '2m'}) as world:\n"
        "    world.advance('3h'); world.kill(1); world.advance('1h')\n"
        "    print([(run.id, run.schedule, run.owner, run.attempt) for run in world.runs()])\n"
    )
    said = {
        subprocess.run(
            [sys.executable, program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
    assert "s19" in said.pop()


# nodes


def test_a_killed_node_s_run_is_taken_over_when_its_lease_is_over() -> None:
    with simulate(app_of(cron("0 3 * * *")), nodes=2, takes={"job": "10m"}) as world:
        world.advance_to("2026-01-01T03:05Z")
        (run,) = world.runs()
        world.kill(world.node_of(run) or 0)
        world.advance("20s")
        assert world.runs()[0].owner == run.owner, "its lease is not over yet"
        world.advance("1h")
        (again,) = world.runs()
        assert (again.id, again.state, again.attempt, again.crashes) == (run.id, "succeeded", 2, 1)
        late = begun_at(again) - datetime(2026, 1, 1, 3, 5, tzinfo=UTC)
        assert timedelta(seconds=20) < late <= timedelta(seconds=41), "one lease, and the time to see it"


def test_a_killed_node_delays_nothing_that_it_had_not_begun() -> None:
    with simulate(app_of(every("1m")), nodes=3) as world:
        world.advance("10m")
        world.kill(1)
        world.kill(3)
        world.advance("10m")
        assert [run.started_ms for run in world.runs()] == [run.scheduled_ms for run in world.runs()]
        assert len(world.runs()) == 20


def test_what_was_missed_while_no_node_lived_is_one_decision_and_one_run() -> None:
    with simulate(app_of(every("1h"))) as world:
        world.advance("90m")
        world.kill(1)
        world.advance("10h")
        assert len(world.runs()) == 1
        world.start(1)
        world.advance("1m")
        assert [run.scheduled_at.hour for run in world.runs()] == [1, 11]
        (decision,) = world.decisions()
        assert (decision.reason, decision.count) == ("misfire", 9)


def test_at_most_once_is_lost_with_its_node() -> None:
    app = app_of(cron("0 3 * * *"), delivery="at_most_once")
    with simulate(app, nodes=2, takes={"job": "10m"}) as world:
        world.advance_to("2026-01-01T03:05Z")
        world.kill(world.node_of(world.runs()[0]) or 0)
        world.advance("1h")
        assert [run.state for run in world.runs()] == ["lost"]


def test_killing_a_dead_node_and_starting_a_live_one_are_refused() -> None:
    with simulate(app_of(every("1m")), nodes=2) as world:
        world.kill(1)
        with pytest.raises(SettingsError, match="no node 1 is alive; there are 2"):
            world.kill(1)
        with pytest.raises(SettingsError, match="node 2 is alive"):
            world.start(2)


def test_a_broadcast_runs_on_every_node() -> None:
    with simulate(app_of(every("1h"), route="broadcast"), nodes=3) as world:
        world.advance("1h")
        shards = [run for run in world.runs() if run.is_shard]
        assert {world.node_of(run) for run in shards} == {1, 2, 3}
        assert world.moments("job") == [datetime(2026, 1, 1, 1, tzinfo=UTC)]


def test_a_drained_node_takes_no_more() -> None:
    app = app_of(every("1m"))
    with simulate(app, nodes=2) as world:
        drained = next(node.id for node in app.nodes.list() if node.name == "node-1")
        app.nodes.drain(drained)
        world.advance("1m")
        world.advance("1h")
        late = world.runs()[3:]
        assert len(late) >= 57
        assert {world.node_of(run) for run in late} == {2}


# what people do


def test_nothing_starts_inside_a_pause_and_it_is_recorded() -> None:
    app = app_of(every("1h"))
    with simulate(app) as world:
        world.advance("2h")
        app.schedules.pause("job")
        world.advance("5h")
        assert len(world.runs()) == 2
        app.schedules.resume("job")
        world.advance("1h")
        assert [moment.hour for moment in world.moments("job")] == [1, 2, 8]
        (decision,) = world.decisions("job")
        assert (decision.reason, decision.count) == ("paused", 5)


def test_a_trigger_and_an_enqueued_run_happen_in_the_world_and_can_be_waited_for() -> None:
    app = app_of(cron("0 0 1 1 *"))
    with simulate(app, takes={"job": "30s"}) as world:
        run = app.runs.wait(app.schedules.trigger("job").id)
        assert run.state == "succeeded"
        late = app.enqueue("job", delay="2h")
        world.advance("3h")
        assert begun_at(app.runs.get(late.id)) == datetime(2026, 1, 1, 2, 0, 30, tzinfo=UTC)
        assert world.moments("job") == []


def test_what_is_enqueued_after_a_long_idle_time_begins_at_once() -> None:
    """The leases were not renewed in the time that was jumped over; they must be before anything is started."""
    app = app_of(cron("0 0 1 1 *"))
    with simulate(app, nodes=3) as world:
        world.advance("100d")
        run = app.enqueue("job")
        world.advance("1s")
        assert app.runs.get(run.id).started_at == run.due_at


def test_a_running_task_can_be_cancelled() -> None:
    app = app_of(every("1d"))
    with simulate(app, takes={"job": "6h"}) as world:
        world.advance("25h")
        app.runs.cancel(world.runs()[0].id)
        world.advance("1m")
        assert world.runs()[0].state == "cancelled"


def test_the_app_is_its_own_again_after_the_world(tmp_path: Path) -> None:
    app = App(f"sqlite:///{tmp_path / 'jobs.db'}")
    app.open_store(create=True)
    app.task(name="job")(lambda: None)
    with simulate(app):
        app.enqueue("job")
    assert list(app.runs.list()) == []
    app.close()


# overlap, dependencies, time-outs


@pytest.mark.parametrize(
    ("overlap", "begun", "reasons"),
    [("serial", 26, set()), ("discard", 20, {"overlap"}), ("cover", 59, set()), ("concurrent", 60, set())],
)
def test_each_kind_of_overlap(overlap: str, begun: int, reasons: set[str]) -> None:
    with simulate(app_of(every("1m"), overlap=overlap), nodes=2, takes={"job": "2m20s"}) as world:
        world.advance("1h")
        assert len(world.moments("job")) == begun
        assert {each.reason for each in world.decisions()} == reasons
        skipped = {(run.reason or "").partition(":")[0] for run in world.runs(state="skipped")}
        assert skipped == ({"misfire"} if overlap == "serial" else set())
        most = max(_at_once(world.runs(), run.started_ms or 0) for run in world.runs() if run.started_ms)
        assert most == (3 if overlap == "concurrent" else 1)


def _at_once(runs: list[Run], moment_ms: int) -> int:
    return sum((run.started_ms or 1 << 62) <= moment_ms < (run.finished_ms or 1 << 62) for run in runs)


def test_a_schedule_waits_for_the_one_it_depends_on() -> None:
    app = App("memory://")
    app.schedule(cron("0 3 * * *"), name="load")(app.task(name="load")(lambda: None))
    app.schedule(cron("0 3 * * *"), name="report", depends_on="load", within="2h")(
        app.task(name="report")(lambda: None)
    )
    with simulate(app, takes={"load": lambda run: "40m" if run.scheduled_at.day < 3 else "5h"}) as world:
        world.advance("3d")
        first, second, third = world.runs("report")
        assert timedelta() <= begun_at(first) - datetime(2026, 1, 1, 3, 40, tzinfo=UTC) <= timedelta(seconds=6)
        assert second.state == "succeeded"
        assert (third.state, third.reason) == ("skipped", "dependency")


def test_a_run_longer_than_its_time_out_is_timed_out() -> None:
    with simulate(app_of(cron("0 3 * * *"), timeout="5m"), takes={"job": "10m"}) as world:
        world.advance("1d")
        (run,) = world.runs()
        assert (run.state, (run.finished_ms or 0) - (run.started_ms or 0)) == ("timed_out", 300_000)


# calling


def test_tasks_are_really_called_if_asked_and_wait_in_virtual_time() -> None:
    app, called = App("memory://"), []

    @app.schedule(every("1d"), args={"audience": "eu"}, retries=1)
    def digest(ctx: Context, audience: str) -> str:
        called.append((ctx.attempt, audience))
        ctx.sleep("2h")
        if ctx.attempt == 1:
            raise ValueError("not yet")
        return "sent"

    with simulate(app, call=True) as world:
        world.advance("30h")
        (run,) = world.runs("digest")
        assert called == [(1, "eu"), (2, "eu")]
        assert (run.state, run.result, (run.finished_ms or 0) - (run.started_ms or 0)) == (
            "succeeded",
            "sent",
            7_200_000,
        )


def test_async_tasks_sleep_in_virtual_time_and_their_time_out_counts_there() -> None:
    app = App("memory://")

    @app.schedule(every("1d"), timeout="3h")
    async def slow(ctx: Context) -> int:
        await asyncio.sleep(7200 if ctx.scheduled_at.day == 2 else 14_400)
        return 1

    with simulate(app, call=True) as world:
        world.advance("60h")
        first, second = world.runs()
        assert (first.state, (first.finished_ms or 0) - (first.started_ms or 0)) == ("succeeded", 7_200_000)
        assert (second.state, (second.finished_ms or 0) - (second.started_ms or 0)) == ("timed_out", 10_800_000)


def test_a_stand_in_is_called_instead_of_the_task() -> None:
    called: list[datetime] = []

    def fake(ctx: Context) -> None:
        called.append(ctx.scheduled_at)

    with simulate(app_of(every("1h")), tasks={"job": fake}) as world:
        world.advance("2h")
        assert called == world.moments("job")


def test_hooks_are_called_with_the_tasks() -> None:
    app, ended = App("memory://"), []
    app.schedule(every("1h"))(lambda_named("job"))
    app.on("run_finished")(lambda event: ended.append(event.outcome))
    with simulate(app) as world:
        world.advance("1h")
        assert ended == []
    with simulate(app, call=True) as world:
        world.advance("1h")
        assert ended == ["succeeded"]


def lambda_named(name: str) -> Callable[[], None]:
    def function() -> None: ...

    function.__name__ = name
    return function


def test_a_task_cannot_move_the_world() -> None:
    app = App("memory://")

    @app.schedule(every("1h"))
    def job() -> None:
        app.runs.wait(app.enqueue("other").id)

    app.task(name="other")(lambda: None)

    with simulate(app, call=True) as world:
        world.advance("1h")
        assert "wait with ctx.sleep()" in (world.runs("job")[0].error or "")


def test_a_task_that_enqueues_itself_for_ever_is_said_to() -> None:
    app = App("memory://")

    @app.schedule(every("1h"))
    def job() -> None:
        app.enqueue("job")

    with (
        simulate(app, call=True) as world,
        pytest.raises(OnthedotError, match="does not come to rest at 2026-01-01T01"),
    ):
        world.advance("1h")


# mistakes


def test_names_that_the_app_does_not_have_are_refused_with_the_nearest() -> None:
    with (
        pytest.raises(SettingsError, match="takes= names 'jop', which the app does not have; did you mean 'job'"),
        simulate(app_of(every("1h")), takes={"jop": "1m"}),
    ):
        pass
    with (
        pytest.raises(SettingsError, match="tasks= names 'x', which the app does not have; there are job"),
        simulate(app_of(every("1h")), tasks={"x": print}),
    ):
        pass


def test_an_app_that_runs_cannot_be_simulated() -> None:
    app = App("memory://")
    with app.running(), pytest.raises(OnthedotError, match="stop"), simulate(app):
        pass


def test_the_fixture_makes_worlds(onthedot_world: Callable[..., World]) -> None:
    world = onthedot_world(app_of(every("1h")), nodes=2)
    world.advance("2h")
    assert len(world.moments("job")) == 2


def test_alerts_are_sent_in_a_world_too_and_what_succeeds_is_not_overdue() -> None:
    app = App("memory://")
    app.task(name="hook")(lambda: None)
    ops = alert("ops", task="hook", on=["failure", "overdue"], overdue="26h")

    @app.schedule(every("1h"), alerts=[ops])
    def good() -> None: ...

    @app.schedule(every("1h"), alerts=[ops])
    def bad() -> None:
        raise ValueError("always")

    with simulate(app, start="2026-03-29T00:00Z", nodes=2, call=True) as world:
        world.advance("5d")
        told = [(run.args["schedule"], run.args["on"], run.due_at.isoformat()) for run in world.runs() if run.args]
    assert sorted(told) == [
        ("bad", "failure", "2026-03-29T01:00:00+00:00"),
        ("bad", "overdue", "2026-03-30T02:00:00+00:00"),
    ]
