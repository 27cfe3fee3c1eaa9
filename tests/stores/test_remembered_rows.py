"""What one process remembers of rows is never older than what another has written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from onthedot.model.graph import Graph, Step
from onthedot.model.ids import new_id
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.rules.ahead import decided_ahead
from onthedot.stores.open import open_store
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import flows
from onthedot.testing.conformance.scene import BY, MINUTE, START_MS, Scene

STORES = ["sqlite", "mongodb_url", "redis_url"]


@dataclass(frozen=True, slots=True)
class Two:
    """Two processes on one store."""

    here: Scene
    there: Scene


@pytest.fixture(params=STORES)
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Two]:
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue(request.param)
    clock = ManualClock(START_MS)
    stores = [open_store(url, create=True, now_ms=clock) for _ in range(2)]
    here, there = (Scene(store, clock) for store in stores)
    yield Two(here, there)
    for store in stores:
        store.close()


def started(scene: Scene, node: str) -> Run:
    (run,) = scene.start(node)
    return run


def test_a_wish_to_cancel_that_came_from_elsewhere_is_kept_with_the_end(two: Two) -> None:
    node = two.here.node()
    two.here.waiting_run()
    run = started(two.here, node)
    two.there.store.request_cancel(run.id, "enough", BY)
    ended = two.here.end(run, "cancelled")
    assert (ended.state, ended.reason) == (State.CANCELLED, "enough")
    assert two.there.run(run) == ended


def test_a_run_that_was_taken_over_elsewhere_is_refused_under_its_old_claim(two: Two) -> None:
    node, other = two.here.node(), two.there.node("other")
    two.here.waiting_run()
    old = started(two.here, node)
    two.there.kill(node)
    new = started(two.there, other)
    assert new.id == old.id
    assert two.here.is_refused(old)


def test_a_run_that_was_started_anew_elsewhere_ends_here_under_its_new_claim(two: Two) -> None:
    node = two.here.node()
    two.here.waiting_run()
    old = started(two.here, node)
    two.there.store.finish(node, [Outcome(old.id, old.claim_no, "handed_back")])
    new = started(two.there, node)
    assert two.here.end(new).state is State.SUCCEEDED


MAP = Graph("flow", (Step("load", "job", over=[1, 2, 3, 4], parallel=2), Step("sum", "job", after=("load",))))


def test_a_flow_that_was_moved_elsewhere_goes_on_from_there(two: Two) -> None:
    here, there = two.here.node(tasks=flows.TASKS), two.there.node("other", tasks=flows.TASKS)
    flow = flows.begin(two.here, MAP)
    (first,) = flows.start(two.here, here, limit=1).values()
    begun = [f"{first.step}[{first.item}]", *flows.go_on(two.there, there)]
    flows.end(two.here, first)
    begun += flows.go_on(two.here, here)
    assert begun == ["load[0]", "load[1]", "load[2]", "load[3]", "sum"]
    assert two.here.run(flow).state is State.SUCCEEDED


def test_a_flow_that_was_stopped_elsewhere_begins_nothing_more(two: Two) -> None:
    here, flow = two.here.node(tasks=flows.TASKS), flows.begin(two.here, MAP)
    first, second = flows.start(two.here, here).values()
    flows.end(two.here, first, "failed", final=True)
    two.there.store.request_cancel(flow.id, "enough", BY)
    flows.end(two.here, second)
    assert flows.start(two.here, here) == {}
    assert (two.here.run(flow).state, two.here.run(flow).reason) == (State.CANCELLED, "enough")


@pytest.mark.parametrize("what", ["pause", "run"])
def test_what_was_decided_ahead_is_void_once_another_has_changed_the_schedule(two: Two, what: str) -> None:
    node = two.here.node()
    two.here.running(node)
    (live,) = two.here.runs()
    two.here.end(live)
    host = next(each for each in two.here.store.nodes() if each.id == node)
    ahead = decided_ahead([two.here.schedule()], host, two.here.decider())
    if what == "pause":
        two.there.edit(edits.pause(None))
    else:
        two.there.trigger("by-hand")
    two.here.wait(MINUTE)
    planned = two.here.store.plan_ahead(node, ahead, lambda: new_id(two.here.now_ms))
    assert planned.effects == ()
