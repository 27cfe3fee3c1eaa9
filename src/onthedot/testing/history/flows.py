"""Flows: each step ends once, nothing begins before what it waits for has ended, and a flow lasts as long as its steps.

What was retried as a whole is judged by its ends alone: rows keep when they last began, not when they did before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from onthedot.model.graph import TICKS, Graph, Step
from onthedot.model.ledger import Ledger
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules.flows.making import id_of
from onthedot.testing.history.broken import Broken, in_order, run_line
from onthedot.testing.history.history import History

STEPS_ONCE = "each step of a flow ends once"
FAN_IN = "no step begins before those that it waits for have ended"
LASTS = "a flow ends once, after its steps"
_BAD = frozenset({State.FAILED, State.TIMED_OUT, State.LOST, State.CANCELLED})
_MOST_LINES = 20

StepRuns = Mapping[str, Sequence[Run]]


def steps_end_once(history: History) -> Iterator[Broken]:
    """No item of a step has two runs, and a flow counts as good what succeeded, and nothing else."""
    for flow, graph, steps in _flows(history):
        ledger = Ledger.from_json(flow.ledger)
        for step in graph.steps:
            runs = steps.get(step.name, ())
            items = [run.item or 0 for run in runs]
            if not step.closing and len({*items}) < len(items):
                yield _broken(STEPS_ONCE, f"an item of {step.name} has two runs", history, flow, runs)
            entry = ledger.steps.get(step.name)
            if flow.is_final and entry is not None and ledger.round == 1:
                good = {run.item or 0 for run in runs if run.state is State.SUCCEEDED}
                told = {item for item in range(entry.n) if entry.good >> item & 1}
                if good != told:
                    what = f"of {step.name} {len(good)} succeeded, and the flow counts {len(told)}"
                    yield _broken(STEPS_ONCE, what, history, flow, runs)


def no_early_fan_in(history: History) -> Iterator[Broken]:
    """A step begins after all items of all steps before it; a closing one after all others."""
    for flow, graph, steps in _flows(history):
        if Ledger.from_json(flow.ledger).round > 1:
            continue
        for step in graph.steps:
            before = [run for name in _awaited(step, graph) for run in steps.get(name, ())]
            for run in steps.get(step.name, ()):
                began_ms = _began_ms(run)
                early = [each for each in before if _ends_after(each, began_ms, history)] if began_ms else []
                if early:
                    what = f"{run.title} began before {early[0].title} had ended"
                    yield _broken(FAN_IN, what, history, flow, [run, *early])


def flows_last_as_long_as_their_steps(history: History) -> Iterator[Broken]:
    """Nothing of a flow is done before it begins or after it has ended, and it ends as its steps did."""
    for flow, graph, steps in _flows(history):
        runs = [run for each in steps.values() for run in each]
        first_ms = flow.started_ms
        if Ledger.from_json(flow.ledger).round == 1 and first_ms is not None:
            early = [run for run in runs if (began := _began_ms(run)) and began < first_ms - history.slack_ms]
            if early:
                yield _broken(LASTS, f"{early[0].title} began before its flow", history, flow, early)
        if not flow.is_final or flow.finished_ms is None:
            continue
        later = [run for run in runs if not run.is_final or _ends_after(run, flow.finished_ms, history)]
        if later:
            yield _broken(LASTS, f"it has ended, and {later[0].title} had not", history, flow, later)
        must_succeed = [step for step in graph.steps if not step.may_fail]
        bad = [run for step in must_succeed for run in _of_this_round(flow, step, steps) if run.state in _BAD]
        if flow.state is State.SUCCEEDED and bad:
            yield _broken(LASTS, f"it succeeded, and {bad[0].title} is {bad[0].state}", history, flow, bad)


def _flows(history: History) -> Iterator[tuple[Run, Graph, StepRuns]]:
    """Each flow of which all is known. What fills in ticks is judged with its schedule."""
    steps: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in history.runs:
        if run.is_step and run.parent_id is not None:
            steps[run.parent_id][run.step or ""].append(run)
    for flow in history.runs:
        graph = history.graphs.get(flow.graph or "") if flow.is_flow else None
        if graph is not None and not any(step.over == TICKS for step in graph.steps):
            yield flow, graph, steps[flow.id]


def _of_this_round(flow: Run, step: Step, steps: StepRuns) -> Sequence[Run]:
    """A flow that is retried makes new runs of its closing steps: how the former ones ended says nothing of it."""
    runs, ledger = steps.get(step.name, ()), Ledger.from_json(flow.ledger)
    if ledger.round == 1 or not step.closing:
        return runs
    return [run for run in runs if run.id == id_of(flow, step, run.item or 0, ledger)]


def _awaited(step: Step, graph: Graph) -> Sequence[str]:
    return [each.name for each in graph.steps if not each.closing] if step.closing else step.after


def _began_ms(run: Run) -> int | None:
    return min((each.started_ms for each in run.attempts), default=run.started_ms)


def _ends_after(run: Run, moment_ms: int | None, history: History) -> bool:
    ended_ms = run.finished_ms if run.is_final else None
    return ended_ms is None or ended_ms > (moment_ms or 0) + history.slack_ms


def _broken(promise: str, what: str, history: History, flow: Run, runs: Sequence[Run]) -> Broken:
    lines = in_order(map(run_line, (flow, *runs[:_MOST_LINES])))
    return Broken(promise, f"flow {flow.id} of {flow.title}: {what}", flow.schedule or history.name, lines)
