"""Each judge, on a history that keeps its promise and on those that break it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from onthedot import every
from onthedot.model.attempt import Attempt
from onthedot.model.change import Author, Change
from onthedot.model.decision import Decision
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph, Step
from onthedot.model.node import Node, NodeState
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace as with_fields
from onthedot.moments import iso
from onthedot.rules.flows.making import step_id
from onthedot.testing.history import Entry, History, Judge, judge
from onthedot.testing.history.attempts import attempts_bounded, no_superseded_outcome, nothing_after_drain
from onthedot.testing.history.execution import each_claim_once, what_is_recorded_was_done
from onthedot.testing.history.explanations import explain_is_true
from onthedot.testing.history.fences import fences_grow
from onthedot.testing.history.flows import (
    flows_last_as_long_as_their_steps,
    no_early_fan_in,
    steps_end_once,
)
from onthedot.testing.history.followers import followers_once
from onthedot.testing.history.lateness import late_ticks_as_chosen, nothing_expired_begins
from onthedot.testing.history.starts import freeze_held, limits_held, never_early, no_overlap, pause_held
from onthedot.testing.history.ticks import (
    decided_once,
    no_decision_without_cause,
    no_tick_vanishes,
    one_run_per_tick,
    runs_bounded,
)
from onthedot.triggers.codec import encode

T0 = 1_767_225_600_000
"""2026-01-01T00:00Z."""
MINUTE = 60_000
BY = Author("ana", "cli", "pause")


def tick(number: int) -> int:
    return T0 + number * MINUTE


def a_run(number: int, **fields: Any) -> Run:
    """The run of a tick, which succeeded within a second."""
    at = tick(number)
    made = Run(
        f"run-{number}",
        "work",
        "tick",
        at,
        at,
        State.SUCCEEDED,
        schedule_id="s-1",
        schedule="s",
        revision=1,
        owner="n-1",
        claim_no=1,
        attempt=1,
        created_ms=at,
        started_ms=at,
        finished_ms=at + 1000,
    )
    return with_fields(made, **fields)


def left_out(reason: str, first: int, last: int, decided_ms: int, **fields: Any) -> Decision:
    made = Decision("d", "s-1", "s", 1, reason, tick(first), tick(last), last - first + 1, decided_ms)  # type: ignore[arg-type]
    return replace(made, **fields)


def a_change(at_ms: int, **after: Any) -> Change:
    return Change(f"c-{at_ms}", "s-1", "s", 1, at_ms, BY, {"state": "failed"} if "run" in after else {}, after)


def an_entry(run: Run, what: str, at_ms: int, **fields: Any) -> Entry:
    entry = Entry(
        what,  # type: ignore[arg-type]
        run.id,
        run.claim_no,
        run.attempt,
        "s",
        run.scheduled_ms,
        run.owner or "",
        at_ms,
        at_ms,
        "here",
        at_ms=at_ms,
    )
    return replace(entry, **fields)


def done(run: Run) -> list[Entry]:
    return [an_entry(run, "begin", run.started_ms or 0), an_entry(run, "end", run.finished_ms or 0)]


POLICY = Policy()
SCHEDULE = Schedule(
    "s-1", "s", "work", encode(every("1m")), policy=POLICY, settled_ms=tick(6), next_run_ms=tick(7), created_ms=T0 - 1
)
NODE = Node("n-1", "one", renewed_ms=tick(6))


def a_history(**fields: Any) -> History:
    """Seven ticks: 0, 1, 2 and 6 ran, 3 to 5 were in a pause; all of it in the journal, and all explained."""
    runs = tuple(a_run(each) for each in (0, 1, 2, 6))
    told = {
        run.scheduled_ms: f"run {run.id} succeeded, begun {iso(run.started_ms or 0)} on node one, attempt 1,"
        f" ended {iso(run.finished_ms or 0)}"
        for run in runs
    }
    right = History(
        tick(6) + 2000,
        SCHEDULE,
        since_ms=T0 - 1,
        revisions=(with_fields(SCHEDULE, updated_ms=T0 - 1),),
        runs=runs,
        decisions=(left_out("paused", 3, 5, tick(5) + 10),),
        changes=(a_change(tick(2) + 30_000, enabled=False), a_change(tick(5) + 10, enabled=True)),
        nodes=(NODE,),
        journal=tuple(entry for run in runs for entry in done(run)),
        journalled=frozenset({"work"}),
        told={**told, tick(4): f"it did not run at {iso(tick(4))} (one of 3 ticks): the schedule was paused by ana"},
    )
    return replace(right, **fields)


def with_runs(*runs: Run, **fields: Any) -> History:
    """The history with these runs in the place of those of the same id, and others besides; the journal follows."""
    known = {run.id: run for run in (*a_history().runs, *runs)}
    kept = tuple(known.values())
    entries = tuple(entry for run in kept if run.started_ms for entry in done(run))
    return a_history(**{"runs": kept, "journal": entries, "told": {}, **fields})


def with_policy(history: History, **values: Any) -> History:
    """The same under another policy, of the schedule and all its runs."""
    policy = replace(POLICY, **values)
    schedule = with_fields(SCHEDULE, policy=policy, updated_ms=T0 - 1)
    runs = tuple(with_fields(run, policy=policy) for run in history.runs)
    return replace(history, schedule=schedule, revisions=(schedule,), runs=runs)


GRAPH = Graph(
    "etl",
    (
        Step("load", "work", over=[1, 2]),
        Step("add", "work", after=("load",)),
        Step("tell", "work", after=("add",), may_fail=True),
        Step("clean", "work", on="end", closing=True),
    ),
)
LEDGER = {
    "steps": {
        "load": {"n": 2, "good": "3", "st": "good"},
        "add": {"n": 1, "good": "1", "st": "good"},
        "tell": {"n": 1, "bad": "1", "st": "good"},
        "clean": {"n": 1, "good": "1", "st": "good"},
    }
}


def a_step(name: str, began: int, ended: int, item: int | None = None, **fields: Any) -> Run:
    """A step of the flow, so many seconds after it began."""
    return a_run(
        1,
        cause="step",
        schedule=None,
        schedule_id=None,
        parent_id="run-1",
        step=name,
        **{
            "id": f"{name}-{item}",
            "item": item,
            "started_ms": tick(1) + began * 1000,
            "finished_ms": tick(1) + ended * 1000,
            **fields,
        },
    )


def a_flow(*others: Run, **fields: Any) -> History:
    """A flow that went well, with these steps in the place of those of the same id, or besides."""
    right = (
        a_run(1, graph=GRAPH.hash, owner=None, ledger=LEDGER, finished_ms=tick(1) + 9000),
        a_step("load", 0, 2, item=0),
        a_step("load", 1, 4, item=1),
        a_step("add", 4, 5),
        a_step("tell", 5, 6, state=State.FAILED),
        a_step("clean", 7, 9),
    )
    known = {run.id: run for run in (*right, *others)}
    kept = tuple(with_fields(run, **fields) if run.id == "run-1" else run for run in known.values())
    return a_history(runs=kept, graphs={GRAPH.hash: GRAPH}, journal=(), told={})


def test_a_flow_in_which_all_is_right_has_no_finding() -> None:
    from onthedot.testing.history.judging import judge_flow

    assert judge_flow(a_flow()) == []
    retried = a_flow(ledger={**LEDGER, "round": 2}, started_ms=tick(1) + 8000)
    assert judge_flow(retried) == []  # when its steps began before it was retried is not known any more


def test_a_history_in_which_all_is_right_has_no_finding() -> None:
    assert judge(a_history()) == []


LATER = a_run(1, id="run-1b", created_ms=tick(1) + 5, started_ms=tick(1) + 5, finished_ms=tick(1) + 6)
LONG = a_run(1, finished_ms=tick(2) + 30_000)
AGAIN = with_fields(
    a_run(1, claim_no=3, attempt=2, started_ms=tick(1) + 5000, finished_ms=tick(1) + 6000),
    earlier=(Attempt(1, 1, "n-1", tick(1), tick(1) + 1000, "failed", "boom"),),
)
FIRST = with_fields(AGAIN, claim_no=1, attempt=1, started_ms=tick(1), finished_ms=tick(1) + 1000)
CRASHED = with_fields(AGAIN, earlier=(replace(AGAIN.earlier[0], outcome="node_died"),))
SHORT = Freeze("short", tick(1) - 1, tick(2) - 1, created_ms=T0, walks=2, walked_ms=tick(1))
STOPPED = replace(NODE, state=NodeState.STOPPED)


def an_alert(run_id: str, **fields: Any) -> Run:
    """What tells of the failed run 1."""
    made = {"cause": "alert", "task": "page", "parent_id": "run-1", "schedule": None, "schedule_id": None}
    return a_run(1, **{"id": run_id, "args": {"alert": "ops", "on": "failure"}, **made, **fields})


WRONG: list[tuple[str, Judge, Callable[[], History], tuple[str, ...]]] = [
    ("two runs of a tick", one_run_per_tick, lambda: with_runs(LATER), ("run-1 ", "run-1b ")),
    (
        "a tick filled in twice",
        one_run_per_tick,
        lambda: with_runs(*(with_fields(each, cause="backfill", key="t:s-1:1") for each in (a_run(1), LATER))),
        ("run-1b",),
    ),
    (
        "a tick in two decisions",
        decided_once,
        lambda: a_history(decisions=(left_out("paused", 3, 5, tick(6)), left_out("paused", 5, 5, tick(6)))),
        ("decided: 3 ticks", "decided: 1 ticks"),
    ),
    (
        "a tick that is nowhere",
        no_tick_vanishes,
        lambda: a_history(runs=a_history().runs[:1] + a_history().runs[2:]),
        ("run-0", "run-2", "no run, no decision"),
    ),
    (
        "a decision that counts too few",
        no_tick_vanishes,
        lambda: a_history(decisions=(left_out("paused", 3, 5, tick(5) + 10, count=2),)),
        ("decided: 2 ticks",),
    ),
    (
        "a tick that ran and was left out",
        no_tick_vanishes,
        lambda: a_history(decisions=(left_out("paused", 2, 5, tick(5) + 10),)),
        ("decided: 4 ticks", "run-2"),
    ),
    ("a pause that never was", no_decision_without_cause, lambda: a_history(changes=()), ("3 ticks",)),
    (
        "a misfire that was in time",
        no_decision_without_cause,
        lambda: a_history(decisions=(left_out("misfire", 3, 3, tick(3) + 10_000),)),
        ("10000 ms late", "misfire"),
    ),
    (
        "an overlap with nobody",
        no_decision_without_cause,
        lambda: a_history(decisions=(left_out("overlap", 3, 5, tick(5)),)),
        ("overlap",),
    ),
    (
        "a change that nobody made",
        no_decision_without_cause,
        lambda: a_history(decisions=(left_out("replaced", 3, 5, tick(4)),)),
        ("replaced",),
    ),
    (
        "a reschedule that nobody made",
        no_decision_without_cause,
        lambda: a_history(decisions=(left_out("rescheduled", 3, 5, tick(5)),)),
        ("nobody had moved it",),
    ),
    (
        "a run skipped for a pause that never was",
        no_decision_without_cause,
        lambda: with_runs(a_run(1, state=State.SKIPPED, reason="paused")),
        ("run-1",),
    ),
    ("a run that was made early", never_early, lambda: with_runs(a_run(1, created_ms=tick(1) - 1)), ("1 ms before",)),
    ("a run that began early", never_early, lambda: with_runs(a_run(1, due_ms=tick(1) + 9)), ("9 ms before", "run-1")),
    (
        "a task that was entered early",
        never_early,
        lambda: a_history(journal=(an_entry(a_run(1), "begin", tick(1) - 7),)),
        ("7 ms before", "journal: run run-1"),
    ),
    (
        "a tick that was decided early",
        never_early,
        lambda: a_history(decisions=(left_out("paused", 3, 5, tick(5) - 1),)),
        ("decided 1 ms before",),
    ),
    ("two at once", no_overlap, lambda: with_runs(LONG), ("run-1, claim 1", "run-2, claim 1")),
    (
        "two at once by the journal alone",
        no_overlap,
        lambda: replace(
            with_runs(a_run(1, started_ms=tick(2) - 1000, finished_ms=tick(2))),
            journal=(
                an_entry(a_run(1), "begin", tick(2) - 1000),
                an_entry(a_run(2), "begin", tick(2) - 500),
            ),
        ),
        ("journal: run run-2",),
    ),
    (
        "one more than may run at once",
        no_overlap,
        lambda: with_policy(
            with_runs(LONG, a_run(0, finished_ms=tick(3))), overlap="concurrent", max_concurrent_runs=2
        ),
        ("3 runs were under way", "run-0", "run-1", "run-2"),
    ),
    (
        "one more than its group allows",
        limits_held,
        lambda: with_policy(with_runs(LONG), overlap="concurrent", limit="mail:1"),
        ("2 runs of mail", "run-1", "run-2"),
    ),
    (
        "a run that began in a pause",
        pause_held,
        lambda: with_runs(a_run(4)),
        ("run-4", "audit: pause by ana (cli)"),
    ),
    (
        "a run that began in a freeze",
        freeze_held,
        lambda: with_runs(freezes=(Freeze("ball", tick(1), tick(2), walks=1, walked_ms=T0),)),
        ("run-1", "freeze ball"),
    ),
    (
        "a tick that was frozen outside its freeze",
        no_decision_without_cause,
        lambda: a_history(
            decisions=(left_out("frozen", 3, 3, tick(3), detail="ball"),),
            freezes=(Freeze("ball", tick(8), tick(9), walks=1),),
        ),
        ("ball",),
    ),
    (
        "a skip that nobody asked for",
        no_decision_without_cause,
        lambda: a_history(decisions=(left_out("skipped", 3, 5, tick(6)),)),
        ("nobody had asked",),
    ),
    (
        "two owners",
        no_superseded_outcome,
        lambda: with_runs(with_fields(AGAIN, started_ms=tick(1) + 500)),
        ("claim 1", "claim 3"),
    ),
    (
        "an outcome of an older claim than was executed last",
        no_superseded_outcome,
        lambda: with_runs(FIRST, journal=(an_entry(AGAIN, "begin", tick(1) + 5000),)),
        ("stands under claim 1", "journal: run run-1, claim 3"),
    ),
    (
        "an outcome of a dead node",
        no_superseded_outcome,
        lambda: a_history(changes=(a_change(tick(5), run="run-0", node="one", node_id="n-1", died=True),)),
        ("run-6", "found dead"),
    ),
    (
        "a retry too many",
        attempts_bounded,
        lambda: with_runs(
            AGAIN, journal=(an_entry(FIRST, "begin", tick(1)), an_entry(FIRST, "end", 9, raised="OSError"))
        ),
        ("retries=0", "claim 1", "claim 3"),
    ),
    (
        "a crash too many",
        attempts_bounded,
        lambda: with_runs(a_run(1, crashes=5)),
        ("5 crashes",),
    ),
    (
        "at most once, twice",
        attempts_bounded,
        lambda: with_policy(
            with_runs(with_fields(AGAIN, earlier=(replace(AGAIN.earlier[0], outcome="node_died"),))),
            delivery="at_most_once",
        ),
        ("once at most", "node_died"),
    ),
    (
        "a claim that was entered twice",
        each_claim_once,
        lambda: a_history(journal=(*a_history().journal, an_entry(a_run(1), "begin", tick(1) + 3, node="n-2"))),
        ("entered 2 times", "on node n-1", "on node n-2"),
    ),
    (
        "a success that nobody did",
        what_is_recorded_was_done,
        lambda: a_history(journal=a_history().journal[2:]),
        ("run-0",),
    ),
    (
        "a skipped run that was done",
        what_is_recorded_was_done,
        lambda: a_history(
            runs=(a_run(1, state=State.SKIPPED, attempt=0, started_ms=None, owner=None, reason="misfire"),)
        ),
        ("without having begun", "journal: run run-1"),
    ),
    (
        "done by another than its owner",
        what_is_recorded_was_done,
        lambda: a_history(journal=(an_entry(a_run(1), "begin", tick(1), node="n-2"),), journalled=frozenset()),
        ("on node n-1", "on node n-2"),
    ),
    (
        "a run that a stopped node left",
        nothing_after_drain,
        lambda: with_runs(a_run(6, state=State.RUNNING, finished_ms=None), nodes=(STOPPED,)),
        ("still runs", "node one (n-1) is stopped"),
    ),
    (
        "a run that is left when all have stopped",
        nothing_after_drain,
        lambda: with_runs(a_run(6, state=State.RUNNING, finished_ms=None), nodes=(), is_over=True),
        ("nobody knows",),
    ),
    (
        "a task that a stopped node entered",
        nothing_after_drain,
        lambda: a_history(nodes=(replace(STOPPED, renewed_ms=T0),)),
        ("after its node one had stopped",),
    ),
    (
        "an explanation of another run",
        explain_is_true,
        lambda: a_history(told={tick(1): "run run-9 succeeded, begun 2026-01-01T00:01:00Z on node one, attempt 1"}),
        ("does not say ' run-1 '", "explain: run run-9"),
    ),
    (
        "an explanation by another reason",
        explain_is_true,
        lambda: a_history(told={tick(4): f"it did not run at {iso(tick(4))}: it was noticed too late"}),
        ("does not say 'paused'",),
    ),
    (
        "an explanation by a run that was over",
        explain_is_true,
        lambda: a_history(
            told={
                tick(4): f"it did not run at {iso(tick(4))}: paused, run run-2 began at {iso(tick(2))}"
                f" and ended at {iso(tick(2) + 1000)}"
            }
        ),
        ("was not in the way then",),
    ),
    (
        "an item of a step with two runs",
        steps_end_once,
        lambda: a_flow(a_step("load", 2, 3, item=1, id="twice")),
        ("flow run-1 of s: an item of load has two runs",),
    ),
    (
        "a flow that counts what did not succeed",
        steps_end_once,
        lambda: a_flow(a_step("load", 1, 4, item=1, state=State.FAILED)),
        ("of load 1 succeeded, and the flow counts 2",),
    ),
    (
        "a fan-in before the last item",
        no_early_fan_in,
        lambda: a_flow(a_step("add", 3, 5)),
        ("add began before load[1] had ended",),
    ),
    (
        "a closing step beside another",
        no_early_fan_in,
        lambda: a_flow(a_step("clean", 5, 9)),
        ("clean began before tell had ended",),
    ),
    (
        "a step before its flow",
        flows_last_as_long_as_their_steps,
        lambda: a_flow(started_ms=tick(1) + 500),
        ("load[0] began before its flow",),
    ),
    (
        "a flow that ended before its steps, and gave its slot away",
        flows_last_as_long_as_their_steps,
        lambda: a_flow(finished_ms=tick(1) + 8000),
        ("it has ended, and clean had not",),
    ),
    (
        "a step that lives on after its flow",
        flows_last_as_long_as_their_steps,
        lambda: a_flow(a_step("clean", 7, 9, state=State.WAITING, finished_ms=None)),
        ("it has ended, and clean had not",),
    ),
    (
        "a flow that succeeded though a step failed",
        flows_last_as_long_as_their_steps,
        lambda: a_flow(a_step("add", 4, 5, state=State.FAILED)),
        ("it succeeded, and add is failed",),
    ),
    (
        "two starts with one fence",
        fences_grow,
        lambda: with_runs(a_run(1, fence=7), a_run(2, fence=7), journal=()),
        ("run run-2 began with fence 7 after run run-1 had begun with 7", "run-1, claim 1", "run-2, claim 1"),
    ),
    (
        "a fence that went back",
        fences_grow,
        lambda: with_runs(a_run(0, fence=3), a_run(1, fence=5), a_run(2, fence=4), journal=()),
        ("run run-2 began with fence 4 after run run-1 had begun with 5",),
    ),
    (
        "a fence that its task was given before, by the journal alone",
        fences_grow,
        lambda: with_runs(
            AGAIN,
            a_run(2, fence=8),
            journal=(an_entry(FIRST, "begin", tick(1), fence=8), an_entry(a_run(2), "begin", tick(2), fence=8)),
        ),
        ("run run-2 began with fence 8 after run run-1 had begun with 8", "journal: run run-1, claim 1"),
    ),
    (
        "two late ticks where one was chosen",
        late_ticks_as_chosen,
        lambda: with_runs(a_run(1, created_ms=tick(5)), a_run(2, created_ms=tick(5))),
        ("2 late ticks became runs", "policy is fire_once", "run-1", "run-2"),
    ),
    (
        "a late tick where none was chosen",
        late_ticks_as_chosen,
        lambda: with_policy(with_runs(a_run(1, created_ms=tick(2))), misfire="skip"),
        ("60,000 ms late", "policy is skip"),
    ),
    (
        "more caught up than is allowed",
        late_ticks_as_chosen,
        lambda: with_policy(
            with_runs(*(a_run(each, created_ms=tick(6)) for each in (0, 1, 2))), misfire="catch_up", max_catch_up=2
        ),
        ("max_catch_up is 2",),
    ),
    (
        "caught up from before its window",
        late_ticks_as_chosen,
        lambda: with_policy(with_runs(a_run(1, created_ms=tick(6))), misfire="catch_up", catch_up_window_ms=2 * MINUTE),
        ("catch_up_window is 120,000 ms",),
    ),
    (
        "a run that was not worth it any more",
        nothing_expired_begins,
        lambda: with_policy(with_runs(a_run(1, started_ms=tick(1) + 700, finished_ms=tick(2))), expires_ms=500),
        ("began 700 ms after it was due", "worth it for 500 ms"),
    ),
    (
        "skipped though it was within grace",
        no_decision_without_cause,
        lambda: misfired("skip", 5, tick(5) + 9000),
        ("only 9000 ms late", "its misfire policy is skip"),
    ),
    (
        "more runs than max_runs",
        runs_bounded,
        lambda: a_history(schedule=with_fields(SCHEDULE, max_runs=3, planned_runs=4), revisions=()),
        ("4 of its ticks became runs, of 3", "run-6"),
    ),
    (
        "begun by the dead",
        no_superseded_outcome,
        lambda: a_history(known_deaths={"n-1": a_change(tick(2) - 1, died=True, node_id="n-1")}),
        ("run-2 was begun by node n-1 after that was found dead",),
    ),
    (
        "a crash that was not counted",
        attempts_bounded,
        lambda: with_runs(CRASHED),
        ("run run-1 lost 1 nodes, and 0 are counted",),
    ),
    (
        "begun again after its last crash",
        attempts_bounded,
        lambda: with_policy(with_runs(with_fields(CRASHED, crashes=1)), crash_retries=0),
        ("survived 1 crashes, of 0",),
    ),
    (
        "a tick in a freeze that became a run",
        freeze_held,
        lambda: with_runs(a_run(1, created_ms=tick(4), started_ms=tick(4), finished_ms=tick(5)), freezes=(SHORT,)),
        ("run-1 was made in, or of a tick in, freeze short",),
    ),
    (
        "a late run that was made in a freeze",
        freeze_held,
        lambda: with_runs(
            a_run(1, created_ms=tick(3), started_ms=None, finished_ms=tick(5), state=State.SKIPPED),
            freezes=(replace(SHORT, start_ms=tick(2) + 1, end_ms=tick(4)),),
        ),
        ("run-1 was made in, or of a tick in, freeze short",),
    ),
    (
        "an end that was told twice",
        followers_once,
        lambda: a_history(runs=(an_alert("a"), an_alert("b", created_ms=tick(2))), followed={"run-1": a_run(1)}),
        ("run run-1 ended once, and page follows it twice (alert)", "run a ", "run b "),
    ),
    (
        "at most once, and entered again by the journal",
        attempts_bounded,
        lambda: with_policy(
            with_runs(
                a_run(1, claim_no=3),
                journal=(an_entry(FIRST, "begin", tick(1)), an_entry(AGAIN, "begin", tick(1) + 5000)),
            ),
            delivery="at_most_once",
        ),
        ("was entered again after claim 1", "claim 3"),
    ),
]


@pytest.mark.parametrize(
    ("judge_of_it", "wrong", "shown"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG]
)
def test_a_wrong_history_is_found_with_the_rows_that_show_it(
    judge_of_it: Judge, wrong: Callable[[], History], shown: tuple[str, ...]
) -> None:
    assert list(judge_of_it(a_history())) == []
    found = [str(each) for each in judge_of_it(wrong())]
    assert found, "not found"
    for text in shown:
        assert text in "\n".join(found)


def test_every_judge_has_a_wrong_history() -> None:
    from onthedot.testing.history import JUDGES
    from onthedot.testing.history.judging import FLOW_JUDGES

    assert {each[1] for each in WRONG} == {*JUDGES, *FLOW_JUDGES, limits_held, followers_once}


def test_what_an_operator_had_done_again_may_be_told_again() -> None:
    alerts = (an_alert("a"), an_alert("b", created_ms=tick(2)))
    again = a_history(runs=alerts, followed={"run-1": a_run(1, exempt=True)})
    assert list(followers_once(again)) == []


def test_only_what_is_involved_is_shown_in_its_order() -> None:
    (found,) = no_overlap(with_runs(LONG))
    assert [line.at_ms for line in found.evidence] == sorted(line.at_ms for line in found.evidence)
    assert all("run-1," in line.text or "run-2," in line.text for line in found.evidence)
    assert len(str(found).splitlines()) == 1 + len(found.evidence)


def test_a_retry_that_its_task_or_an_operator_asked_for_is_none_too_many() -> None:
    asked = with_runs(AGAIN, journal=(an_entry(FIRST, "end", tick(1), raised="Retry"),))
    assert list(attempts_bounded(asked)) == []
    by_hand = with_runs(AGAIN, changes=(a_change(tick(1) + 2000, run="run-1", state="waiting"),))
    assert list(attempts_bounded(by_hand)) == []


def test_what_ended_after_the_journal_was_read_may_not_be_in_it() -> None:
    read_early = a_history(journal=a_history().journal[:-2], journal_until_ms=tick(6))
    assert list(what_is_recorded_was_done(read_early)) == []
    assert list(what_is_recorded_was_done(replace(read_early, journal_until_ms=tick(7))))


def test_a_run_that_ended_a_transaction_ago_was_in_the_way() -> None:
    ended = a_run(2, finished_ms=tick(4))
    left = left_out("overlap", 4, 4, tick(4) + 5000)
    for where in ({"runs": (ended,)}, {"carried": (ended,), "runs": ()}):
        assert not list(no_decision_without_cause(a_history(decisions=(left,), slack_ms=100, **where)))
        assert list(no_decision_without_cause(a_history(decisions=(left,), slack_ms=99, **where)))


def test_what_was_left_out_for_a_run_that_may_be_forgotten_is_not_judged() -> None:
    left = left_out("overlap", 4, 4, tick(4) + 10)
    assert not list(no_decision_without_cause(a_history(decisions=(left,), forgotten_ms=tick(4) + 10)))
    assert list(no_decision_without_cause(a_history(decisions=(left,), forgotten_ms=tick(4) + 9)))


def test_a_tick_that_was_filled_in_takes_the_slot_unless_it_was_meant_to_run_beside() -> None:
    filled = a_run(1, id="f-1", cause="backfill", step="fill", parent_id="b-1", started_ms=tick(2) + 500)
    filled = with_fields(filled, finished_ms=tick(2) + 3000)
    assert list(no_overlap(with_runs(filled)))
    beside = with_fields(filled, policy=Policy(overlap="concurrent"))
    assert list(no_overlap(with_runs(beside))) == []


def test_what_is_frozen_past_its_takeover_is_no_overlap() -> None:
    taken = with_fields(AGAIN, earlier=(replace(AGAIN.earlier[0], outcome="node_died"),))
    late_end = (an_entry(FIRST, "begin", tick(1)), an_entry(FIRST, "end", tick(1) + 5500), *done(AGAIN))
    assert list(no_overlap(with_runs(taken, journal=late_end))) == []


def beside_the_first(began_before_ms: int, entered_after_ms: int | None) -> History:
    """The run of the tick after the first, dated so long before the end of that one, and entered so long after it."""
    end_ms = tick(1) + 20_000
    first = a_run(1, finished_ms=end_ms)
    second = a_run(2, scheduled_ms=tick(1), started_ms=end_ms - began_before_ms, finished_ms=end_ms + 9000)
    entered = [] if entered_after_ms is None else [an_entry(second, "begin", end_ms + entered_after_ms)]
    return with_runs(first, second, slack_ms=100, journal=(*done(first), *entered))


def misfired(misfire: str, last: int, decided_ms: int) -> History:
    left = left_out("misfire", 3, last, decided_ms)
    history = with_policy(a_history(decisions=(left,)), misfire=misfire)
    policy = Policy(misfire=misfire)  # type: ignore[arg-type]
    return replace(history, schedule=None, revisions=(with_fields(SCHEDULE, policy=policy),))


def test_what_is_late_is_left_out_as_chosen() -> None:
    assert list(no_decision_without_cause(misfired("skip", 5, tick(5) + 10_001))) == []
    assert list(no_decision_without_cause(misfired("fire_once", 5, tick(5) + 9000))) == []


def test_what_a_schedule_ran_before_its_definition_was_known_is_not_held_against_max_runs() -> None:
    def planned(**fields: Any) -> History:
        return a_history(schedule=with_fields(SCHEDULE, max_runs=3, **fields), revisions=())

    assert list(runs_bounded(planned(planned_runs=3))) == []
    assert list(runs_bounded(planned(planned_runs=4, revision=2))) == []
    raised = with_fields(SCHEDULE, max_runs=5)
    assert list(runs_bounded(replace(planned(planned_runs=4, revision=2), revisions=(raised,)))) == []
    assert list(runs_bounded(replace(planned(planned_runs=4), until_ms=tick(5)))) == []


def test_the_last_crash_ends_a_run_and_an_operator_may_have_it_done_again() -> None:
    ended = with_fields(CRASHED, crashes=1, state=State.FAILED)
    assert list(attempts_bounded(with_policy(with_runs(ended), crash_retries=0))) == []
    assert list(attempts_bounded(with_runs(with_fields(CRASHED, exempt=True)))) == []


def test_a_start_that_is_dated_a_transaction_too_late_is_not_of_the_dead() -> None:
    death = {"n-1": a_change(tick(6) - 3900, died=True, node_id="n-1")}
    assert list(no_superseded_outcome(a_history(known_deaths=death, slack_ms=100))) == []
    assert list(no_superseded_outcome(a_history(known_deaths=death, slack_ms=90)))


def test_a_tick_before_a_schedule_had_its_freeze_may_be_a_run() -> None:
    run = a_run(1, created_ms=tick(4), started_ms=tick(4), finished_ms=tick(5))
    for freeze in (
        replace(SHORT, walks=1, walked_ms=tick(4)),
        replace(SHORT, revision=2),
        replace(SHORT, end_ms=tick(1)),
    ):
        assert list(freeze_held(with_runs(run, freezes=(freeze,)))) == []
    put = with_fields(SCHEDULE, updated_ms=T0 + 1)
    late = replace(SHORT, walked_ms=tick(4))
    assert list(freeze_held(with_runs(run, freezes=(late,), schedule=put, revisions=(put,)))) == []


def test_what_was_missed_on_both_sides_of_a_freeze_was_missed_together() -> None:
    decided_ms = tick(5) + 9000
    late = (left_out("misfire", 3, 3, decided_ms), left_out("misfire", 5, 5, decided_ms, id="d-2"))
    assert list(no_decision_without_cause(a_history(decisions=late))) == []
    assert list(no_decision_without_cause(a_history(decisions=late[1:])))


def test_what_a_server_that_stood_still_dates_too_early_is_no_overlap() -> None:
    for judge_ in (no_overlap, limits_held):
        assert list(judge_(limited(beside_the_first(900, 300)))) == []
        assert list(judge_(limited(beside_the_first(4900, None)))) == []
        assert list(judge_(limited(beside_the_first(5200, None))))
        assert list(judge_(limited(beside_the_first(900, -200)))), "it was entered before"


def limited(history: History) -> History:
    return replace(history, runs=tuple(with_fields(run, policy=Policy(limit="few:1")) for run in history.runs))


def test_what_a_server_that_stood_still_dates_too_early_is_no_second_owner() -> None:
    (earlier,) = AGAIN.earlier

    def with_end(ms: int) -> History:
        return with_runs(with_fields(AGAIN, earlier=(replace(earlier, ended_ms=tick(1) + 5000 + ms),)), slack_ms=100)

    assert list(no_superseded_outcome(with_end(4900))) == []
    assert list(no_superseded_outcome(with_end(5100)))


def test_a_flow_holds_its_slot_and_its_steps_do_not() -> None:
    flow = a_run(1, graph="g", owner=None, finished_ms=tick(2) - 1)
    step = a_run(1, id="step-1", step="load", parent_id="run-1")
    assert list(no_overlap(with_runs(flow, step))) == []
    assert list(one_run_per_tick(with_runs(flow, step))) == []
    assert list(no_overlap(with_runs(with_fields(flow, finished_ms=tick(2) + 1))))


def test_a_step_whose_flow_was_retried_is_not_one_attempt_too_many() -> None:
    raised = an_entry(FIRST, "end", tick(1), raised="OSError")
    step = with_fields(AGAIN, step="load", cause="step", parent_id="run-0")
    assert list(attempts_bounded(with_runs(AGAIN, journal=(raised,))))
    assert list(attempts_bounded(with_runs(step, journal=(raised,)))) == []


def test_a_closing_step_that_went_wrong_before_its_flow_was_retried_is_not_held_against_it() -> None:
    again = a_run(1, graph=GRAPH.hash, owner=None, ledger={**LEDGER, "round": 2}, finished_ms=tick(1) + 9000)
    cleaned = a_step("clean", 7, 8, id=step_id(again, "clean", closing_round=2))
    history = a_flow(again, a_step("clean", 6, 7, state=State.FAILED), cleaned)
    assert list(flows_last_as_long_as_their_steps(history)) == []
    (found,) = flows_last_as_long_as_their_steps(a_flow(again, with_fields(cleaned, state=State.FAILED)))
    assert "it succeeded, and clean is failed" in found.what
