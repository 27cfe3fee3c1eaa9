"""Recording outcomes and starting what waits for their places, in one step: what both do one after the other."""

from __future__ import annotations

import pytest

from onthedot.errors import NodeDead
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.answers import Finished, Started
from onthedot.testing.conformance.scene import HOUR, MINUTE, Promises, Scene


def in_one_step(scene: Scene, node_id: str, *runs: Run, limit: int = 1, claim_no: int = 1) -> tuple[Finished, Started]:
    outcomes = [Outcome(run.id, claim_no, "succeeded") for run in runs]
    return scene.store.finish_and_start(node_id, outcomes, ("job",), limit)


class TestFinishingAndStarting(Promises):
    def test_what_waits_for_a_place_begins_in_the_step_that_frees_it(self, scene: Scene) -> None:
        node = scene.node()
        first, second, third = (scene.waiting_run() for _ in range(3))
        (running,) = scene.start(node, limit=1)
        assert running.id == first.id
        finished, started = in_one_step(scene, node, running)
        assert [run.id for run in finished.recorded] == [first.id]
        assert [(run.id, run.owner, run.claim_no) for run in started.runs] == [(second.id, node, 1)]
        assert [scene.run(each).state for each in (first, second, third)] == [
            State.SUCCEEDED,
            State.RUNNING,
            State.WAITING,
        ]
        assert scene.end(scene.run(second)).state is State.SUCCEEDED

    def test_no_more_begin_than_there_is_room_for_and_none_where_none_waits(self, scene: Scene) -> None:
        node = scene.node()
        for _ in range(4):
            scene.waiting_run()
        running = scene.start(node, limit=2)
        _, started = in_one_step(scene, node, *running, limit=2)
        assert len(started.runs) == 2
        _, started = in_one_step(scene, node, *started.runs, limit=2)
        assert started.runs == ()

    def test_an_outcome_that_is_refused_keeps_nothing_from_starting(self, scene: Scene) -> None:
        node = scene.node()
        scene.waiting_run()
        waiting = scene.waiting_run()
        (running,) = scene.start(node, limit=1)
        finished, started = in_one_step(scene, node, running, claim_no=7)
        assert (finished.recorded, finished.refused) == ((), (running.id,))
        assert [run.id for run in started.runs] == [waiting.id]
        assert scene.run(running).state is State.RUNNING

    def test_a_dead_node_neither_records_nor_starts(self, scene: Scene) -> None:
        node = scene.node()
        scene.waiting_run(policy=Policy(crash_retries=0))
        waiting = scene.waiting_run()
        (running,) = scene.start(node, limit=1)
        scene.kill(node)
        with pytest.raises(NodeDead):
            in_one_step(scene, node, running)
        assert scene.run(running).state is State.FAILED
        assert scene.run(waiting).state is State.WAITING

    def test_who_stands_behind_a_limit_begins_in_the_step_that_frees_its_place(self, scene: Scene) -> None:
        node = scene.node()
        limited = [scene.waiting_run(policy=Policy(limit="mail:2")) for _ in range(5)]
        running = scene.start(node, limit=9)
        assert [run.id for run in running] == [run.id for run in limited[:2]]
        assert all(scene.run(run).blocked for run in limited[2:])
        finished, started = in_one_step(scene, node, *running, limit=9)
        if not started.runs:  # a store that does one after the other
            started = Started(tuple(scene.start(node, limit=9)))
        assert [run.id for run in started.runs] == [run.id for run in limited[2:4]]
        assert len(finished.recorded) == 2
        assert scene.run(limited[4]).blocked
        (last,) = scene.store.finish_and_start(
            node, [Outcome(run.id, 1, "succeeded") for run in started.runs], ("job",), 9
        )[1].runs or tuple(scene.start(node, limit=9))
        assert last.id == limited[4].id

    def test_a_place_that_the_node_cannot_fill_goes_to_another(self, scene: Scene) -> None:
        node, other = scene.node("one"), scene.node("other", tasks=("else",))
        scene.waiting_run(policy=Policy(limit="mail:1"))
        (running,) = scene.start(node)
        waiting = scene.waiting_run(task="else", policy=Policy(limit="mail:1"))
        assert scene.start(other, tasks=("else",)) == []
        _, started = in_one_step(scene, node, running)
        assert started.runs == ()
        assert [run.id for run in scene.start(other, tasks=("else",))] == [waiting.id]

    def test_the_place_of_a_group_goes_to_one_of_its_own(self, scene: Scene) -> None:
        node = scene.node()
        limited = [scene.waiting_run(policy=Policy(limit="mail:1")) for _ in range(3)]
        (running,) = scene.start(node, limit=5)
        begun = []
        for _ in range(3):
            begun.append(running.id)
            _, started = in_one_step(scene, node, running, limit=5)
            mine = started.runs or tuple(scene.start(node, limit=5))
            assert len(mine) <= 1
            running = mine[0] if mine else running
        assert sorted(begun) == sorted(run.id for run in limited)
        assert {scene.run(run).state for run in limited} == {State.SUCCEEDED}

    def test_a_serial_schedule_never_has_two_runs_at_once(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(max_waiting=5, grace_ms=HOUR)
        scene.wait(MINUTE)
        (running,) = scene.plan(node, free=1)
        for _ in range(2):
            scene.wait(MINUTE)
            scene.plan(node, free=1)
        for left in (2, 1, 0):
            finished, started = in_one_step(scene, node, running, limit=5)
            assert len(finished.recorded) == 1
            mine = started.runs or tuple(scene.start(node))
            assert len(mine) == (1 if left else 0)
            running = mine[0] if mine else running
        assert [run.state for run in scene.runs()] == [State.SUCCEEDED] * 3
