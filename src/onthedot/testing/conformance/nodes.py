"""Incarnations, leases and takeover: a dead node cannot renew, plan, start or record."""

from __future__ import annotations

import pytest

from onthedot.errors import Conflict, NodeDead, NodeNotFound
from onthedot.model.change import Author
from onthedot.model.log_line import LogLine
from onthedot.model.node import Node, NodeState
from onthedot.model.policy import Policy
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.rules import edits
from onthedot.testing.conformance.scene import BY, LEASE_MS, MINUTE, SECOND, START_MS, Promises, Scene


class TestLeases(Promises):
    def test_a_node_that_joins_is_among_the_live_ones(self, scene: Scene) -> None:
        node = Node("n-1", "web", "eu", {"disk": "ssd"}, 20, ("plan",), ("job", "other"), lease_ms=12_000)
        joined = scene.store.join(
            node, [TaskInfo("job", ({"name": "to", "required": True},), "Sends.", {"retries": 2})]
        )
        assert scene.store.nodes() == [joined]
        assert (joined.started_ms, joined.renewed_ms, joined.renewals) == (START_MS, START_MS, 0)
        assert (joined.name, joined.group, dict(joined.labels), joined.capacity) == ("web", "eu", {"disk": "ssd"}, 20)
        assert (joined.roles, joined.tasks, joined.lease_ms) == (("plan",), ("job", "other"), 12_000)
        (task,) = scene.store.tasks()
        assert (task.name, task.doc, dict(task.policy)) == ("job", "Sends.", {"retries": 2})
        assert [dict(each) for each in task.parameters] == [{"name": "to", "required": True}]

    def test_joining_twice_with_one_id_is_joining_once(self, scene: Scene) -> None:
        node = Node("n-1", "web")
        first = scene.store.join(node, [])
        scene.wait(5 * SECOND)
        assert scene.store.join(node, []) == first
        assert scene.store.nodes() == [first]

    def test_joining_again_publishes_the_tasks_anew_and_changes_nothing_else(self, scene: Scene) -> None:
        first = scene.store.join(Node("n-1", "web", tasks=("old",)), [TaskInfo("old")])
        scene.wait(5 * SECOND)
        again = scene.store.join(Node("n-1", "other", tasks=("new",)), [TaskInfo("new")])
        assert (again.tasks, again.name, again.renewed_ms) == (("new",), "web", first.renewed_ms)
        assert scene.store.nodes() == [again]
        assert [task.name for task in scene.store.tasks()] == ["new"]

    def test_a_node_publishes_the_sizes_of_its_pools_when_it_joins_and_where_its_tasks_go(self, scene: Scene) -> None:
        sizes = {"fast": 40, "slow": 20, "loop": 40, "process": 2}
        node = Node("n-1", "web", lease_ms=LEASE_MS, pools=sizes)
        joined = scene.store.join(node, [TaskInfo("fetch", pool="loop"), TaskInfo("job")])
        assert dict(joined.pools) == sizes
        assert [dict(each.pools) for each in scene.store.nodes()] == [sizes]
        assert [(task.name, task.pool) for task in scene.store.tasks()] == [("fetch", "loop"), ("job", "fast")]
        renewal = scene.store.renew(Node("n-1", "web", lease_ms=LEASE_MS))
        assert dict(renewal.node.pools) == sizes, "a renewal need not tell them again"
        assert [dict(each.pools) for each in renewal.nodes] == [sizes]
        again = scene.store.join(Node("n-1", "web", pools={"fast": 8}), [])
        assert dict(again.pools) == {"fast": 8}, "what has changed is told by joining again"
        scene.store.leave("n-1")
        assert [dict(each.pools) for each in scene.store.gone_nodes()] == [{"fast": 8}]

    def test_nodes_of_one_name_are_different_incarnations(self, scene: Scene) -> None:
        old, new = scene.node("web"), scene.node("web")
        mine = scene.running(new)
        scene.wait(MINUTE)
        assert scene.store.take_over(old, 0) == []
        assert scene.run(mine) == mine
        assert [node.id for node in scene.store.nodes()] == [new]

    def test_a_renewal_extends_the_lease_and_answers_with_everything(self, scene: Scene) -> None:
        node, peer = scene.node("a"), scene.node("b")
        run = scene.running(node)
        scene.wait(10 * SECOND)
        renewal = scene.renew(node, capacity=7, state=NodeState.DRAINING, labels={"disk": "full"})
        assert (renewal.node.renewed_ms, renewal.node.renewals) == (scene.now_ms, 1)
        assert (renewal.node.capacity, renewal.node.state) == (7, NodeState.DRAINING)
        assert dict(renewal.node.labels) == {"disk": "full"}
        assert renewal.own == (run,)
        assert {each.id for each in renewal.nodes} == {node, peer}
        assert renewal.node in scene.store.nodes()

    def test_a_renewal_tells_what_the_node_no_longer_holds(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        scene.end(run)
        assert scene.renew(node).own == ()

    def test_a_dead_stopped_or_unknown_node_cannot_renew(self, scene: Scene) -> None:
        dead, stopped = scene.node("a"), scene.node("b")
        scene.kill(dead)
        scene.store.leave(stopped)
        for node in (dead, stopped, "nobody"):
            with pytest.raises(NodeDead):
                scene.store.renew(Node(node, "x"))
        assert scene.store.nodes() == []

    def test_a_dead_node_does_not_come_back_by_joining_again(self, scene: Scene) -> None:
        node = Node("n-1", "web", lease_ms=LEASE_MS)
        scene.store.join(node, [])
        scene.kill("n-1")
        scene.store.join(node, [])
        assert scene.store.nodes() == []
        with pytest.raises(NodeDead):
            scene.store.renew(node)

    def test_a_node_that_leaves_is_gone_and_so_are_its_tasks(self, scene: Scene) -> None:
        node, peer = scene.node("a", tasks=["job", "mine"]), scene.node("b", tasks=["job"])
        assert [task.name for task in scene.store.tasks()] == ["job", "mine"]
        scene.store.leave(node)
        assert [each.id for each in scene.store.nodes()] == [peer]
        assert [task.name for task in scene.store.tasks()] == ["job"]
        scene.store.leave(node)
        scene.store.leave("nobody")

    def test_what_a_leaving_node_still_holds_is_given_back_at_once_and_no_crash_is_counted(self, scene: Scene) -> None:
        node, peer = scene.node("a"), scene.node("b")
        run = scene.running(node)
        scene.store.leave(node)
        (again,) = scene.start(peer)
        assert (again.id, again.attempt, again.crashes) == (run.id, 2, 0)
        assert scene.is_refused(run)

    def test_a_lease_is_renewed_from_the_time_that_the_store_has_now(self, scene: Scene) -> None:
        """After the store's clock was an hour ahead, a death is still noticed within one lease."""
        node = scene.node()
        scene.wait(60 * MINUTE)
        scene.renew(node)
        scene.wait(-60 * MINUTE)
        scene.renew(node)
        scene.wait(LEASE_MS)
        scene.store.take_over(node, 2)
        assert scene.store.nodes() == []

    def test_nodes_that_stopped_or_died_are_remembered_with_when_they_were_last_heard_of(self, scene: Scene) -> None:
        stopped, dead, lives = scene.node("a"), scene.node("b", group="eu", capacity=4), scene.node("c")
        assert scene.store.gone_nodes() == []
        scene.wait(5 * SECOND)
        scene.store.leave(stopped)
        scene.kill(dead)
        gone = scene.store.gone_nodes()
        assert [(each.id, each.name, each.state) for each in gone] == [
            (stopped, "a", NodeState.STOPPED),
            (dead, "b", NodeState.DEAD),
        ]
        assert [each.renewed_ms for each in gone] == [START_MS + 5 * SECOND, START_MS]
        assert (gone[1].group, gone[1].capacity, gone[1].tasks) == ("eu", 4, ("job",))
        assert [each.id for each in scene.store.gone_nodes(limit=1)] == [stopped]
        assert [each.id for each in scene.store.nodes()] == [lives]

    def test_a_node_that_was_cut_off_before_it_leaves_was_last_heard_of_when_it_renewed(self, scene: Scene) -> None:
        node = scene.node()
        scene.wait(LEASE_MS)
        scene.store.leave(node)
        (gone,) = scene.store.gone_nodes()
        assert (gone.state, gone.renewed_ms) == (NodeState.STOPPED, START_MS)


class TestForgetting(Promises):
    def test_a_node_that_stopped_or_died_can_be_forgotten_and_the_audit_says_by_whom(self, scene: Scene) -> None:
        stopped, dead, lives = scene.node("a"), scene.node("b", tasks=["rare"]), scene.node("c")
        scene.store.leave(stopped)
        scene.kill(dead)
        assert scene.store.forget_node(dead, BY).name == "b"
        assert [each.id for each in scene.store.gone_nodes()] == [stopped]
        assert scene.store.forget_node(stopped, BY).state is NodeState.STOPPED
        assert scene.store.gone_nodes() == []
        assert [each.id for each in scene.store.nodes()] == [lives]
        line = scene.store.changes(name="")[1]
        assert (line.by, line.at_ms, line.before["state"]) == (BY, scene.now_ms, "dead")
        assert dict(line.after) == {"node": "b", "node_id": dead, "state": "forgotten"}
        with pytest.raises(NodeNotFound):
            scene.store.forget_node(dead, BY)
        assert len(scene.store.changes(name="")) == 2, "what is not there leaves no line"

    def test_a_node_that_lives_is_not_forgotten(self, scene: Scene) -> None:
        node = scene.node("web")
        with pytest.raises(Conflict, match="node web is alive: drain it"):
            scene.store.forget_node(node, BY)
        scene.store.drain(node)
        with pytest.raises(Conflict, match="alive"):
            scene.store.forget_node(node, BY)
        scene.wait(LEASE_MS)
        with pytest.raises(Conflict, match="nobody has declared it dead yet"):
            scene.store.forget_node(node, BY)
        assert [each.id for each in scene.store.nodes()] == [node]
        assert scene.store.changes(name="") == []

    def test_what_a_forgotten_node_did_is_still_told_under_its_id(self, scene: Scene) -> None:
        node, peer = scene.node("a"), scene.node("b")
        run = scene.running(node)
        scene.kill(node)
        scene.store.forget_node(node, BY)
        (again,) = scene.start(peer)
        assert (again.id, [each.node for each in again.earlier]) == (run.id, [node])
        assert scene.store.changes(name="s")[0].after["node_id"] == node

    def test_a_forgotten_node_cannot_come_back_as_itself(self, scene: Scene) -> None:
        joined = scene.store.join(Node("n-1", "web", lease_ms=LEASE_MS), [TaskInfo("job")])
        scene.kill("n-1")
        scene.store.forget_node("n-1", BY)
        with pytest.raises(NodeDead):
            scene.store.renew(joined)
        assert scene.store.join(joined, [TaskInfo("job")]).state is NodeState.DEAD
        with pytest.raises(NodeDead):
            scene.start("n-1")
        assert (scene.store.nodes(), scene.store.tasks()) == ([], [])
        scene.store.leave("n-1")
        assert scene.store.take_over("n-1", 0) == []

    def test_forgetting_takes_the_tasks_that_the_node_published_along(self, scene: Scene) -> None:
        """They would come back with a node of the same id, and nothing else would ever remove them."""
        node = Node("n-1", "web", lease_ms=LEASE_MS)
        scene.store.join(node, [TaskInfo("old")])
        scene.store.leave("n-1")
        scene.store.forget_node("n-1", BY)
        scene.store.join(Node("n-2", "web"), [TaskInfo("new")])
        assert [task.name for task in scene.store.tasks()] == ["new"]


class TestTakeover(Promises):
    def test_a_takeover_leaves_a_line_for_each_run_that_says_which_node_died_and_who_took_over(
        self, scene: Scene
    ) -> None:
        node = scene.node("a")
        run = scene.running(node)
        scene.waiting_run()
        (alone,) = scene.start(node)
        scene.wait(LEASE_MS)
        scene.store.take_over(node, 0, Author("b", "node", "take over"))
        change = scene.store.changes(name="s")[0]
        assert (change.by, change.at_ms) == (Author("b", "node", "take over"), scene.now_ms)
        assert (change.schedule_id, change.before["started_ms"]) == (run.schedule_id, START_MS + MINUTE)
        assert dict(change.after) == {
            "run": run.id,
            "task": "job",
            "state": "waiting",
            "node": "a",
            "node_id": node,
            "renewed_ms": START_MS,
            "died": True,
        }
        assert [each.after["run"] for each in scene.store.changes(name="")] == [alone.id]
        scene.store.take_over(node, 0)
        assert scene.store.changes(name="s")[0] == change, "taking over twice is taking over once"

    def test_what_a_leaving_node_gives_back_leaves_a_line_too(self, scene: Scene) -> None:
        node = scene.node("a")
        run = scene.running(node)
        scene.store.leave(node)
        change = scene.store.changes(name="s")[0]
        assert change.by == Author("a", "node", "leave")
        assert (change.after["run"], change.after["node"], change.after["died"]) == (run.id, "a", False)

    def test_a_node_is_not_taken_over_before_its_lease_is_over(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        scene.renew(node)
        scene.wait(LEASE_MS - 1)
        assert scene.store.take_over(node, 1) == []
        assert scene.run(run) == run
        scene.renew(node)

    def test_a_node_that_renewed_since_it_was_seen_is_not_taken_over(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        scene.renew(node)
        scene.wait(10 * LEASE_MS)
        assert scene.store.take_over(node, 0) == []
        assert scene.run(run) == run
        assert [each.id for each in scene.store.take_over(node, 1)] == [run.id]

    def test_a_run_whose_node_died_is_run_again_as_another_attempt_under_the_same_id(self, scene: Scene) -> None:
        node, peer = scene.node("a"), scene.node("b")
        run = scene.running(node)
        (given_back,) = scene.kill(node)
        assert (given_back.id, given_back.state, given_back.crashes) == (run.id, State.WAITING, 1)
        assert (given_back.claim_no, given_back.owner, given_back.slot) == (run.claim_no + 1, None, None)
        assert (given_back.due_ms, given_back.scheduled_ms) == (run.due_ms, run.scheduled_ms)
        (again,) = scene.start(peer)
        assert (again.id, again.attempt, again.claim_no) == (run.id, 2, 3)
        assert scene.end(again).state is State.SUCCEEDED

    def test_taking_over_twice_is_taking_over_once(self, scene: Scene) -> None:
        node, peer = scene.node("a"), scene.node("b")
        scene.running(node)
        assert len(scene.kill(node)) == 1
        assert scene.store.take_over(node, 0) == []
        (again,) = scene.start(peer)
        assert scene.store.take_over(node, 0) == []
        assert scene.run(again) == again
        assert scene.store.take_over("nobody", 0) == []

    def test_only_the_dead_ones_runs_are_taken_over(self, scene: Scene) -> None:
        node, peer = scene.node("a"), scene.node("b")
        mine, theirs = scene.waiting_run(), scene.waiting_run()
        scene.start(node, limit=1)
        scene.start(peer, limit=1)
        owners = {scene.run(run).owner: run.id for run in (mine, theirs)}
        given_back = scene.kill(node)
        assert [run.id for run in given_back] == [owners[node]]
        assert scene.run(owners[peer]).state is State.RUNNING

    def test_at_most_once_is_lost_when_its_node_dies(self, scene: Scene) -> None:
        run = scene.running(scene.node(), delivery="at_most_once", retries=5)
        scene.kill(run.owner or "")
        lost = scene.run(run)
        assert (lost.state, lost.finished_ms) == (State.LOST, scene.now_ms)
        assert scene.start(scene.node("b")) == []

    def test_a_lost_run_can_be_done_again_by_an_operator(self, scene: Scene) -> None:
        run = scene.running(scene.node(), delivery="at_most_once")
        scene.kill(run.owner or "")
        lost = scene.run(run)
        scene.store.retry(lost.id, lost.claim_no, BY)
        assert [again.id for again in scene.start(scene.node("b"))] == [run.id]

    def test_a_run_taken_over_inside_a_pause_waits_for_the_resume(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        scene.edit(edits.pause(None))
        scene.kill(run.owner or "")
        peer = scene.node("b")
        assert scene.start(peer) == []
        scene.edit(edits.resume())
        assert [again.id for again in scene.start(peer)] == [run.id]

    def test_a_superseded_owner_cannot_record_or_log(self, scene: Scene) -> None:
        node, peer = scene.node("a"), scene.node("b")
        run = scene.running(node)
        scene.kill(node)
        (again,) = scene.start(peer)
        assert scene.is_refused(run)
        assert scene.store.log(node, [LogLine(run.id, run.claim_no, scene.now_ms, "info", "I live")]) == 0
        assert scene.store.log(node, [LogLine(run.id, again.claim_no, scene.now_ms, "info", "I guess")]) == 0
        assert scene.store.logs(run.id) == []
        assert scene.run(run) == again


class TestCrashes(Promises):
    def test_a_run_that_kills_its_nodes_is_failed_in_the_end(self, scene: Scene) -> None:
        run = scene.waiting_run(policy=Policy(crash_retries=2, retries=9))
        for _ in range(3):
            node = scene.node()
            assert len(scene.start(node)) == 1
            scene.kill(node)
        dead = scene.run(run)
        assert (dead.state, dead.crashes, dead.attempt) == (State.FAILED, 3, 3)
        assert "died" in (dead.error or "")

    def test_a_crash_does_not_use_up_the_retries_after_errors(self, scene: Scene) -> None:
        scene.waiting_run(policy=Policy(retries=1, backoff_ms=0))
        scene.start(scene.node("a"))
        scene.kill(scene.store.nodes()[0].id)
        node = scene.node("b")
        (second,) = scene.start(node)
        assert scene.end(second, "failed").state is State.WAITING
        (third,) = scene.start(node)
        assert scene.end(third, "failed").state is State.FAILED

    def test_of_runs_that_have_crashed_one_at_a_time_begins_on_a_node(self, scene: Scene) -> None:
        first = scene.node("a")
        runs = {scene.waiting_run().id for _ in range(3)}
        assert len(scene.start(first)) == 3
        scene.kill(first)
        node, peer = scene.node("b"), scene.node("c")
        (suspect,) = scene.start(node)
        assert scene.start(node) == []
        (other,) = scene.start(peer)
        assert {suspect.id, other.id} < runs
        fresh = scene.waiting_run()
        assert [run.id for run in scene.start(node)] == [fresh.id]
        scene.end(suspect)
        (third,) = scene.start(node)
        assert {suspect.id, other.id, third.id} == runs

    def test_runs_that_have_crashed_do_not_hide_those_that_have_not(self, scene: Scene) -> None:
        first = scene.node("a")
        for _ in range(5):
            scene.waiting_run()
        scene.start(first)
        scene.kill(first)
        innocent = scene.waiting_run()
        node = scene.node("b")
        started = [run.id for _ in range(5) for run in scene.start(node, limit=3)]
        assert innocent.id in started
