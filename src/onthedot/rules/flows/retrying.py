"""A flow, or one of its steps, once more: what went wrong is forgotten, what ended well stays."""

from __future__ import annotations

from onthedot.model.graph import Graph
from onthedot.model.ledger import Entry, Ledger
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace


def reopened(ledger: Ledger, graph: Graph) -> Ledger:
    """A flow that did not succeed begins another round.

    What is bad or cut, and what was skipped for that, is judged anew when what comes before it has ended again. What
    was tolerated counts as ended well. Closing steps start over.
    """
    wrong = {name for name, entry in ledger.steps.items() if _went_wrong(entry)}
    again = _with_skipped_after(wrong, ledger, graph)
    closing = {step.name for step in graph.steps if step.closing}
    steps = {name: entry for name, entry in ledger.steps.items() if name not in again | closing}
    steps |= {name: anew for name in again - closing if (anew := _anew(ledger.steps[name])) is not None}
    return replace(ledger, steps=steps, round=ledger.round + 1, carried=0, hard=False, late=False)


def _went_wrong(entry: Entry) -> bool:
    return entry.verdict in ("bad", "cut", None) or entry.stopped or entry.problem is not None


def _with_skipped_after(wrong: set[str], ledger: Ledger, graph: Graph) -> set[str]:
    """Those, and what was skipped for them, and for that; not what skipped itself."""
    again = set(wrong)
    for step in graph.steps:  # each comes after what it waits for
        entry = ledger.steps.get(step.name)
        if entry is not None and entry.verdict == "skip" and not entry.skip and again.intersection(step.after):
            again.add(step.name)
    return again


def _anew(entry: Entry) -> Entry | None:
    """The entry without its verdict; None where it has no runs. Items that ended badly have rows to be revived."""
    if entry.was_never_made:
        return None
    return replace(entry, old=entry.old | entry.bad, bad=0, verdict=None, again=True, stopped=False)


def why_not_alone(flow: Run | None, step: Run, graph: Graph | None, ledger: Ledger) -> str | None:
    """Why a step cannot be retried by itself, only its flow; None where it can.

    The flow has been told of its end, and is locked.
    """
    if flow is None or flow.state is not State.RUNNING or graph is None:
        return "its flow does not run"
    if flow.cancel_requested_ms is not None:
        return "its flow is asked to stop"
    drawn = graph[step.step or ""]
    if drawn.closing or any(name in ledger.steps for name in (each.name for each in graph.steps if each.closing)):
        return "its flow is closing"
    entry = ledger.steps.get(drawn.name)
    if entry is None or not entry.bad >> (step.item or 0) & 1:
        return "its flow does not count it among those that went wrong"
    if entry.live.bit_count() >= drawn.parallel:
        return f"{drawn.parallel} runs of {drawn.name} are live, and that is the most"
    ancestors = graph.ancestors[drawn.name]
    if any(name not in ledger.steps or ledger.steps[name].verdict is None for name in ancestors):
        return "a step before it has not ended"
    if any(_has_begun(ledger.steps.get(each.name)) for each in graph.steps if drawn.name in graph.ancestors[each.name]):
        return "a step after it has begun"
    return None


def _has_begun(entry: Entry | None) -> bool:
    return entry is not None and not (entry.verdict == "skip" and entry.was_never_made)


def step_retried(ledger: Ledger, graph: Graph, step: Run) -> Ledger:
    """The ledger where one item that went wrong is live again; what was skipped for it is judged anew."""
    name = step.step or ""
    bit = 1 << (step.item or 0)
    entry = ledger.steps[name]
    gone = _with_skipped_after({name}, ledger, graph) - {name}
    steps = {each: known for each, known in ledger.steps.items() if each not in gone}
    steps[name] = replace(entry, bad=entry.bad & ~bit, live=entry.live | bit, verdict=None)
    return replace(ledger, steps=steps)
