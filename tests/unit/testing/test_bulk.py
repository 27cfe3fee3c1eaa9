"""Which moments of a simulation are taken in bulk: as far as nothing but plain ticks is near."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from onthedot import App, OnthedotError, every
from onthedot.model.node import Node
from onthedot.model.policy import Policy
from onthedot.model.schedule import Schedule
from onthedot.testing import World, simulate
from onthedot.testing.bulk import Course, Foresight, Places, courses_of, is_lasting
from onthedot.triggers.codec import encode

NODE = Node("n", "n", tasks=("job",))
PLENTY = Places(200, 100)
HOUR_MS, MARGIN_MS, DAY_MS = 3_600_000, 120_000, 86_400_000


def course(name: str, interval: str, takes_ms: int | None = 0, **fields: Any) -> Course:
    trigger = every(interval)
    row = Schedule(name, name, "job", encode(trigger), next_run_ms=trigger.next_ms(0), **fields)
    (found,) = courses_of([(row, takes_ms)], NODE)
    return found


def moments(courses: Sequence[Course], *, horizon_ms: int = DAY_MS, places: Places = PLENTY) -> list[int]:
    foresight = Foresight(courses, 0, horizon_ms=horizon_ms, margin_ms=MARGIN_MS, places=places)
    return [moment.at_ms for moment in foresight.moments()]


def test_all_moments_are_taken_until_shortly_before_something_else_happens() -> None:
    taken = moments([course("a", "1h"), course("b", "90m")], horizon_ms=6 * HOUR_MS)
    assert taken == [each * HOUR_MS // 2 for each in (2, 3, 4, 6, 8, 9, 10)]
    assert moments([course("a", "1h")], horizon_ms=HOUR_MS + MARGIN_MS - 1) == []


def test_what_is_due_together_is_in_the_order_in_which_it_is_planned() -> None:
    courses = [course("b", "1h"), course("a", "30m")]
    foresight = Foresight(courses, 0, horizon_ms=DAY_MS, margin_ms=MARGIN_MS, places=PLENTY)
    _, second, *_ = foresight.moments()
    assert [each.schedule.id for each, _ in second.due] == ["a", "b"]


def test_a_run_that_outlasts_the_next_tick_of_its_schedule_is_left_to_the_nodes_in_time() -> None:
    assert moments([course("a", "1h", HOUR_MS), course("b", "5m")])[-1] == DAY_MS - 5 * 60_000
    assert moments([course("a", "1h", HOUR_MS + 1), course("b", "5m")])[-1] == 2 * HOUR_MS - 5 * 60_000
    assert moments([course("a", "1m", 60_001)]) == []


def test_a_function_may_say_anything_so_its_run_may_last_until_the_next_tick() -> None:
    assert len(moments([course("a", "1h", None)])) == 23
    assert moments([course("a", "1m", None)]) == []


def test_more_than_a_node_can_begin_is_left_to_the_nodes() -> None:
    courses = [course(f"{number}", "1h", 60_000) for number in range(5)]
    assert len(moments(courses, places=Places(6, 1))) == 23
    assert moments(courses, places=Places(5, 1)) == []
    busy = [course(f"{number}", "2m", 60_000) for number in range(5)]
    assert len(moments(busy, places=Places(6, 6))) > 700
    assert moments(busy, places=Places(6, 5)) == [120_000], "then they are slow, and there is less room for those"


@pytest.mark.parametrize(
    "fields",
    [
        {"max_runs": 3},
        {"auto_remove": True},
        {"then": ("other",)},
        {"origin": "code", "declared_seen_ms": 0},
        {"policy": Policy(route="round")},
        {"policy": Policy(jitter_ms=1)},
        {"policy": Policy(pool="slow")},
    ],
)
def test_a_schedule_whose_ticks_may_differ_from_each_other_is_not_plain(fields: dict[str, Any]) -> None:
    assert is_lasting(Schedule("s", "s", "job", {}))
    assert not is_lasting(Schedule("s", "s", "job", {}, **fields))


# in a world


def settled(world: World) -> list[int]:
    """When nodes are driven, from now on."""
    found: list[int] = []
    settle = world.settle

    def noted() -> None:
        found.append(world.clock.now_ms())
        settle()

    world.settle = noted  # type: ignore[method-assign]
    return found


def app_of(count: int, **options: Any) -> App:
    app = App("memory://")

    def job() -> None: ...

    for number in range(count):
        app.schedule(every("1h"), name=f"s{number}", **options)(job)
    return app


@pytest.mark.parametrize("takes", ["0s", "1m", "1h", lambda run: "10m"])
def test_plain_ticks_drive_no_node(takes: Any) -> None:
    with simulate(app_of(3), nodes=3, takes={"job": takes}) as world:
        driven = settled(world)
        world.advance("30d")
        assert len(world.runs()) == 3 * 720
        assert len(driven) < 60
        assert {run.state for run in world.runs()} <= {"succeeded", "running"}
        assert {world.node_of(run) for run in world.runs()} == {1, 2, 3}


def test_a_run_that_began_in_bulk_is_taken_over_from_its_dead_node() -> None:
    with simulate(app_of(1), nodes=2, takes={"job": "50m"}) as world:
        world.advance("10h40m")
        run = world.runs()[-1]
        assert (run.state, run.scheduled_at.hour) == ("running", 10)
        world.kill(world.node_of(run) or 0)
        world.advance("1h")
        again = world.runs()[9]
        assert (again.id, again.state, again.attempt, again.crashes) == (run.id, "succeeded", 2, 1)


def test_a_world_without_nodes_makes_no_runs() -> None:
    with simulate(app_of(2), nodes=0) as world:
        world.advance("2d")
        assert world.runs() == []
        world.start(1)
        world.advance("1h")
        assert len(world.decisions()) == 2


def test_an_invalid_duration_is_told_when_its_run_begins() -> None:
    with (
        simulate(app_of(1), takes={"job": lambda run: "1 moon" if run.scheduled_at.day > 1 else "1m"}) as world,
        pytest.raises(OnthedotError, match=r"plan failed in the simulation: .*moon"),
    ):
        world.advance("2d")
