"""A world that is advanced in bulk is the world that its nodes make step by step: the same rows, field by field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from onthedot import App, Conflict, NotFound, SettingsError, cron, every
from onthedot.model.run import Run
from onthedot.node.settings import NodeSettings
from onthedot.testing import World, simulate

TRIGGERS = (
    *(every(each) for each in ("45s", "7m", "20m", "1h", "6h")),
    *(cron(each) for each in ("0 * * * *", "*/10 * * * *", "0,1,3,30 */2 * * *", "15 2 * * *", "59 23 * * *")),
)
ODD: tuple[dict[str, Any], ...] = (
    {"overlap": "discard"},
    {"overlap": "cover"},
    {"overlap": "concurrent"},
    {"overlap": "concurrent", "max_concurrent_runs": 2},
    {"limit": "few:1"},
    {"group": "elsewhere"},
    {"depends_on": "s0", "within": "2h"},
    {"then": "after"},
    {"retries": 1, "timeout": "4m"},
    {"timeout": "1h"},
    {"delivery": "at_most_once"},
    {"route": "broadcast"},
    {"route": "lfu"},
    {"route": "failover"},
    {"max_runs": 7},
    {"jitter": "30s"},
    {"priority": 2},
    {"misfire": "catch_up"},
    {"mode": "local"},
    {"pool": "slow"},
)


def _by_id(run: Run) -> str:
    return f"{int(run.id[-4:], 16) % 1500}s"


def _by_moment(run: Run) -> str:
    return "3h" if run.scheduled_ms // 60_000 % 7 == 0 else "30s"


TAKES: tuple[str | Callable[[Run], str], ...] = ("0s", "300ms", "1m", "5m", "20m", "65m", _by_id, _by_moment)
TIMES = ("1s", "7s", "59s", "3m", "11m", "50m", "1h", "5h", "13h", "1d")

Act = tuple[str, int]
ACTS = (
    "nothing",
    "nothing",
    "kill",
    "kill",
    "start",
    "pause",
    "resume",
    "trigger",
    "delay",
    "cancel",
    "update",
    "move",
)


@dataclass(frozen=True)
class Story:
    """A world, and what is done in it: for so long nothing, then this with the schedule or node of that number."""

    schedules: Sequence[tuple[int, dict[str, Any]]]
    takes: Sequence[int]
    steps: Sequence[tuple[str, Act]]
    nodes: int = 3
    workers: int = 200
    seed: int = field(default=0)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    option: st.SearchStrategy[dict[str, Any]] = st.one_of(st.just({}), st.just({}), st.sampled_from(ODD))
    schedules = draw(st.lists(st.tuples(st.integers(0, len(TRIGGERS) - 1), option), min_size=1, max_size=6))
    return Story(
        schedules,
        draw(st.lists(st.integers(0, len(TAKES) - 1), min_size=len(schedules), max_size=len(schedules))),
        draw(
            st.lists(
                st.tuples(st.sampled_from(TIMES), st.tuples(st.sampled_from(ACTS), st.integers(0, 5))),
                min_size=1,
                max_size=6,
            )
        ),
        nodes=draw(st.integers(1, 3)),
        workers=draw(st.sampled_from([200, 200, 2, 5])),
        seed=draw(st.integers(0, 3)),
    )


def told(story: Story, *, in_bulk: bool) -> tuple[dict[str, Any], int]:
    """All that the world's tables say in the end, and how many moments were settled by driving nodes."""
    app = App("memory://", node=NodeSettings(capacity=story.workers))
    app.task(name="after")(lambda: None)
    for number, (trigger, options) in enumerate(story.schedules):
        app.schedule(TRIGGERS[trigger], name=f"s{number}", **options)(app.task(name=f"t{number}")(lambda: None))
    takes = {f"s{number}": TAKES[each] for number, each in enumerate(story.takes)}
    with simulate(app, nodes=story.nodes, takes=takes, seed=story.seed) as world:
        world.in_bulk = in_bulk
        steps = _counting(world)
        for lasts, act in story.steps:
            world.advance(lasts)
            _do(world, act)
        world.advance("4h")
        tables = {
            "runs": [vars(run) for run in world.runs()],
            "decisions": world.decisions(),
            "schedules": {row.name: vars(row) for row in world.store._tables.schedules.values()},
            "succeeded": world.store._tables.succeeded,
            "now": world.now,
        }
        return tables, len(steps)


def _counting(world: World) -> list[None]:
    steps: list[None] = []
    settle = world.settle

    def counted() -> None:
        steps.append(None)
        settle()

    world.settle = counted  # type: ignore[method-assign]
    return steps


def _do(world: World, act: Act) -> None:
    what, number = act
    app, name, node = world.app, f"s{number}", number % 3 + 1
    try:
        match what:
            case "kill":
                world.kill(node)
            case "start":
                world.start(node)
            case "pause":
                app.schedules.pause(name)
            case "resume":
                app.schedules.resume(name)
            case "trigger":
                app.schedules.trigger(name)
            case "delay":
                app.enqueue("after", delay="37m")
            case "cancel":
                for run in world.runs(state="running")[:1]:
                    app.runs.cancel(run.id)
            case "update":
                app.schedules.update(name, overlap="discard", priority=1)
            case "move":
                app.schedules.reschedule(name, world.now + timedelta(minutes=25, seconds=17))
    except (SettingsError, NotFound, Conflict):  # no such node or schedule, or not now: the same in both worlds
        pass


@settings(max_examples=settings().max_examples // 5)  # each takes a second and more
@given(stories())
def test_a_world_in_bulk_is_the_world_step_by_step(story: Story) -> None:
    step_by_step, all_steps = told(story, in_bulk=False)
    in_bulk, steps = told(story, in_bulk=True)
    event("in bulk" if steps < all_steps else "step by step")
    note(f"{len(in_bulk['runs'])} runs, {steps} of {all_steps} moments settled by nodes")
    for name, table in step_by_step.items():
        assert in_bulk[name] == table, name
