"""Flows: runs that stand for steps, which begin when what they wait for has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any, TypeVar, cast

import pytest

from onthedot.errors import Conflict
from onthedot.model.graph import Graph, Step
from onthedot.model.outcome import Ending, Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.rules.edits import pause
from onthedot.stores.engine import Engine
from onthedot.stores.engine.finishing import record
from onthedot.stores.transaction import Transaction, TryAgain
from onthedot.testing.conformance.scene import BY, MINUTE, SECOND, Promises, Scene

T = TypeVar("T")
TASKS = ("job", "@flow", "@inner")
CHAIN = Graph("flow", (Step("a", "job"), Step("b", "job", after=("a",)), Step("c", "job", after=("b",))))
FAN = Graph(
    "flow",
    (
        Step("list", "job"),
        Step("load", "job", {"file": {"$item": []}}, after=("list",), over={"$result": "list"}, parallel=2),
        Step("sum", "job", after=("load",)),
    ),
)
CLOSING = (Step("page", "job", on="failure", closing=True), Step("clean", "job", on="end", closing=True))


def begin(scene: Scene, graph: Graph, *others: Graph, **fields: Any) -> Run:
    """A flow that waits to be opened, and its graphs."""
    scene.store.save_graphs([graph, *others])
    return scene.waiting_run(task="@flow", graph=graph.hash, **fields)


def start(scene: Scene, node: str, limit: int = 100) -> dict[str, Run]:
    """What begins on the node now, by the names of the steps; of a map with the item."""
    return by_name(scene.start(node, limit, TASKS))


def by_name(runs: Sequence[Run]) -> dict[str, Run]:
    named = {f"{run.step}" if run.item is None else f"{run.step}[{run.item}]": run for run in runs}
    assert len(named) == len(runs), "two runs of one step"
    return named


def steps(scene: Scene, flow: Run) -> dict[str, Run]:
    """All steps of a flow as they are."""
    return by_name(scene.store.runs(parent=flow.id, limit=1000))


def states(scene: Scene, flow: Run) -> dict[str, str]:
    return {name: run.state.value for name, run in sorted(steps(scene, flow).items())}


def end(scene: Scene, run: Run, ending: Ending = "succeeded", **fields: Any) -> None:
    scene.end(run, ending, flow=run.parent_id, **fields)


def go_on(scene: Scene, node: str, how: Callable[[Run], Ending] = lambda run: "succeeded") -> list[str]:
    """Start and end whatever comes, until nothing does; the names of the steps in the order in which they began."""
    begun: list[str] = []
    while found := start(scene, node) or start(scene, node):  # what is revived begins in the next pass
        begun += sorted(found)
        for run in found.values():
            end(scene, run, how(run), final=True)
    return begun


def within(scene: Scene, work: Callable[[Transaction], T]) -> T:
    """In one transaction, made again where it clashes."""
    while True:
        try:
            with cast(Engine, scene.store).begin() as tx:
                return work(tx)
        except TryAgain:
            continue


class TestFlows(Promises):
    """From opening to end."""

    def test_each_step_begins_once_what_it_waits_for_has_ended_well_and_the_flow_ends_with_the_last(
        self, scene: Scene
    ) -> None:
        node, flow = scene.node(tasks=TASKS), begin(scene, CHAIN)
        for name in ("a", "b", "c"):
            found = start(scene, node)
            assert list(found) == [name]
            assert start(scene, node) == {}
            assert (scene.run(flow).state, scene.run(flow).owner) == (State.RUNNING, None)
            before = [run.fence for run in steps(scene, flow).values() if run.is_final]
            assert found[name].fence > max(before, default=0)
            end(scene, found[name])
        ended = scene.run(flow)
        assert (ended.state, ended.error, ended.finished_ms) == (State.SUCCEEDED, None, scene.now_ms)
        assert states(scene, flow) == dict.fromkeys("abc", "succeeded")
        assert scene.store.tend_flows() == 0

    def test_a_flow_needs_no_worker_to_be_opened_and_takes_none(self, scene: Scene) -> None:
        node, flow = scene.node(tasks=TASKS), begin(scene, CHAIN)
        assert start(scene, node, limit=0) == {}
        assert (scene.run(flow).state, states(scene, flow)) == (State.RUNNING, {"a": "waiting"})
        begin(scene, CHAIN)
        assert len(scene.start(node, 2, TASKS)) == 2
        assert len(scene.renew(node).own) == 2

    def test_a_map_makes_so_many_items_at_once_and_is_over_when_all_have_ended(self, scene: Scene) -> None:
        node, flow = scene.node(tasks=TASKS), begin(scene, FAN)
        files = ["a", "b", {"$item": 1}, "d", "e" * 2000]
        end(scene, start(scene, node)["list"], result=files, size=5)
        begun: dict[str, Run] = {}
        while found := start(scene, node):
            begun |= found
            assert sum(state in ("waiting", "running") for state in states(scene, flow).values()) <= 2
            for run in found.values():
                end(scene, run, result=run.item)
        assert sorted(begun) == ["load[0]", "load[1]", "load[2]", "load[3]", "load[4]", "sum"]
        assert [begun[f"load[{n}]"].args["file"] for n in range(4)] == ["a", "b", {"$value": {"$item": 1}}, "d"]
        assert begun["load[4]"].args == {"file": {"$item": []}}, "what is large is read when it begins"
        assert scene.store.results(flow.id, "load") == [(n, State.SUCCEEDED, n) for n in range(5)]
        assert scene.run(flow).state is State.SUCCEEDED

    def test_what_went_wrong_skips_what_waits_for_it_and_nothing_else_and_closing_steps_come_last(
        self, scene: Scene
    ) -> None:
        graph = Graph(
            "flow",
            (
                Step("bad", "job"),
                Step("after", "job", after=("bad",)),
                Step("mend", "job", after=("bad",), on="failure"),
                Step("other", "job"),
                Step("may", "job", may_fail=True),
                Step("join", "job", after=("other", "may", "after"), on="any"),
                *CLOSING,
            ),
        )
        node, flow = scene.node(tasks=TASKS), begin(scene, graph)
        bad = {"bad", "may"}
        begun = go_on(scene, node, lambda run: "failed" if run.step in bad else "succeeded")
        assert begun == ["bad", "may", "other", "join", "mend", "clean", "page"]
        ended = scene.run(flow)
        assert (ended.state, ended.error) == (State.FAILED, "bad went wrong")

    def test_a_flow_that_failed_says_what_the_first_bad_item_of_a_step_said(self, scene: Scene) -> None:
        items = {"$value": list(range(3))}
        graph = Graph("flow", (Step("each", "job", over=items), Step("may", "job", may_fail=True), Step("bad", "job")))
        node, flow = scene.node(tasks=TASKS), begin(scene, graph)
        for run in start(scene, node).values():
            state: Ending = "succeeded" if run.item == 0 else "failed"
            scene.end(run, state, error=f"no {run.step} {run.item}", final=True)
        ended = scene.run(flow)
        assert (ended.state, ended.error) == (State.FAILED, "each: 2 of 3 went wrong: no each 1; bad: no bad None")

    def test_a_step_that_skips_itself_skips_what_waits_for_it_and_the_flow_ends_well(self, scene: Scene) -> None:
        node, flow = scene.node(tasks=TASKS), begin(scene, CHAIN)
        assert go_on(scene, node, lambda run: "skipped" if run.step == "b" else "succeeded") == ["a", "b"]
        assert scene.run(flow).state is State.SUCCEEDED

    def test_steps_follow_the_policies_that_their_task_was_published_with_and_the_priority_of_their_flow(
        self, scene: Scene
    ) -> None:
        node = scene.node(tasks=TASKS)
        published = [TaskInfo("job", policy={"retries": 4, "timeout_ms": 7000}), TaskInfo("@flow")]
        scene.store.join(scene.renew(node).node, published)
        graph = Graph("flow", (Step("a", "job", policy={"retries": 1}),))
        begin(scene, graph, policy=Policy(priority=3))
        policy = start(scene, node)["a"].policy
        assert (policy.retries, policy.timeout_ms, policy.priority) == (1, 7000, 3)

    def test_a_node_that_dies_between_the_end_of_a_step_and_the_look_costs_a_poll(self, scene: Scene) -> None:
        node, flow = scene.node(tasks=TASKS), begin(scene, CHAIN)
        run = start(scene, node)["a"]
        outcome = Outcome(run.id, run.claim_no, "succeeded", result=7)
        within(scene, lambda tx: record(tx, node, [outcome], scene.store.tasks))
        assert start(scene, node) == {}
        assert scene.is_refused(run)
        assert scene.store.tend_flows() == 1
        assert list(start(scene, node)) == ["b"]
        assert scene.run(run).result == 7
        assert states(scene, flow) == {"a": "succeeded", "b": "running"}

    def test_a_step_that_was_lost_with_its_node_is_bad_and_its_flow_is_told(self, scene: Scene) -> None:
        graph = Graph("flow", (Step("a", "job", policy={"delivery": "at_most_once"}), *CLOSING))
        node, other, flow = scene.node("n", TASKS), scene.node("o", TASKS), begin(scene, graph)
        start(scene, node)
        scene.wait(20 * SECOND)
        scene.renew(other)
        scene.wait(10 * SECOND)
        scene.store.take_over(node, 0)
        assert set(start(scene, other)) == {"clean", "page"}
        assert states(scene, flow)["a"] == "lost"

    def test_a_run_that_waited_longer_than_it_may_is_skipped_and_in_a_flow_that_is_bad(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        begin(scene, CHAIN)
        alone = scene.waiting_run(until_ms=scene.now_ms + SECOND)
        assert scene.store.tend_flows() == 0
        scene.wait(SECOND)
        assert scene.store.tend_flows() == 1
        assert (scene.run(alone).state, scene.run(alone).reason) == (State.SKIPPED, "expired")
        assert list(start(scene, node)) == ["a"]

    def test_a_flow_whose_graph_is_gone_holds_up_no_other_and_is_ended_by_a_cancel_that_stops_all(
        self, scene: Scene
    ) -> None:
        node = scene.node(tasks=TASKS)
        odd = scene.waiting_run(task="@flow", graph="nobody keeps it", state=State.RUNNING, ledger={"steps": {}})
        scene.waiting_run(parent_id=odd.id, step="odd")
        flow = begin(scene, CHAIN)
        found = start(scene, node)
        assert scene.store.look([odd.id, flow.id]) == 1
        assert scene.run(odd).state is State.RUNNING
        scene.store.request_cancel(odd.id, "enough", BY, now=True)
        assert scene.run(odd).state is State.RUNNING, "a step of it runs"
        scene.end(found["odd"], "cancelled")
        scene.store.look([odd.id])
        assert (scene.run(odd).state, scene.run(odd).reason) == (State.CANCELLED, "enough")

    def test_two_nodes_that_end_steps_of_one_flow_at_once_make_each_step_once(self, scene: Scene) -> None:
        nodes, flow = [scene.node(name, TASKS) for name in "no"], begin(scene, FAN)
        end(scene, start(scene, nodes[0])["list"], result=list(range(30)), size=30)
        begun: list[str] = []

        def work(node: str) -> None:
            for _ in range(200):
                found = start(scene, node, limit=1)
                begun.extend(found)
                for run in found.values():
                    end(scene, run)
                if scene.run(flow).is_final:
                    return

        threads = [Thread(target=work, args=(node,)) for node in nodes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        scene.store.tend_flows()
        begun += go_on(scene, nodes[0])
        assert sorted(begun) == sorted([*(f"load[{n}]" for n in range(30)), "sum"])
        assert begun[-1] == "sum"
        assert scene.run(flow).state is State.SUCCEEDED


class TestFlowsOfSchedules(Promises):
    """A flow holds its schedule's slot from opening to end."""

    def put(self, scene: Scene, graph: Graph = CHAIN, **options: Any) -> None:
        scene.store.save_graphs([graph])
        scene.put(task="@flow", kind="flow", graph=graph.hash, **options)

    def test_the_slot_is_held_throughout_and_the_fences_of_a_later_flow_are_higher(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        self.put(scene, misfire="catch_up")
        fences: list[int] = []
        scene.wait(MINUTE)
        scene.plan(node, free=5)
        for name in ("a", "b", "c"):
            found = start(scene, node)
            assert list(found) == [name], "the next tick waits for the slot, whatever step runs"
            assert scene.runs()[0].slot is not None
            fences.append(found[name].fence)
            scene.wait(MINUTE)
            scene.plan(node, free=5)
            end(scene, found[name])
        first, second = scene.runs()[:2]
        assert (first.state, second.state) == (State.SUCCEEDED, State.WAITING)
        later = start(scene, node)
        assert list(later) == ["a"]
        assert later["a"].fence > max(fences)
        assert fences == sorted(set(fences))

    def test_a_flow_that_has_begun_goes_on_beside_a_pause_and_counts_as_running(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        self.put(scene)
        scene.wait(MINUTE)
        scene.plan(node)
        found = start(scene, node)
        _, affected = scene.edit(pause(None))
        assert (affected.running, affected.skipped) == (1, 0)
        end(scene, found["a"])
        assert go_on(scene, node) == ["b", "c"]
        assert scene.runs()[0].state is State.SUCCEEDED

    def test_a_newer_tick_of_a_covering_schedule_stops_the_flow_that_runs(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        self.put(scene, overlap="cover")
        scene.wait(MINUTE)
        scene.plan(node)
        found = start(scene, node)
        scene.wait(MINUTE)
        scene.plan(node)
        assert scene.store.cancels(node) == [found["a"].id]
        end(scene, found["a"], "cancelled")
        first, second = scene.runs()
        assert (first.state, first.reason) == (State.CANCELLED, "covered by a newer run")
        assert list(start(scene, node)) == ["a"]
        assert scene.run(second).state is State.RUNNING


class TestStoppingFlows(Promises):
    """Cancelling, and time-outs."""

    def test_a_cancelled_flow_ends_what_waits_asks_what_runs_and_begins_only_its_closing_steps(
        self, scene: Scene
    ) -> None:
        graph = Graph("flow", (Step("m", "job", over=[1, 2, 3], parallel=2), Step("b", "job", after=("m",)), *CLOSING))
        node, flow = scene.node(tasks=TASKS), begin(scene, graph)
        found = start(scene, node, limit=1)
        asked = scene.store.request_cancel(flow.id, "enough", BY)
        assert (asked.state, asked.reason) == (State.RUNNING, "enough")
        assert scene.store.cancels(node) == [run.id for run in found.values()]
        assert states(scene, flow) == {"m[0]": "running", "m[1]": "cancelled"}
        assert start(scene, node) == {}
        end(scene, found["m[0]"], "cancelled")
        closing = start(scene, node)
        assert set(closing) == {"clean", "page"}
        scene.store.request_cancel(flow.id, "once more", BY)
        assert scene.store.cancels(node) == [], "a repeat asks for no more than the first"
        for run in closing.values():
            end(scene, run)
        ended = scene.run(flow)
        assert (ended.state, ended.reason) == (State.CANCELLED, "enough")

    def test_a_cancel_that_stops_all_stops_closing_steps_too(self, scene: Scene) -> None:
        graph = Graph("flow", (Step("a", "job"), *CLOSING))
        node, flow = scene.node(tasks=TASKS), begin(scene, graph)
        end(scene, start(scene, node)["a"])
        closing = start(scene, node)
        assert list(closing) == ["clean"]
        scene.store.request_cancel(flow.id, "at once", BY, now=True)
        assert scene.store.cancels(node) == [closing["clean"].id]
        end(scene, closing["clean"], "cancelled")
        assert scene.run(flow).state is State.CANCELLED

    def test_a_flow_that_runs_longer_than_its_time_out_is_stopped_and_says_so(self, scene: Scene) -> None:
        graph = Graph("flow", (*CHAIN.steps, *CLOSING))
        node, flow = scene.node(tasks=TASKS), begin(scene, graph, policy=Policy(timeout_ms=MINUTE))
        found = start(scene, node)
        scene.wait(MINUTE)
        scene.renew(node)
        assert scene.store.tend_flows() == 1
        assert scene.store.tend_flows() == 0
        assert scene.store.cancels(node) == [found["a"].id]
        end(scene, found["a"])
        assert go_on(scene, node) == ["clean", "page"]
        assert scene.run(flow).state is State.TIMED_OUT

    def test_a_stop_reaches_the_steps_of_sub_flows(self, scene: Scene) -> None:
        inner = Graph("inner", (*CHAIN.steps, CLOSING[1]))
        graph = Graph("flow", (Step("sub", "@inner", graph=inner.hash, over=[1, 2]), CLOSING[0]))
        node, flow = scene.node(tasks=TASKS), begin(scene, graph, inner)
        found = scene.start(node, 1, TASKS)
        scene.store.request_cancel(flow.id, "enough", BY)
        assert scene.store.cancels(node) == [run.id for run in found]
        end(scene, found[0], "cancelled")
        last = scene.start(node, 10, TASKS)
        assert [run.step for run in last] == ["clean", "clean"]
        for run in last:
            end(scene, run)
        assert list(start(scene, node)) == ["page"]
        assert {run.state for run in scene.store.runs(parent=flow.id) if run.step == "sub"} == {State.CANCELLED}

    def test_a_flow_that_stops_undoes_nothing_of_what_its_sub_flow_is_told_at_that_moment(self, scene: Scene) -> None:
        inner = Graph("inner", (Step("a", "job"), Step("b", "job")))
        graph = Graph("flow", (Step("sub", "@inner", graph=inner.hash),))
        node, flow = scene.node(tasks=TASKS), begin(scene, graph, inner, policy=Policy(timeout_ms=MINUTE))
        found = start(scene, node)
        scene.wait(MINUTE)
        scene.renew(node)
        outcome = Outcome(found["a"].id, found["a"].claim_no, "succeeded")
        within(scene, lambda tx: record(tx, node, [outcome], scene.store.tasks))
        scene.store.tend_flows()  # one poll finds the flow, which is late, and the sub-flow, which nobody has told
        assert scene.store.cancels(node) == [found["b"].id]
        end(scene, found["b"], "cancelled")
        assert [scene.run(run).state for run in (found["a"], flow)] == [State.SUCCEEDED, State.TIMED_OUT]


class TestSubFlows(Promises):
    """A step that is a flow itself."""

    def test_a_sub_flow_is_a_step_that_ends_with_the_last_of_its_own(self, scene: Scene) -> None:
        graph = Graph("flow", (Step("sub", "@inner", graph=CHAIN.hash), Step("after", "job", after=("sub",))))
        node, flow = scene.node(tasks=TASKS), begin(scene, graph, CHAIN)
        assert go_on(scene, node) == ["a", "b", "c", "after"]
        assert (scene.run(flow).state, states(scene, flow)) == (
            State.SUCCEEDED,
            {"after": "succeeded", "sub": "succeeded"},
        )


class TestRetryingFlows(Promises):
    """Done again: only what went wrong, and what follows from it."""

    def test_a_retried_flow_does_again_what_went_wrong_and_keeps_what_ended_well(self, scene: Scene) -> None:
        graph = Graph("flow", (*CHAIN.steps, *CLOSING))
        node, flow = scene.node(tasks=TASKS), begin(scene, graph)
        assert go_on(scene, node, lambda run: "failed" if run.step == "b" else "succeeded") == [
            "a",
            "b",
            "clean",
            "page",
        ]
        before = scene.run(flow)
        first = {run.step: run for run in scene.store.runs(parent=flow.id)}
        again = scene.store.retry(flow.id, before.claim_no, BY)
        assert (again.state, again.error, again.claim_no) == (State.WAITING, None, before.claim_no + 1)
        with pytest.raises(Conflict):
            scene.store.retry(flow.id, before.claim_no, BY)
        assert go_on(scene, node) == ["b", "c", "clean"]
        rows = scene.store.runs(parent=flow.id, limit=100)
        assert scene.run(flow).state is State.SUCCEEDED
        assert len(rows) == 6, "b is the same run, and clean another"
        b = next(run for run in rows if run.step == "b")
        assert (b.id, b.state, b.attempt, b.earlier[-1].outcome) == (first["b"].id, State.SUCCEEDED, 2, "failed")
        assert b.fence > first["b"].fence

    def test_a_step_is_retried_by_itself_while_nothing_rests_on_its_end(self, scene: Scene) -> None:
        graph = Graph("flow", (Step("a", "job"), Step("b", "job", after=("a",)), Step("other", "job")))
        node, flow = scene.node(tasks=TASKS), begin(scene, graph)
        found = start(scene, node)
        end(scene, found["a"], "failed", final=True)
        a = scene.run(found["a"])
        again = scene.store.retry(a.id, a.claim_no, BY)
        assert (again.id, again.state, again.error) == (a.id, State.WAITING, None)
        assert go_on(scene, node) == ["a", "b"]
        end(scene, found["other"])
        assert scene.run(flow).state is State.SUCCEEDED

    def test_a_step_whose_end_was_used_is_retried_with_its_flow_only(self, scene: Scene) -> None:
        graph = Graph("flow", (Step("a", "job"), Step("mend", "job", after=("a",), on="failure")))
        node, flow = scene.node(tasks=TASKS), begin(scene, graph)
        end(scene, start(scene, node)["a"], "failed", final=True)
        mend = start(scene, node)["mend"]
        a = steps(scene, flow)["a"]
        with pytest.raises(Conflict, match=f"a step after it has begun; retry its flow, {flow.id}"):
            scene.store.retry(a.id, a.claim_no, BY)
        end(scene, mend)
        with pytest.raises(Conflict, match="its flow does not run"):
            scene.store.retry(a.id, a.claim_no, BY)
        assert scene.run(a).state is State.FAILED
