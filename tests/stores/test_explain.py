"""Every way in which a tick can be late or missing is told truthfully, on every store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from onthedot.insight.explain import explain
from onthedot.model.change import Author
from onthedot.model.run import Run
from onthedot.moments import ceil_ms
from onthedot.rules import edits
from onthedot.stores.base import Store
from onthedot.stores.memory import MemoryStore
from onthedot.stores.open import open_store
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import START_MS
from onthedot.testing.conformance.scene import HOUR, LEASE_MS, MINUTE, SECOND, Scene, definition
from onthedot.triggers import Trigger, at, cron, dates, every

STORES = ["memory", "sqlite", "postgresql_15_url", "mariadb_url", "mongodb_url", "redis_url"]
ADA, BOB = Author("ada", "cli", "pause"), Author("bob", "http", "resume")
FIRST = START_MS + MINUTE
"""The first tick: 2027-01-15T08:01:00Z."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore(clock)
        return
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue(request.param)
    opened = open_store(url, create=True, now_ms=clock)
    yield opened
    opened.close()


@pytest.fixture
def scene(store: Store, clock: ManualClock) -> Scene:
    return Scene(store, clock)


def told(scene: Scene, moment_ms: int = FIRST, name: str = "s") -> str:
    return explain(scene.store, scene.schedule(name), moment_ms).text


def planned(scene: Scene, node: str) -> Run:
    """The run of the first tick, which waits."""
    scene.wait(FIRST - scene.now_ms)
    (run,) = scene.plan(node)
    return run


# nobody can run it


def test_a_run_that_waits_says_that_no_node_has_its_task(scene: Scene) -> None:
    scene.put()
    planned(scene, scene.node("web", tasks=["other"], lease_ms=HOUR))
    scene.wait(20 * SECOND)
    assert told(scene).endswith("waiting; it has been due for 20s: no live node has the task job")


def test_a_run_that_waits_says_that_no_node_is_in_its_group(scene: Scene) -> None:
    scene.put(group="gpu")
    planned(scene, scene.node("web", lease_ms=HOUR))
    scene.wait(20 * SECOND)
    assert told(scene).endswith("it has been due for 20s: no live node is in the group gpu")


def test_a_run_that_waits_says_that_all_who_could_take_it_are_draining(scene: Scene) -> None:
    scene.put()
    scene.store.drain(scene.node("web", lease_ms=HOUR))
    planned(scene, scene.node("planner", tasks=[]))
    scene.wait(20 * SECOND)
    assert told(scene).endswith("it has been due for 20s: every node that has the task job is draining")


def test_a_tick_to_come_says_that_nobody_could_run_it_now(scene: Scene) -> None:
    scene.put(group="gpu")
    scene.node("web")
    assert told(scene).endswith("is decided; but it could not run now: no live node is in the group gpu")


def test_a_run_that_began_late_says_until_when_nobody_had_its_task(scene: Scene) -> None:
    scene.put()
    planner = scene.node("web", tasks=["other"])
    run = planned(scene, planner)
    scene.wait(25 * SECOND)
    scene.renew(planner)
    scene.start(scene.node("batch"))
    assert told(scene) == (
        f"run {run.id} running, begun 2027-01-15T08:01:25Z on node batch, attempt 1; it began 25s late: "
        "no live node had the task job until 2027-01-15T08:01:25Z, when node batch started"
    )


def test_a_run_that_began_late_says_until_when_nobody_was_in_its_group(scene: Scene) -> None:
    scene.put(group="gpu")
    planner, first = scene.node("web"), scene.node("gpu-1", group="gpu")
    scene.store.leave(first)
    planned(scene, planner)
    scene.wait(25 * SECOND)
    scene.renew(planner)
    scene.start(scene.node("gpu-2", group="gpu"))
    assert told(scene).endswith(
        "it began 25s late: no live node was in the group gpu from 2027-01-15T08:00:00Z, when node gpu-1 was "
        "last heard of, until 2027-01-15T08:01:25Z, when node gpu-2 started"
    )


# no node was alive


def test_a_tick_that_nobody_planned_yet_says_that_no_node_is_alive(scene: Scene) -> None:
    scene.put()
    scene.store.leave(scene.node("web"))
    scene.wait(2 * MINUTE)
    assert told(scene) == (
        "2027-01-15T08:01:00Z is due, but no node has planned it yet: "
        "no node is alive since 2027-01-15T08:00:00Z, when node web was last heard of"
    )


def after_an_outage(scene: Scene) -> Run:
    """Nobody was there from 08:00:10, the node renewed last then, to 08:05:30."""
    scene.put()
    node = scene.node("web")
    scene.wait(10 * SECOND)
    scene.renew(node)
    scene.wait(5 * MINUTE + 20 * SECOND)
    (run,) = scene.plan(scene.node("next"), free=1)
    return run


def test_a_run_that_was_planned_late_says_that_no_node_was_alive(scene: Scene) -> None:
    run = after_an_outage(scene)
    assert told(scene, run.scheduled_ms) == (
        f"run {run.id} running, begun 2027-01-15T08:05:30Z on node next, attempt 1; it began 30s late: no node was "
        "alive from 2027-01-15T08:00:10Z, when node web was last heard of, until 2027-01-15T08:05:30Z, when node "
        "next started"
    )


def test_a_misfire_says_that_no_node_was_alive(scene: Scene) -> None:
    after_an_outage(scene)
    assert told(scene) == (
        "it did not run at 2027-01-15T08:01:00Z (one of 4 ticks): it was noticed too late, and the misfire policy "
        "left it out: "
        "no node was alive from 2027-01-15T08:00:10Z, when node web was last heard of, until "
        "2027-01-15T08:05:30Z, when node next started"
    )


def test_a_node_that_had_been_frozen_is_said_to_have_come_back(scene: Scene) -> None:
    scene.put()
    node = scene.node("web")
    scene.wait(5 * MINUTE)
    scene.store.leave(node)
    scene.plan(scene.node("web"), free=1)
    assert told(scene).endswith("when node web was last heard of, until 2027-01-15T08:05:00Z, when node web came back")


# a node died


def test_a_run_whose_node_died_says_which_when_and_who_took_over(scene: Scene) -> None:
    web, batch = scene.node("web"), scene.node("batch", lease_ms=HOUR)
    run = scene.running(web)
    scene.wait(LEASE_MS)
    scene.store.take_over(web, 0, Author("batch", "node", "take over"))
    died = (
        "it had begun at 2027-01-15T08:01:00Z; node web died, last heard of at 2027-01-15T08:01:00Z, "
        "and node batch took over at 2027-01-15T08:01:30Z"
    )
    assert told(scene).startswith(f"run {run.id} waiting; {died}")
    (again,) = scene.start(batch)
    scene.end(again)
    assert told(scene) == (
        f"run {run.id} succeeded, begun 2027-01-15T08:01:30Z on node batch, attempt 2, ended 2027-01-15T08:01:30Z; "
        f"{died}"
    )


def test_runs_that_crashed_a_node_say_that_they_wait_for_one_another(scene: Scene) -> None:
    web, batch = scene.node("web"), scene.node("batch", lease_ms=HOUR)
    scene.put("first")
    scene.put("second")
    scene.wait(MINUTE)
    scene.plan(web, free=2)
    scene.kill(web)
    scene.wait(50)
    (begun,) = scene.start(batch)
    other = "second" if begun.schedule == "first" else "first"
    scene.wait(10 * SECOND)
    behind = f"runs that have crashed a node begin one at a time, and run {begun.id} of {begun.schedule}"
    assert told(scene, name=other).endswith(f"it has waited for 10s: {behind} runs")
    scene.end(begun)
    scene.start(batch)
    assert f"then it waited for 10s: {behind} ran" in told(scene, name=other)


def test_a_run_that_its_node_gave_back_when_it_stopped_says_so(scene: Scene) -> None:
    web = scene.node("web")
    scene.running(web)
    scene.wait(5 * SECOND)
    scene.store.leave(web)
    scene.start(scene.node("next"))
    assert told(scene).endswith("node web stopped, and gave it back at 2027-01-15T08:01:05Z")


def test_after_its_audit_is_pruned_a_run_still_says_how_often_its_node_died(scene: Scene) -> None:
    web = scene.node("web")
    scene.running(web)
    scene.kill(web)
    scene.prune(changes_ms=0)
    assert "; its node died while it ran" in told(scene)


# paused


def test_a_tick_inside_a_pause_says_who_paused_it_and_with_which_note(scene: Scene) -> None:
    scene.put()
    scene.edit(edits.pause("moving disks"), by=ADA)
    scene.wait(2 * MINUTE)
    paused = "paused by ada (cli) at 2027-01-15T08:00:00Z (moving disks)"
    assert told(scene) == f"it did not run at 2027-01-15T08:01:00Z: the schedule is {paused}"
    scene.edit(edits.resume(), by=BOB)
    assert told(scene) == (
        f"it did not run at 2027-01-15T08:01:00Z (one of 2 ticks): the schedule was {paused}, "
        "and resumed by bob (http) at 2027-01-15T08:02:00Z"
    )


def test_of_several_pauses_the_one_of_the_tick_is_told(scene: Scene) -> None:
    scene.put()
    for note in ("first", "second"):
        scene.edit(edits.pause(note), by=ADA)
        scene.wait(MINUTE)
        scene.edit(edits.resume(), by=BOB)
    scene.edit(edits.pause("third"), by=ADA)
    assert "(first)" in told(scene, FIRST)
    assert "(second)" in told(scene, FIRST + MINUTE)


def test_a_pause_that_somebody_else_gave_another_note_says_who_wrote_which(scene: Scene) -> None:
    scene.put()
    scene.edit(edits.pause("disks"), by=ADA)
    scene.wait(SECOND)
    scene.edit(edits.pause("disks, and the network"), by=BOB)
    scene.wait(2 * MINUTE)
    assert told(scene).endswith(
        "the schedule is paused by ada (cli) at 2027-01-15T08:00:00Z (disks) and paused again by bob (http) at "
        "2027-01-15T08:00:01Z (disks, and the network)"
    )


def test_a_tick_that_nobody_planned_before_the_pause_says_that_no_node_was_alive(scene: Scene) -> None:
    scene.put()
    scene.wait(2 * MINUTE)
    scene.edit(edits.pause(None), by=ADA)
    scene.wait(MINUTE)
    scene.edit(edits.resume(), by=BOB)
    scene.node("web")
    assert told(scene).endswith(
        "resumed by bob (http) at 2027-01-15T08:03:00Z: no node was alive until 2027-01-15T08:03:00Z, when node web "
        "started"
    )
    assert told(scene, FIRST + 2 * MINUTE).endswith("resumed by bob (http) at 2027-01-15T08:03:00Z")


def test_a_waiting_run_that_a_pause_skipped_says_who_paused_it(scene: Scene) -> None:
    scene.put()
    planned(scene, scene.node("web"))
    scene.wait(SECOND)
    scene.edit(edits.pause("fire drill"), by=ADA)
    assert told(scene).endswith("the schedule was paused by ada (cli) at 2027-01-15T08:01:01Z (fire drill)")


def test_a_run_that_waits_for_the_resume_says_who_paused_it(scene: Scene) -> None:
    node = scene.node("web")
    run = scene.running(node, retries=1, backoff_ms=0)
    scene.edit(edits.pause("fire drill"), by=ADA)
    scene.end(run, "failed", error="no")
    assert "it waits for the schedule to be resumed: paused by ada (cli) at 2027-01-15T08:01:00Z (fire drill)" in told(
        scene
    )


# behind others


def test_a_run_that_began_late_says_behind_which_run_it_waited(scene: Scene) -> None:
    node = scene.node("web")
    first = scene.running(node)
    scene.wait(MINUTE)
    scene.renew(node)
    scene.plan(node, free=1)
    assert told(scene, FIRST + MINUTE).endswith(f"it waits for another run of the schedule to end: run {first.id}")
    scene.wait(15 * SECOND)
    scene.end(first)
    scene.start(node)
    assert told(scene, FIRST + MINUTE).endswith(
        f"it began 15s late: it was behind run {first.id} of s, which ended at 2027-01-15T08:02:15Z"
    )


def test_a_tick_that_overlap_left_out_says_which_run_was_under_way(scene: Scene) -> None:
    node = scene.node("web")
    first = scene.running(node, overlap="discard")
    scene.wait(MINUTE)
    scene.plan(node, free=1)
    left_out = "an earlier run was still under way, and the overlap policy left it out"
    began = f"run {first.id} began at 2027-01-15T08:01:00Z"
    assert told(scene, FIRST + MINUTE).endswith(f"{left_out}: {began} and still runs")
    scene.wait(5 * SECOND)
    scene.end(first)
    assert told(scene, FIRST + MINUTE).endswith(f"{left_out}: {began} and ended at 2027-01-15T08:02:05Z")


def test_a_tick_that_had_no_room_to_wait_says_which_run_waited_and_why(scene: Scene) -> None:
    scene.put(grace_ms=HOUR)
    node = scene.node("web", tasks=[], lease_ms=HOUR)
    first = planned(scene, node)
    scene.wait(MINUTE)
    scene.plan(node)
    assert told(scene, FIRST + MINUTE) == (
        "it did not run at 2027-01-15T08:02:00Z: an earlier run still waited, and the overlap policy left it out: "
        f"run {first.id} of 2027-01-15T08:01:00Z waiting: it has been due for 1m: no live node has the task job"
    )


def test_a_run_that_waits_or_waited_for_a_place_of_its_group_says_behind_whom(scene: Scene) -> None:
    node = scene.node("web")
    scene.put("first", limit="mail:1")
    scene.put("second", limit="mail:1")
    scene.wait(MINUTE)
    scene.plan(node)
    (begun,) = scene.start(node)
    other = "second" if begun.schedule == "first" else "first"
    assert told(scene, name=other).endswith(f"it waits for a place of mail:1: run {begun.id} of {begun.schedule}")
    scene.wait(15 * SECOND)
    scene.end(begun)
    scene.start(node)
    assert told(scene, name=other).endswith(
        f"it began 15s late: for a place of mail:1 it was behind run {begun.id} of {begun.schedule}, "
        "which ended at 2027-01-15T08:01:15Z"
    )


def test_a_run_that_began_late_says_for_whose_success_it_waited(scene: Scene) -> None:
    node = scene.node("web")
    scene.put("load")
    scene.put("report", depends_on=("load",))
    scene.wait(MINUTE)
    scene.plan(node)
    (load,) = scene.start(node)
    scene.wait(15 * SECOND)
    scene.end(load)
    scene.start(node)
    assert told(scene, name="report").endswith(
        f"it began 15s late: it waited for run {load.id} of load, which ended at 2027-01-15T08:01:15Z"
    )


def test_a_run_that_waits_or_waited_in_vain_for_a_success_says_for_whose(scene: Scene) -> None:
    node = scene.node("web", capacity=1, lease_ms=HOUR)
    scene.put("long", at("2027-01-15T08:00:30Z"))
    scene.wait(30 * SECOND)
    scene.plan(node, free=1)  # a worker is busy, which is not why the other one waits
    scene.put(depends_on=("load",))
    planned(scene, node)
    scene.start(node)
    assert told(scene).endswith("it waits for load to succeed, and there is no such schedule")
    scene.put("load", at("2027-01-16T08:00:00Z"))
    assert told(scene).endswith("it waits for load to succeed")
    scene.wait(MINUTE)
    scene.plan(node)
    assert told(scene).endswith(
        "gave way to a newer tick: what it depends on had not succeeded; it waited for 1m: load had not succeeded"
    )


def test_a_run_that_began_late_says_that_the_pool_was_full_and_with_what(scene: Scene) -> None:
    node = scene.node("web", capacity=2, lease_ms=HOUR)
    scene.put("import")
    scene.put("backup")
    scene.put("s")
    scene.wait(MINUTE)
    runs = {run.schedule: run for run in scene.plan(node, free=2)}
    begun = [run for run in runs.values() if run.owner is not None]
    (waits,) = [name for name, run in runs.items() if run.owner is None and name is not None]
    scene.wait(15 * SECOND)
    text = told(scene, name=waits)
    assert "it has been due for 15s: the pool is full: node web (2 workers) has 2 runs: " in text
    assert {run.schedule for run in begun} == set(text.rpartition(": ")[2].split(", "))
    scene.end(begun[0])
    scene.start(node)
    assert "it began 15s late: the pool was full: node web (2 workers) had 2 runs: " in told(scene, name=waits)
    assert told(scene, name=waits).endswith(
        f"; there was room after run {begun[0].id} of {begun[0].schedule}, which ended at 2027-01-15T08:01:15Z"
    )


def test_a_tick_that_gave_way_says_that_the_pool_was_full_and_with_what(scene: Scene) -> None:
    node = scene.node("web", capacity=1, lease_ms=HOUR)
    scene.put("long", at("2027-01-15T08:00:30Z"))
    scene.wait(30 * SECOND)
    scene.plan(node, free=1)
    scene.put()
    planned(scene, node)
    scene.wait(MINUTE)
    scene.plan(node)
    assert told(scene).endswith(
        "it had not begun in time, and gave way to a newer tick: no worker took it in time; it waited for 1m: "
        "the pool was full: node web (1 worker) had 1 run: long"
    )


def test_a_tick_that_gave_way_says_behind_which_run_it_had_waited(scene: Scene) -> None:
    node = scene.node("web", lease_ms=HOUR)
    first = scene.running(node)
    for _ in range(2):
        scene.wait(MINUTE)
        scene.plan(node)
    assert told(scene, FIRST + MINUTE).endswith(
        "it had not begun in time, and gave way to a newer tick: an earlier run was still under way; it waited for 1m: "
        f"it was behind run {first.id} of s, which still runs"
    )


def test_one_cause_after_the_other_is_told(scene: Scene) -> None:
    node = scene.node("web", capacity=1, lease_ms=HOUR)
    first = scene.running(node)
    scene.put("other", at("2027-01-15T08:01:59Z"), task="job")
    scene.wait(MINUTE)
    scene.renew(node)
    scene.plan(node)
    scene.wait(10 * SECOND)
    scene.end(first)
    (other,) = [run for run in scene.start(node, limit=1) if run.schedule == "other"]
    scene.wait(10 * SECOND)
    scene.end(other)
    scene.start(node)
    behind = f"it was behind run {first.id} of s, which ended at 2027-01-15T08:02:10Z"
    full = "the pool was full: node web (1 worker) had 1 run: other"
    assert f"it began 20s late: {behind}; then {full}" in told(scene, FIRST + MINUTE)


def test_a_run_that_began_on_time_says_nothing_of_lateness(scene: Scene) -> None:
    node = scene.node("web")
    run = scene.end(scene.running(node))
    assert told(scene) == (
        f"run {run.id} succeeded, begun 2027-01-15T08:01:00Z on node web, attempt 1, ended 2027-01-15T08:01:00Z"
    )


# when it did not exist


def test_a_tick_between_a_deletion_and_a_later_put_says_that_the_schedule_did_not_exist(scene: Scene) -> None:
    node = scene.node("web")
    scene.end(scene.running(node))
    scene.wait(SECOND)
    scene.edit(edits.delete(), by=ADA)
    scene.wait(5 * MINUTE)
    scene.edit(edits.put(definition()), by=BOB)
    assert told(scene, FIRST + MINUTE) == (
        "s did not exist at 2027-01-15T08:02:00Z: it was deleted by ada (cli) at 2027-01-15T08:01:01Z, "
        "and put again by bob (http) at 2027-01-15T08:06:01Z"
    )
    assert "succeeded" in told(scene, FIRST)
    assert "is still to come" in told(scene, FIRST + 6 * MINUTE)


def test_a_tick_after_a_schedule_removed_itself_says_that_it_did_not_exist(scene: Scene) -> None:
    node = scene.node("web")
    scene.end(scene.running(node, max_runs=1, auto_remove=True))
    assert not scene.exists()
    scene.wait(5 * MINUTE)
    scene.edit(edits.put(definition()), by=BOB)
    assert told(scene, FIRST + MINUTE) == (
        "s did not exist at 2027-01-15T08:02:00Z: it was gone at 2027-01-15T08:01:00Z, "
        "and put again by bob (http) at 2027-01-15T08:06:00Z"
    )


def test_ticks_that_a_change_took_away_say_whose_change(scene: Scene) -> None:
    scene.put()
    scene.wait(2 * MINUTE)
    scene.edit(edits.reschedule(START_MS + 60 * MINUTE), by=ADA)
    assert told(scene).endswith(
        "moved to another moment, by ada (cli) at 2027-01-15T08:02:00Z: no node is alive"
    )  # else it would have run before
    assert told(scene, FIRST + MINUTE).endswith("by ada (cli) at 2027-01-15T08:02:00Z")


# names


def test_nodes_are_called_by_their_names_also_when_they_have_stopped(scene: Scene) -> None:
    node = scene.node("web")
    scene.end(scene.running(node))
    scene.store.leave(node)
    scene.wait(MINUTE)
    scene.node("web")
    assert "on node web, attempt 1" in told(scene)


def test_two_nodes_of_one_name_that_lived_together_are_told_apart_by_their_ids(scene: Scene) -> None:
    node, _ = scene.node("web"), scene.node("web")
    scene.running(node)
    assert f"on node web ({node}), attempt 1" in told(scene)


# deleted, parked, and what is no tick


def test_a_schedule_that_was_deleted_says_by_whom_and_tells_of_its_past(scene: Scene) -> None:
    node = scene.node("web")
    run = scene.end(scene.running(node))
    scene.wait(SECOND)
    scene.edit(edits.delete(), by=ADA)
    scene.wait(5 * MINUTE)
    left = scene.edit(edits.look())
    assert explain(scene.store, left, FIRST + MINUTE).text == (
        "s did not exist at 2027-01-15T08:02:00Z: it was deleted by ada (cli) at 2027-01-15T08:01:01Z"
    )
    assert explain(scene.store, left, FIRST).text.startswith(f"run {run.id} succeeded")
    assert "was no moment of s" in explain(scene.store, left, FIRST - 1).text


def test_a_schedule_that_removed_itself_tells_of_its_past(scene: Scene) -> None:
    node = scene.node("web")
    run = scene.end(scene.running(node, max_runs=1, auto_remove=True))
    scene.wait(5 * MINUTE)
    left = scene.edit(edits.look())
    assert explain(scene.store, left, FIRST).text.startswith(f"run {run.id} succeeded")
    assert "did not exist at 2027-01-15T08:02:00Z" in explain(scene.store, left, FIRST + MINUTE).text


def test_a_schedule_whose_trigger_cannot_be_read_says_that_it_is_parked(scene: Scene) -> None:
    scene.put()
    scene.overwrite(trigger={"v": 1, "type": "every", "interval": "oops"}, error="'oops' is no duration")
    scene.wait(2 * MINUTE)
    assert told(scene) == (
        "it did not run at 2027-01-15T08:01:00Z: the schedule is parked, since it cannot be planned: "
        "'oops' is no duration"
    )


def test_a_trigger_of_a_newer_version_is_said_to_be_unreadable_here(scene: Scene) -> None:
    scene.put()
    newer = scene.overwrite(trigger={"v": 99, "type": "moon"})
    before_it_was_put = newer.created_ms - MINUTE
    assert "cannot be told here: trigger codec version 99 is newer" in told(scene, before_it_was_put)


@pytest.mark.parametrize(
    ("trigger", "moment", "why"),
    [
        (every("1m") - dates("2027-01-16"), "2027-01-16T09:00Z", "it is left out by 2027-01-16"),
        (
            every("1m") - cron("* 9 * * *", tz="UTC"),
            "2027-01-16T09:05Z",
            "it is left out by (every minute from 09:00 to 09:59, UTC time)",
        ),
        (
            cron("30 2 * * *", tz="Europe/Berlin", gap="skip"),
            "2027-03-28T01:00Z",
            "jumped over its time then, and gap='skip' leaves it out",
        ),
        (
            cron("30 2 * * *", tz="Europe/Berlin"),
            "2027-10-31T01:30Z",
            "showed its time twice then, and it runs the first time, at 2027-10-31T00:30:00Z",
        ),
        (
            cron("30 2 * * *", tz="Europe/Berlin", fold="last"),
            "2027-10-31T00:30Z",
            "showed its time twice then, and it runs the last time, at 2027-10-31T01:30:00Z",
        ),
    ],
)
def test_a_moment_that_is_no_tick_says_what_took_it_away(trigger: Trigger, moment: str, why: str) -> None:
    scene = Scene(MemoryStore(clock := ManualClock(START_MS)), clock)
    scene.put("s", trigger)
    text = told(scene, ceil_ms(moment))
    assert "was no moment of s: " in text
    assert f"{why}; the nearest are " in text


def test_a_tick_to_come_says_why_it_will_not_run_as_things_stand(scene: Scene) -> None:
    scene.node("web")
    scene.put()
    scene.edit(edits.pause("moving disks"), by=ADA)
    assert told(scene).endswith(
        "; but as things stand it will not run: the schedule is paused by ada (cli) at 2027-01-15T08:00:00Z "
        "(moving disks)"
    )
    scene.edit(edits.resume())
    scene.overwrite(error="no luck")
    assert told(scene).endswith("will not run: the schedule is parked, since it cannot be planned: no luck")


def test_a_tick_after_the_last_of_its_runs_says_so(scene: Scene) -> None:
    scene.end(scene.running(scene.node("web"), max_runs=1))
    scene.wait(2 * MINUTE)
    assert told(scene, FIRST + MINUTE).endswith("had ended before: it had had all of its runs (max_runs=1)")


# it was tried more than once


def test_attempts_that_failed_before_a_retry_are_listed_in_their_turn(scene: Scene) -> None:
    web = scene.node("web", lease_ms=HOUR)
    run = scene.running(web, retries=2, backoff_ms=MINUTE)
    scene.wait(4 * SECOND)
    scene.end(run, "failed", error="Traceback\nConnectionResetError: reset by peer")
    scene.wait(MINUTE)
    batch = scene.node("batch", lease_ms=HOUR)
    (again,) = scene.start(batch)
    scene.end(again, "timed_out", error="it took too long")
    text = told(scene)
    first = "attempt 1 failed at 2027-01-15T08:01:04Z on node web: ConnectionResetError: reset by peer"
    second = "attempt 2 timed out at 2027-01-15T08:02:04Z on node batch: it took too long"
    assert f"{first}; {second}" in text


# a node that was forgotten


def test_what_a_forgotten_node_did_is_told_under_its_id_and_that_it_is_no_longer_known(scene: Scene) -> None:
    node, peer = scene.node("a"), scene.node("b")
    scene.running(node)
    scene.kill(node)
    scene.renew(peer)
    (again,) = scene.start(peer)
    scene.end(again)
    scene.store.leave(peer)
    scene.store.forget_node(node, ADA)
    assert "node a died" in told(scene), "the audit still has its name"
    scene.store.forget_node(peer, ADA)
    assert f"on node {peer} (no longer known), attempt 2" in told(scene)
