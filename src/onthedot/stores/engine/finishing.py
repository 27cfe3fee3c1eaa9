"""Recording how runs ended, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from onthedot.model.log_line import PROGRESS, LogLine
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.schedule import ScheduleSummary
from onthedot.model.states import LIVE
from onthedot.model.task_info import TaskInfo
from onthedot.model.values import replace
from onthedot.rules import backfill, end
from onthedot.rules.followers import Sent, followers
from onthedot.stores.answers import Finished
from onthedot.stores.engine.alerting import after_ends
from onthedot.stores.engine.settling import put_down, raise_versions
from onthedot.stores.transaction import Transaction

Tasks = Callable[[], Sequence[TaskInfo]]


class FinishPass(NamedTuple):
    """What became of a batch of outcomes."""

    finished: Finished
    ended: tuple[Run, ...] = ()
    """All runs that no longer run."""
    removable: tuple[str, ...] = ()
    """The schedules that are to be removed if these were their last runs."""
    flows: tuple[Run, ...] = ()
    """Flows whose rows are locked: the steps of them that ended have left the live rows, and they must be told."""


def finish(
    tx: Transaction, node_id: str, outcomes: Sequence[Outcome], tasks: Tasks, flow_ids: Collection[str] = ()
) -> FinishPass:
    """Each stands or is refused by itself. What may wait again adds a run to its schedule, whose lock comes first.

    Those of the flows that nobody else has locked are locked before their steps.
    """
    again = [outcome.run_id for outcome in outcomes if outcome.ending in end.MAY_WAIT_AGAIN]
    schedules = tx.lock_schedules(tx.schedules_of(again)) if again else {}
    tx.prefetch(node_id, [outcome.run_id for outcome in outcomes])
    node = tx.node_shared(node_id)
    if node is None or not node.lives:
        return FinishPass(Finished(refused=tuple(outcome.run_id for outcome in outcomes)))
    free = tx.live_runs_if_free(flow_ids) if flow_ids else {}
    # A backfill makes runs of a schedule, whose lock comes before all that was touched here: it is looked at later.
    flows = {flow_id: flow for flow_id, flow in free.items() if flow.task != backfill.TASK}
    done = record(tx, node_id, outcomes, tasks, flows)
    waiting = {run.schedule_id for run in done.finished.recorded if run.state in LIVE}
    raise_versions(tx, [each for each in schedules.values() if each.id in waiting])
    return done


def record(
    tx: Transaction,
    node_id: str,
    outcomes: Sequence[Outcome],
    tasks: Tasks,
    flows: Mapping[str, Run] = MappingProxyType({}),
) -> FinishPass:
    """The same, for a node that is known to live."""
    live = tx.live_runs([outcome.run_id for outcome in outcomes])
    summaries = tx.summaries({run.schedule_id for run in live.values() if run.schedule_id is not None})
    recorded: list[Run] = []
    refused: list[str] = []
    for outcome in outcomes:
        run = live.get(outcome.run_id)
        if run is None or not end.may_record(run, node_id, outcome.claim_no):
            refused.append(outcome.run_id)
            continue
        recorded.append(end.settle(run, summaries.get(run.schedule_id or ""), outcome, tx.now_ms))
        live[run.id] = recorded[-1]
    ended = put_down(tx, recorded, flows.keys())
    followed = follow(tx, ended, summaries, tasks)
    finished = Finished(tuple(recorded), tuple(refused), followed)
    left = (*ended, *(run for run in recorded if run.state in LIVE))
    return FinishPass(finished, left, _removable(summaries), tuple(flows.values()))


def follow(tx: Transaction, ended: Sequence[Run], summaries: Mapping[str, ScheduleSummary], tasks: Tasks) -> int:
    """Enqueue what comes after these, in the transaction that ends them: exactly once. How many runs that gave."""
    return _enqueue(tx, ended, summaries, after_ends(tx, ended, summaries), tasks)


def send(tx: Transaction, sent: Sequence[Sent], tasks: Tasks) -> int:
    """Enqueue alerts that no end of a run has caused, in the transaction that did; how many."""
    return _enqueue(tx, (), {}, sent, tasks)


def _enqueue(
    tx: Transaction,
    ended: Sequence[Run],
    summaries: Mapping[str, ScheduleSummary],
    sent: Sequence[Sent],
    tasks: Tasks,
) -> int:
    following = followers(ended, summaries, sent, tx.now_ms, lambda: {task.name: task.policy for task in tasks()})
    tx.save_runs(following)
    return len(following)


def end_waiting(tx: Transaction, run: Run, tasks: Tasks) -> None:
    """End a run that never began."""
    ended = put_down(tx, [run])
    follow(tx, ended, tx.summaries({each.schedule_id for each in ended if each.schedule_id is not None}), tasks)


def log(tx: Transaction, node_id: str, lines: Collection[LogLine]) -> int:
    """Lines of runs that the node still owns; how many stood."""
    live = tx.live_runs({line.run_id for line in lines})
    mine = [line for line in lines if line.run_id in live and end.may_record(live[line.run_id], node_id, line.claim_no)]
    tx.add_log(mine)
    said = {line.run_id: line.text for line in mine if line.level == PROGRESS}
    tx.save_runs([replace(live[run_id], progress=text) for run_id, text in said.items()])
    return len(mine)


def _removable(summaries: Mapping[str, ScheduleSummary]) -> tuple[str, ...]:
    return tuple(each for each, summary in summaries.items() if summary.auto_remove and summary.ended)
