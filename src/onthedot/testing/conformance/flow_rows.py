"""What a store keeps of flows: their graphs, and their steps until the flow is told how they ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import pytest

from onthedot.model.graph import Graph, Step
from onthedot.model.ids import new_id
from onthedot.model.log_line import LogLine
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.stores.counts import RunCounts
from onthedot.stores.engine import Engine
from onthedot.stores.retention import Retention
from onthedot.stores.transaction import StepRow, Transaction, TryAgain
from onthedot.testing.conformance.scene import DAY, HOUR, MINUTE, SECOND, Promises, Scene

T = TypeVar("T")
GRAPH = Graph("etl", (Step("load", "job"), Step("sum", "job", {"parts": {"$result": "load"}}, after=("load",))))


def within(scene: Scene, work: Callable[[Transaction], T]) -> T:
    """In one transaction, made again where it clashes."""
    while True:
        try:
            with cast(Engine, scene.store).begin() as tx:
                return work(tx)
        except TryAgain:
            continue


def flow(scene: Scene, **fields: Any) -> Run:
    """A flow that has begun."""
    made = scene.new_run(task="@etl")
    begun = {"state": State.RUNNING, "graph": GRAPH.hash, "ledger": {"steps": {}}, "started_ms": scene.now_ms}
    (row,) = keep(scene, replace(made, **{**begun, "created_ms": scene.now_ms, **fields}))
    return row


def steps(scene: Scene, of: Run, count: int, step: str = "load", **fields: Any) -> list[Run]:
    """Steps of a flow that wait, one for each item."""
    made = [
        Run(new_id(scene.now_ms), "job", "enqueue", scene.now_ms, scene.now_ms, parent_id=of.id, step=step, item=item)
        for item in range(count)
    ]
    return keep(scene, *(replace(run, created_ms=scene.now_ms, **fields) for run in made))


def keep(scene: Scene, *runs: Run) -> list[Run]:
    """Write live rows."""
    within(scene, lambda tx: tx.save_runs(runs))
    return [*runs]


def tell(scene: Scene, of: Run) -> list[StepRow]:
    """What a look does with the ended steps of a flow: they go to history."""

    def work(tx: Transaction) -> list[StepRow]:
        tx.live_runs([of.id])
        ended = [step for step in tx.steps_of([of.id]) if step.is_final]
        tx.end_runs(ended)
        return ended

    return within(scene, work)


def names(runs: Sequence[Run]) -> list[str]:
    return sorted(run.id for run in runs)


class TestGraphs(Promises):
    def test_a_graph_is_found_by_its_hash_and_one_that_was_never_kept_is_not(self, scene: Scene) -> None:
        other = Graph("other", GRAPH.steps)
        scene.store.save_graphs([GRAPH, other])
        scene.store.save_graphs([GRAPH])
        assert scene.store.graph(GRAPH.hash) == GRAPH
        assert within(scene, lambda tx: tx.graphs([GRAPH.hash, other.hash, "never"])) == {
            GRAPH.hash: GRAPH,
            other.hash: other,
        }
        assert scene.store.graph("never") is None


class TestStepRows(Promises):
    def test_a_step_that_has_ended_stays_among_the_live_rows_until_its_flow_is_told(self, scene: Scene) -> None:
        node, of = scene.node(), flow(scene)
        waiting, *_ = steps(scene, of, 3)
        first, second, _ = scene.start(node)
        ended = scene.end(first, result=[1, 2])
        assert ended.state is State.SUCCEEDED
        seen = within(scene, lambda tx: tx.steps_of([of.id]))
        assert {(step.id, step.state) for step in seen if step.id in (first.id, second.id)} == {
            (first.id, State.SUCCEEDED),
            (second.id, State.RUNNING),
        }
        assert within(scene, lambda tx: tx.untold(10)) == [of.id]
        assert [step.id for step in tell(scene, of)] == [first.id]
        assert names(within(scene, lambda tx: tx.steps_of([of.id]))) == names(
            [run for run in scene.store.runs(parent=of.id) if not run.is_final]
        )
        assert within(scene, lambda tx: tx.untold(10)) == []
        assert within(scene, lambda tx: tx.ended_runs([first.id]))[first.id] == ended == scene.run(first)
        assert waiting.parent_id == of.id

    def test_a_step_that_has_ended_is_shown_as_ended_whether_its_flow_is_told_or_not(self, scene: Scene) -> None:
        node, of = scene.node(), flow(scene)
        steps(scene, of, 1)
        (run,) = scene.start(node)
        ended = scene.end(run, "failed", error="no", final=True)

        def shown() -> list[list[str]]:
            ask = scene.store.runs
            asked: list[dict[str, Any]] = [
                {"ids": [run.id]},
                {"state": State.FAILED},
                {"state": State.RUNNING, "task": "job"},
                {"state": State.WAITING},
                {"parent": of.id},
                {"parent": of.id, "state": State.FAILED},
                {"task": "job"},
                {"task": "job", "state": State.FAILED},
                {"node": node},
                {"node": node, "state": State.FAILED, "limit": 1},
                {"before": run.id},
                {},
            ]
            return [[each.id for each in ask(**wanted)] for wanted in asked]

        here, both = [run.id], [run.id, of.id]
        before = shown()
        assert before == [here, here, [], [], here, here, here, here, here, here, [of.id], both]
        assert scene.run(run) == ended
        tell(scene, of)
        assert shown() == before
        assert scene.run(run) == ended

    def test_a_step_that_has_ended_and_was_not_told_runs_and_waits_nowhere(self, scene: Scene) -> None:
        node, of = scene.node(), flow(scene, until_ms=scene.now_ms)
        steps(scene, of, 2, until_ms=scene.now_ms + 1)
        for run in scene.start(node):
            scene.end(run)
        assert scene.store.count_runs() == RunCounts(running=1), "the flow itself"
        assert scene.store.load() == []
        assert within(scene, lambda tx: (tx.load(), tx.owners(), tx.owned_by(node))) == ({}, set(), [])
        assert within(scene, lambda tx: tx.live_runs([run.id, of.id])).keys() == {of.id}
        assert within(scene, lambda tx: tx.live_runs_if_free([run.id])) == {}
        assert scene.renew(node).own == ()
        assert scene.store.upcoming(scene.now_ms, scene.now_ms + MINUTE) == []
        assert scene.start(node) == []
        assert scene.store.sweep() == 0
        assert scene.kill(node) == [], "nothing is given back of it"
        assert {each.state for each in scene.store.runs(parent=of.id)} == {State.SUCCEEDED}

    def test_runs_are_listed_by_their_step_or_without_steps_told_or_not(self, scene: Scene) -> None:
        node, of = scene.node(), flow(scene)
        steps(scene, of, 3)
        first, second, _ = scene.start(node)
        scene.end(first)
        tell(scene, of)
        scene.end(second)
        asked = scene.store.runs(parent=of.id)
        of_step = next(run.step for run in asked)
        assert names(scene.store.runs(parent=of.id, step=of_step)) == names(
            [run for run in asked if run.step == of_step]
        )
        assert scene.store.runs(parent=of.id, step="never") == scene.store.runs(parent=of.id, steps=False) == []
        assert [run.id for run in scene.store.runs(steps=False)] == [of.id]
        assert scene.store.runs(step=of_step, steps=False) == []

    def test_whoever_reports_again_of_a_step_that_has_ended_is_refused(self, scene: Scene) -> None:
        node, of = scene.node(), flow(scene)
        steps(scene, of, 1)
        (run,) = scene.start(node)
        scene.end(run, result=1)
        assert scene.is_refused(run, "failed")
        assert scene.store.log(node, [LogLine(run.id, run.claim_no, scene.now_ms, "INFO", "late")]) == 0
        tell(scene, of)
        assert scene.is_refused(run, "failed")

    def test_the_steps_of_a_flow_are_given_by_id_and_nobody_elses(self, scene: Scene) -> None:
        of, other, third = flow(scene), flow(scene), flow(scene)
        made, others = steps(scene, of, 3), steps(scene, other, 2)
        steps(scene, third, 1)
        keep(scene, replace(scene.new_run(), parent_id=of.id, cause="chain"))
        seen = within(scene, lambda tx: tx.steps_of([other.id, of.id, "nobody"]))
        assert [step.id for step in seen] == names([*made, *others])
        assert [(step.step, step.item, step.parent_id) for step in seen if step.id == others[1].id] == [
            ("load", 1, other.id)
        ]
        assert within(scene, lambda tx: tx.steps_of([])) == []

    def test_all_of_a_step_goes_to_history_though_little_of_it_is_read(self, scene: Scene) -> None:
        node, of = scene.node(), flow(scene)
        fields: dict[str, Any] = {"args": {"a": ["ä", 1]}, "key": "k:job:1", "trace": "00-1"}
        steps(scene, of, 1, policy=Policy(retries=1, priority=3), **fields)
        (run,) = scene.start(node)
        scene.end(run, "failed", error="once")
        scene.wait(MINUTE)
        (run,) = scene.start(node)
        scene.store.log(node, [LogLine(run.id, run.claim_no, scene.now_ms, "PROGRESS", "50% so far")])
        ended = scene.end(run, result={"rows": [None, 2.5]})
        assert (ended.progress, len(ended.earlier), ended.args) == ("50% so far", 1, fields["args"])
        (step,) = tell(scene, of)
        assert (step.args, step.result, step.earlier) == ({}, None, ())
        assert scene.run(run) == ended
        assert within(scene, lambda tx: tx.ended_runs([run.id]))[run.id] == ended

    def test_a_step_that_is_revived_is_a_step_of_its_flow_again(self, scene: Scene) -> None:
        node, of = scene.node(), flow(scene)
        steps(scene, of, 1)
        (run,) = scene.start(node)
        scene.end(run, "failed", error="no", final=True)
        tell(scene, of)

        def revive(tx: Transaction) -> None:
            ended = tx.ended_runs([run.id])[run.id]
            again = replace(ended, state=State.WAITING, claim_no=ended.claim_no + 1, error=None, finished_ms=None)
            tx.revive_runs([again])

        within(scene, revive)
        assert [step.state for step in within(scene, lambda tx: tx.steps_of([of.id]))] == [State.WAITING]
        (run,) = scene.start(node)
        scene.end(run)
        assert within(scene, lambda tx: tx.untold(1)) == [of.id]
        tell(scene, of)
        assert scene.run(run).state is State.SUCCEEDED

    def test_what_is_undone_leaves_every_step_where_it_was(self, scene: Scene) -> None:
        node, of = scene.node(), flow(scene, until_ms=scene.now_ms)
        steps(scene, of, 2)
        first, _ = scene.start(node)
        scene.end(first)

        class NeverMindError(Exception):
            pass

        try:
            with cast(Engine, scene.store).begin() as tx:
                (live,) = tx.live_runs([of.id]).values()
                tx.end_runs([step for step in tx.steps_of([of.id]) if step.is_final])
                tx.save_runs([replace(live, until_ms=None)])
                tx.save_graphs([Graph("undone", ())])
                raise NeverMindError
        except NeverMindError:
            pass
        assert within(scene, lambda tx: tx.untold(1)) == [of.id]
        assert len(within(scene, lambda tx: tx.steps_of([of.id]))) == 2
        assert [run.id for run in within(scene, lambda tx: tx.past_until(1))] == [of.id]
        assert scene.store.graph(Graph("undone", ()).hash) is None

    def test_flows_with_untold_steps_are_paged_by_their_ids(self, scene: Scene) -> None:
        node = scene.node()
        flows = sorted(flow(scene).id for _ in range(4))
        for each in flows[:3]:
            steps(scene, scene.run(each), 2)
        for run in scene.start(node):
            scene.end(run)
        assert within(scene, lambda tx: tx.untold(2)) == flows[:2]
        assert within(scene, lambda tx: tx.untold(2, flows[1])) == flows[2:3]
        assert within(scene, lambda tx: tx.untold(10)) == flows[:3]
        tell(scene, scene.run(flows[0]))
        assert within(scene, lambda tx: tx.untold(10)) == flows[1:3]


class TestUntil(Promises):
    def test_what_waits_or_stands_for_steps_past_its_moment_is_found_the_oldest_first(self, scene: Scene) -> None:
        node, now_ms = scene.node(), scene.now_ms
        late = scene.waiting_run(delay_ms=MINUTE, until_ms=now_ms + 2 * SECOND)
        later = scene.waiting_run(delay_ms=MINUTE, until_ms=now_ms + 3 * SECOND)
        scene.waiting_run(until_ms=now_ms + 1)
        (running,) = scene.start(node)
        stopping = flow(scene, until_ms=now_ms + SECOND)
        scene.waiting_run(delay_ms=MINUTE, until_ms=now_ms + MINUTE)
        scene.waiting_run(delay_ms=MINUTE)

        def past(limit: int = 10) -> list[str]:
            return [run.id for run in within(scene, lambda tx: tx.past_until(limit))]

        assert past() == [], "nor what runs already"
        scene.wait(2 * SECOND)
        assert past() == [stopping.id, late.id]
        assert past(1) == [stopping.id]
        scene.wait(SECOND)
        assert past() == [stopping.id, late.id, later.id]
        within(scene, lambda tx: tx.save_runs([replace(tx.live_runs([stopping.id])[stopping.id], until_ms=None)]))
        assert past() == [late.id, later.id]
        assert scene.run(running).state is State.RUNNING


class TestResults(Promises):
    def test_results_of_a_step_come_in_the_order_of_its_items_told_or_not(self, scene: Scene) -> None:
        node, of = scene.node(), flow(scene)
        steps(scene, of, 6)
        steps(scene, of, 1, "other")
        runs = sorted(scene.start(node), key=lambda run: (run.step or "", -(run.item or 0)))
        for run in [run for run in runs if run.step == "load" and run.item in (4, 1)]:
            scene.end(run, result={"item": run.item})
        tell(scene, of)
        for run in [run for run in runs if run.step == "load" and run.item in (0, 3)]:
            scene.end(run, "failed", error="no", final=True)
        ends = [
            (0, State.FAILED, None),
            (1, State.SUCCEEDED, {"item": 1}),
            (3, State.FAILED, None),
            (4, State.SUCCEEDED, {"item": 4}),
        ]
        assert scene.store.results(of.id, "load") == ends
        assert scene.store.results(of.id, "load", 1) == ends[1:]
        assert scene.store.results(of.id, "load", 1, 2) == ends[1:3]
        assert scene.store.results(of.id, "load", 5) == []
        assert scene.store.results(of.id, "other") == scene.store.results("nobody", "load") == []

    def test_a_step_that_is_not_mapped_has_one_result_of_its_latest_run(self, scene: Scene) -> None:
        node, of = scene.node(), flow(scene)
        for result in ("first", "second"):
            steps(scene, of, 1, "close", item=None)
            (run,) = scene.start(node)
            scene.end(run, result=result)
            scene.wait(SECOND)
        assert scene.store.results(of.id, "close") == [(0, State.SUCCEEDED, "second")]
        tell(scene, of)
        assert scene.store.results(of.id, "close") == [(0, State.SUCCEEDED, "second")]
        assert scene.store.results(of.id, "close", 1) == []


class TestPruningFlows(Promises):
    def test_steps_are_kept_as_long_as_their_flow_however_old_or_many(self, scene: Scene) -> None:
        of = _with_steps(scene, 5)
        scene.wait(DAY)
        scene.prune_all(history_ms=HOUR, per_schedule=1)
        assert len(scene.store.runs(parent=of.id)) == 5, "the flow still runs"
        _end(scene, of)
        scene.wait(2 * MINUTE)
        scene.prune_all(history_ms=HOUR, per_schedule=1)
        assert len(scene.store.runs(parent=of.id)) == 5, "nor is it old"

    def test_with_a_flow_go_its_steps_those_of_its_sub_flows_and_their_logs(self, scene: Scene) -> None:
        of = _with_steps(scene, 3)
        sub = flow(scene, task="@sub", parent_id=of.id, step="sub")
        node = scene.node("m")
        steps(scene, sub, 2, "inner")
        for run in scene.start(node):
            scene.store.log(node, [LogLine(run.id, run.claim_no, scene.now_ms, "INFO", "x")])
            scene.end(run)
        tell(scene, sub)
        within(scene, lambda tx: tx.save_runs([_ended(scene, tx.live_runs([sub.id])[sub.id])]))
        tell(scene, of)
        other = _with_steps(scene, 2)
        _end(scene, of)
        scene.wait(DAY)
        done = scene.prune_all(history_ms=HOUR)
        assert (done.runs, done.logs) == (1 + 3 + 1 + 2, 2)
        assert scene.store.runs(parent=of.id) == scene.store.runs(parent=sub.id) == scene.store.runs(ids=[of.id]) == []
        assert len(scene.store.runs(parent=other.id)) == 2
        _end(scene, other)
        scene.wait(DAY)
        assert scene.prune_all(history_ms=HOUR).runs == 3
        assert scene.store.runs() == []

    def test_a_flow_too_many_goes_with_its_steps_a_few_at_a_time(self, scene: Scene) -> None:
        for _ in range(3):
            _end(scene, _with_steps(scene, 4))
            scene.wait(SECOND)
        scene.wait(2 * MINUTE)
        assert scene.store.prune(Retention(per_schedule=1), limit=5).more
        while scene.store.prune(Retention(per_schedule=1), limit=5).total:
            pass
        assert sorted(run.task for run in scene.store.runs()) == ["@etl", "job", "job", "job", "job"]

    def test_a_flow_that_is_revived_while_it_is_forgotten_loses_no_step(self, scene: Scene) -> None:
        of = _with_steps(scene, 2)
        _end(scene, of)
        scene.wait(DAY)
        try:
            with cast(Engine, scene.store).begin() as tx:
                ended = tx.ended_runs([of.id])[of.id]
                tx.revive_runs([replace(ended, state=State.RUNNING, finished_ms=None)])
        except TryAgain:
            pytest.fail("nobody else is there")
        scene.prune_all(history_ms=HOUR)
        assert len(scene.store.runs(parent=of.id)) == 2

    def test_a_graph_is_kept_while_anything_needs_it_and_for_a_day_after_somebody_asked(self, scene: Scene) -> None:
        inner = Graph("inner", (Step("one", "job"),))
        outer = Graph("outer", (Step("in", "@inner", graph=inner.hash),))
        loose, planned = Graph("loose", ()), Graph("planned", ())
        scene.store.save_graphs([GRAPH, inner, outer, loose, planned])
        runs = [flow(scene), flow(scene, task="@outer", graph=outer.hash)]
        scene.put("f", task="@planned", graph=planned.hash)
        scene.wait(DAY - MINUTE)
        scene.store.save_graphs([loose])
        scene.wait(2 * MINUTE)
        assert scene.prune_all().graphs == 0
        scene.wait(DAY)
        assert scene.prune_all().graphs == 1, "only the loose one"
        for each in runs:
            _end(scene, each)
        scene.wait(DAY)
        assert scene.prune_all(history_ms=HOUR).graphs == 3, "of no run any more; and what only one of them referred to"
        scene.put("f", task="@planned", graph="another")
        scene.wait(2 * DAY)
        assert scene.prune_all(history_ms=HOUR).graphs == 1, "with the last definition that had it"


def _with_steps(scene: Scene, count: int) -> Run:
    """A flow that runs, and of which some steps have ended and are told."""
    node, of = scene.node(), flow(scene)
    steps(scene, of, count)
    for run in scene.start(node):
        scene.end(run)
    tell(scene, of)
    return of


def _end(scene: Scene, of: Run) -> None:
    within(scene, lambda tx: tx.end_runs([_ended(scene, tx.live_runs([of.id])[of.id])]))


def _ended(scene: Scene, run: Run) -> Run:
    return replace(run, state=State.SUCCEEDED, finished_ms=scene.now_ms)
