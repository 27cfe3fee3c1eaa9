"""All that is to be told of one run, read from the store with few small statements."""

from __future__ import annotations

from dataclasses import dataclass

from onthedot.insight.explain import hindrances, waiting_steps, why_so
from onthedot.insight.facts import Facts
from onthedot.insight.lateness import LATE_MS, why_late
from onthedot.insight.node_history import NodeHistory, read_nodes
from onthedot.insight.run_story import Known, WaitingStep, first_late_ms, tell, usual_ms
from onthedot.model.attempt import Attempt
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.base import Store

_CHANGES = 500
"""How many lines of its audit are looked at: a page must not wait for all of them."""
_USUAL = 24
_LONGEST_WHY = 400
_CHILDREN = 1000
_UNDER_WAY = 6
"""Steps of a flow whose nodes are named."""


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt, with what people call its node."""

    attempt: Attempt
    node: str
    heard_ms: int | None = None
    """Of a node that died: when it was last heard of. From then on its lease ran out."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a broadcast, or a tick of a backfill, with what people call its node."""

    run: Run
    node: str


@dataclass(frozen=True, slots=True)
class RunReport:
    """The run, its story, and what both rest on."""

    run: Run
    story: str
    now_ms: int
    usual_ms: int | None
    """How long such runs usually take; None where none has succeeded."""
    tries: tuple[Try, ...]
    asked_by: str | None
    """Who asked for it by hand."""
    holder: Node | None
    """The node that runs it."""
    shards: tuple[Shard, ...] = ()
    """Of a broadcast: those first that did not succeed, then by number."""
    filled_in: tuple[Shard, ...] = ()
    """Of a backfill: the runs of its ticks, those first that did not succeed, then by their moments."""
    followers: tuple[Run, ...] = ()
    """What was begun because it ended."""


@dataclass(frozen=True, slots=True)
class RunStory:
    """A run in words: what it came to, and what came between."""

    text: str
    node: str | None
    """What people call the node that has it, or had it last."""
    notes: tuple[str, ...]
    """Attempts that failed, nodes that died or stopped while they had it, why it was late, and alerts."""


def read_run_story(store: Store, run: Run) -> RunStory:
    """As things stand now."""
    facts = Facts(store, run.schedule)
    node = None if run.owner is None else facts.nodes.name(run.owner)
    return RunStory(read_report(store, run).story, node, (*hindrances(run, facts), *facts.alerts_of(run)))


def read_report(store: Store, run: Run) -> RunReport:
    """As things stand now."""
    facts = Facts(store, run.schedule, around_ms=run.due_ms, most_changes=_CHANGES)
    usually = usual_ms(_succeeded(store, run))
    children = store.runs(parent=run.id, limit=_CHILDREN)
    begun = store.runs(parent=run.id, state=State.RUNNING, limit=_UNDER_WAY) if run.is_flow else []
    nodes = read_nodes(store, facts.now_ms, [run, *children, *begun])
    known = Known(
        now_ms=facts.now_ms,
        usual_ms=usually,
        on_nodes=tuple(f"{each.title} on {nodes.name(each.owner)}" for each in begun if each.owner is not None),
        waiting=tuple(WaitingStep(each.step or "", each.title, _brief(why)) for each, why in waiting_steps(run, facts)),
        why=_brief(why_so(run, facts)),
        why_late=_why_late(run, facts),
        stopped_by=(facts.history.stopped_by(run.id) or "") if _was_stopped(run) else "",
    )
    return RunReport(
        run=run,
        story=tell(run, known),
        now_ms=facts.now_ms,
        usual_ms=usually,
        tries=tuple(_tried(each, nodes) for each in run.attempts),
        asked_by=None if run.cause == "tick" else facts.history.asked_for(run.id),
        holder=_holder(run, nodes),
        shards=tuple(_shard(each, nodes) for each in sorted(children, key=_by_need) if each.is_shard),
        filled_in=tuple(_shard(each, nodes) for each in sorted(children, key=_by_moment) if each.is_filled_in),
        followers=tuple(each for each in children if not each.is_step),
    )


def _by_need(run: Run) -> tuple[bool, int]:
    return run.state is State.SUCCEEDED, run.shard or 0


def _by_moment(run: Run) -> tuple[bool, bool, int]:
    return run.state is State.SUCCEEDED, run.state is State.WAITING, run.scheduled_ms


def _shard(run: Run, nodes: NodeHistory) -> Shard:
    node = run.owner or run.target
    return Shard(run, "" if node is None else nodes.name(node))


def _succeeded(store: Store, run: Run) -> list[Run]:
    """The last ones of its schedule; of one-off work, of its task."""
    if run.schedule is not None:
        return store.runs(schedule=run.schedule, state=State.SUCCEEDED, limit=_USUAL)
    return store.runs(task=run.task, state=State.SUCCEEDED, limit=_USUAL) if run.task else []


def _brief(text: str) -> str:
    """A story is a sentence or two, whatever an error says."""
    return text if len(text) <= _LONGEST_WHY else f"{text[:_LONGEST_WHY].rstrip()}…"


def _why_late(run: Run, facts: Facts) -> str:
    """Looked for only where it is late: it takes many rows to say."""
    if run.state is State.WAITING:
        is_late = not run.blocked and facts.now_ms - run.due_ms > LATE_MS
    else:
        is_late = (first_late_ms(run) or 0) > LATE_MS and not run.earlier
    late = why_late(run, facts) if is_late else None
    return "" if late is None else late.why


def _was_stopped(run: Run) -> bool:
    return run.state is State.CANCELLED or run.cancel_requested_ms is not None


def _tried(attempt: Attempt, nodes: NodeHistory) -> Try:
    node = nodes.find(attempt.node)
    died = node is not None and attempt.outcome == "node_died"
    return Try(attempt, nodes.name(attempt.node), nodes.heard_ms(node) if died and node is not None else None)


def _holder(run: Run, nodes: NodeHistory) -> Node | None:
    if run.state is not State.RUNNING or run.owner is None:
        return None
    return nodes.find(run.owner)
