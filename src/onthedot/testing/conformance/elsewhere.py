"""Runs that an engine executes: who watches them, and that they go on whatever becomes of that node."""

from __future__ import annotations

from onthedot.model.node import ENGINES_LABEL, NodeState
from onthedot.model.remote import Sent, sending, taken
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.testing.conformance.scene import BY, LEASE_MS, MINUTE, Promises, Scene

ENGINES = {ENGINES_LABEL: "cluster\nother"}


class TestElsewhere(Promises):
    def test_what_an_owner_says_of_an_engine_is_kept_with_the_run(self, scene: Scene) -> None:
        node = scene.node(labels=ENGINES)
        run = scene.running(node)
        assert (run.remote, run.engine, run.engine_id) == (None, None, None)
        assert scene.store.note_sent(node, [Sent(run.id, run.claim_no, sending("cluster"))]) == [run.id]
        sent = scene.run(run)
        assert (sent.engine, sent.is_taken, sent.engine_id) == ("cluster", False, f"{run.id}.1")
        assert scene.store.note_sent(node, [Sent(run.id, run.claim_no, taken("cluster"))]) == [run.id]
        assert scene.run(run).is_taken
        (own,) = scene.renew(node).own
        assert (own, own.remote) == (scene.run(run), "at cluster")
        ended = scene.end(own, result=3)
        assert (ended.engine, ended.engine_id, scene.run(run).remote) == ("cluster", f"{run.id}.1", "at cluster")

    def test_only_the_owner_says_so_under_its_claim_and_while_it_lives(self, scene: Scene) -> None:
        node, other = scene.node(labels=ENGINES), scene.node("other")
        run = scene.running(node)
        said = [Sent(run.id, run.claim_no, sending("cluster"))]
        assert scene.store.note_sent(other, said) == []
        assert scene.store.note_sent(node, [Sent(run.id, run.claim_no + 1, sending("cluster"))]) == []
        assert scene.store.note_sent(node, [Sent("no-such-run", 1, sending("cluster"))]) == []
        assert scene.store.note_sent(node, []) == []
        scene.kill(other)
        assert scene.store.note_sent(other, said) == []
        assert scene.run(run).remote is None

    def test_of_a_batch_each_stands_by_itself(self, scene: Scene) -> None:
        node = scene.node(labels=ENGINES)
        for _ in range(3):
            scene.waiting_run()
            scene.wait(1)
        one, two, three = scene.start(node)
        scene.end(two)
        stood = scene.store.note_sent(node, [Sent(run.id, 1, sending("cluster")) for run in (one, two, three)])
        assert sorted(stood) == sorted([one.id, three.id])

    def test_when_its_node_dies_another_watches_the_same_attempt_and_no_crash_is_counted(self, scene: Scene) -> None:
        node, run = _sent(scene)
        heir = scene.node("heir", labels=ENGINES)
        before = scene.run(run)
        scene.wait(LEASE_MS)
        scene.renew(heir)
        (adopted,) = scene.store.take_over(node, 0)
        assert adopted == scene.run(run)
        assert (adopted.state, adopted.owner, adopted.claim_no) == (State.RUNNING, heir, before.claim_no + 1)
        assert (adopted.attempt, adopted.crashes, adopted.earlier) == (before.attempt, 0, ())
        assert (adopted.slot, adopted.started_ms, adopted.fence) == (before.slot, before.started_ms, before.fence)
        assert (adopted.remote, adopted.engine_id) == (before.remote, before.engine_id)
        assert scene.renew(heir).own == (adopted,)
        assert scene.store.take_over(node, 0) == []
        (line,) = [each for each in scene.store.changes(limit=10) if each.after.get("run") == run.id]
        assert (line.after["node"], line.after["heir"], line.after["engine"]) == ("first", "heir", "cluster")
        assert "died" not in line.after, "no crash"

    def test_nobody_but_the_heir_is_heard(self, scene: Scene) -> None:
        node, run = _sent(scene)
        heir = scene.node("heir", labels=ENGINES)
        assert [each.owner for each in scene.store.hand_over(node)] == [heir]
        assert scene.is_refused(run, by=node)
        assert scene.store.note_sent(node, [Sent(run.id, run.claim_no, taken("cluster"))]) == []
        assert scene.end(scene.run(run), result=7).result == 7

    def test_no_run_begins_in_its_place_while_nobody_watches_it(self, scene: Scene) -> None:
        node, run = _sent(scene)
        plain = scene.node("plain")
        scene.wait(MINUTE)
        scene.renew(plain)
        assert scene.store.take_over(node, 0) == []
        scene.plan(plain, free=4)
        assert scene.start(plain) == []
        assert [each.state for each in scene.runs()] == [State.RUNNING, State.WAITING]
        assert scene.run(run).owner == node

    def test_it_stays_until_a_node_comes_that_has_its_task_and_its_engine(self, scene: Scene) -> None:
        node, run = _sent(scene)
        scene.node("no-engine")
        scene.node("no-task", ("another",), labels=ENGINES)
        scene.node("draining", labels=ENGINES, state=NodeState.DRAINING)
        scene.node("planner", labels=ENGINES, roles=("plan",))
        scene.store.leave(node)
        scene.store.sweep()
        assert (scene.run(run).state, scene.run(run).owner) == (State.RUNNING, node)
        heir = scene.node("heir", labels=ENGINES)
        scene.store.sweep()
        assert (scene.run(run).owner, scene.run(run).crashes) == (heir, 0)

    def test_a_node_of_another_group_does_not_watch_it(self, scene: Scene) -> None:
        node, run = _sent(scene, group="eu", of="eu")
        scene.node("us", labels=ENGINES, group="us")
        assert scene.store.hand_over(node) == []
        heir = scene.node("eu", labels=ENGINES, group="eu")
        assert [each.owner for each in scene.store.hand_over(node)] == [heir]
        assert scene.run(run).owner == heir

    def test_what_may_run_once_at_most_goes_on_too(self, scene: Scene) -> None:
        node, run = _sent(scene, delivery="at_most_once")
        heir = scene.node("heir", labels=ENGINES)
        scene.store.leave(node)
        assert (scene.run(run).state, scene.run(run).owner) == (State.RUNNING, heir)

    def test_a_deleted_schedule_does_not_stop_it(self, scene: Scene) -> None:
        node, run = _sent(scene)
        heir = scene.node("heir", labels=ENGINES)
        scene.edit(edits.delete())
        scene.store.leave(node)
        assert (scene.run(run).state, scene.run(run).owner) == (State.RUNNING, heir)

    def test_a_node_hands_over_only_what_engines_have(self, scene: Scene) -> None:
        node, run = _sent(scene)
        plain = scene.waiting_run()
        assert [each.id for each in scene.start(node)] == [plain.id]
        assert scene.store.hand_over(node) == []
        heir = scene.node("heir", labels=ENGINES)
        assert [each.id for each in scene.store.hand_over(node)] == [run.id]
        assert scene.store.hand_over(node) == []
        assert (scene.run(run).owner, scene.run(plain).owner) == (heir, node)

    def test_who_is_asked_to_stop_it_is_the_one_who_watches_it(self, scene: Scene) -> None:
        node, run = _sent(scene)
        scene.store.request_cancel(run.id, "enough", BY)
        heir = scene.node("heir", labels=ENGINES)
        scene.store.leave(node)
        assert scene.store.cancels(heir) == [run.id]
        assert scene.end(scene.run(run), "cancelled").reason == "enough"

    def test_an_attempt_that_waits_again_is_at_no_engine(self, scene: Scene) -> None:
        node, run = _sent(scene, retries=1)
        waiting = scene.end(run, "failed", error="no")
        assert (waiting.state, waiting.remote, waiting.engine_id) == (State.WAITING, None, None)
        scene.wait(MINUTE)
        (again,) = [each for each in scene.start(node) if each.id == run.id]
        assert (again.attempt, again.remote) == (2, None)
        scene.store.note_sent(node, [Sent(run.id, again.claim_no, taken("other"))])
        failed = scene.end(scene.run(run), "failed", error="no")
        assert (failed.state, failed.engine_id) == (State.FAILED, f"{run.id}.2")
        retried = scene.store.retry(run.id, failed.claim_no, BY)
        assert (retried.state, retried.remote) == (State.WAITING, None)

    def test_what_engines_have_is_spread_over_those_who_can_watch_it(self, scene: Scene) -> None:
        node = scene.node(labels=ENGINES)
        for _ in range(20):
            scene.waiting_run()
            scene.wait(1)
        runs = scene.start(node)
        scene.store.note_sent(node, [Sent(run.id, run.claim_no, taken("cluster")) for run in runs])
        heirs = {scene.node("a", labels=ENGINES), scene.node("b", labels=ENGINES)}
        assert len(scene.store.hand_over(node)) == 20
        assert {scene.run(run).owner for run in runs} == heirs


def _sent(scene: Scene, of: str | None = None, **options: object) -> tuple[str, Run]:
    """A node, and its run that an engine has."""
    node = scene.node("first", labels=ENGINES, group=of)
    run = scene.running(node, **options)
    assert scene.store.note_sent(node, [Sent(run.id, run.claim_no, taken("cluster"))]) == [run.id]
    return node, scene.run(run)
