"""Which steps are made, skipped or have their verdict, and how the flow ends: from the graph and the ledger alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Literal, NamedTuple

from onthedot.model.graph import MOST_ITEMS, NODES, TICKS, Graph, Step
from onthedot.model.ledger import Entry, Ledger, Verdict, all_items, first_items, items_in
from onthedot.model.references import PATH, Unresolved, at_path
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.backfill import ticks_of

MOST_LIVE = 1000
"""How many steps of a flow are live at once, whatever its maps allow."""

_MOST_BLAMED, _MOST_SAID = 3, 300
"""Of how many steps a flow repeats what they said, and how much of it."""

Judgement = Literal["run", "skip"]
_ONE = Entry(1)
_ONE_LIVE = Entry(1, live=1)
"""Of nearly every step: made once."""
_SKIPPED = Entry(0, verdict="skip")
_CUT_OFF = Entry(0, verdict="skip", stopped=True)


class Wanted(NamedTuple):
    """Items of a step that are to be made now."""

    step: Step
    items: tuple[int, ...]
    old: frozenset[int] = frozenset()
    """Those of them that have a row in history."""


class Advance(NamedTuple):
    """How far a flow goes now."""

    ledger: Ledger
    wanted: tuple[Wanted, ...] = ()
    state: State | None = None
    """How it ends; None where it goes on."""


def advance(flow: Run, graph: Graph, ledger: Ledger) -> Advance:
    """Move a running flow as far as it goes; once more with the same ledger changes nothing.

    Steps stand in an order in which each comes after what it waits for, so one pass is enough.
    """
    work = _Advancing(flow, graph, ledger, {**ledger.steps}, MOST_LIVE - ledger.live)
    ended = work.move_all(graph.open_steps)
    if ended:
        ended = work.move_all(graph.closing_steps)
    after = replace(ledger, steps=work.entries)
    return Advance(after, tuple(work.wanted), _how_it_ends(flow, after) if ended else None)


@dataclass(slots=True)
class _Advancing:
    """One pass over the steps, as it grows."""

    flow: Run
    graph: Graph
    ledger: Ledger
    entries: dict[str, Entry]
    room: int
    wanted: list[Wanted] = field(default_factory=list)

    def has_verdict(self, name: str) -> bool:
        entry = self.entries.get(name)
        return entry is not None and entry.verdict is not None

    def have_verdicts(self, names: Iterable[str]) -> bool:
        """All of them."""
        entries = self.entries
        for name in names:
            entry = entries.get(name)
            if entry is None or entry.verdict is None:
                return False
        return True

    def move_all(self, steps: Iterable[Step]) -> bool:
        """Each of them; whether all have their verdict. Most wait for others, which is seen without judging them."""
        entries, all_ended, goes_on = self.entries, True, self.flow.cancel_requested_ms is None
        for step in steps:
            entry = entries.get(step.name)
            if entry is None:
                if goes_on and not self.have_verdicts(step.after):
                    all_ended = False
                    continue
            elif entry.verdict is not None:
                continue
            self.move(step, entry)
            all_ended = all_ended and self.has_verdict(step.name)
        return all_ended

    def move(self, step: Step, entry: Entry | None) -> None:
        """One step without a verdict: judge it, make what there is room for, give it its verdict."""
        stops = _stops(self.flow, self.ledger, step)
        if entry is None:
            entry = _CUT_OFF if stops else self._begun(step)
            if entry is None:
                return
        elif entry.again and not stops:
            judged = self.judge(step)
            if judged is None:
                return
            entry = replace(entry, again=False, verdict="skip" if judged == "skip" else None)
        if entry.verdict is None:
            entry = self._filled(step, entry, stops)
            verdict = verdict_of(step, entry, stops)
            if verdict is not None:
                entry = replace(entry, verdict=verdict)
        self.entries[step.name] = entry

    def _begun(self, step: Step) -> Entry | None:
        judged = self.judge(step)
        if judged is None:
            return None
        return _SKIPPED if judged == "skip" else self._counted(step)

    def judge(self, step: Step) -> Judgement | None:
        """Whether it runs; None while something that comes before it has no verdict.

        All ancestors count, not only those it waits for: one that is retried may change what lies between.
        """
        if not self.have_verdicts(step.after):  # found sooner than among all
            return None
        if not self.have_verdicts(self.graph.ancestors[step.name]):
            return None
        if step.closing and not step.after:
            return "run" if step.on == "end" or self._went_wrong() else "skip"
        source = mapped_over(step)
        if source is not None and self.entries[source].verdict != "good":
            return "skip"
        return met(step, [self.entries[name].verdict for name in step.after])

    def _went_wrong(self) -> bool:
        """What closing steps for failures wait for. What was cancelled is bad too."""
        steps = self.graph.steps
        return self.ledger.late or any(self.entries[s.name].verdict == "bad" for s in steps if not s.closing)

    def _counted(self, step: Step) -> Entry:
        """A step that runs, with as many items as it has now."""
        counted = count_of(step, self.flow, self.entries, self.graph, len(self.ledger.members))
        if isinstance(counted, str):
            return Entry(0, verdict="good" if step.may_fail else "bad", problem=counted)
        return _ONE if counted == 1 else Entry(counted)

    def _filled(self, step: Step, entry: Entry, stops: bool) -> Entry:
        """With as many more items live as may be."""
        missing = 0 if stops else all_items(entry.n) & ~(entry.ended | entry.live)
        if not missing:
            return entry
        chosen = first_items(missing, min(step.parallel - entry.live.bit_count(), self.room))
        if not chosen:
            return entry
        self.room -= chosen.bit_count()
        if entry is _ONE:
            self.wanted.append(Wanted(step, (0,)))
            return _ONE_LIVE
        self.wanted.append(Wanted(step, tuple(items_in(chosen)), frozenset(items_in(chosen & entry.old))))
        return replace(entry, live=entry.live | chosen, old=entry.old & ~chosen)


def _stops(flow: Run, ledger: Ledger, step: Step) -> bool:
    """Whether nothing more of it is made: a flow that was asked to stop still closes, unless that was stopped too."""
    return flow.cancel_requested_ms is not None and (not step.closing or ledger.hard)


def met(step: Step, verdicts: Sequence[Verdict | None]) -> Judgement:
    """Whether what it waits for ended as it wishes."""
    bad = "bad" in verdicts or "cut" in verdicts
    match step.on:
        case "end":
            runs = True
        case "failure":
            runs = bad
        case "any":
            runs = not bad and "good" in verdicts
        case "success":
            runs = all(each == "good" for each in verdicts)
    return "run" if runs else "skip"


def verdict_of(step: Step, entry: Entry, stops: bool) -> Verdict | None:
    """When all of its items have ended, or no more are made and none is left."""
    all_ended = entry.ended.bit_count() >= entry.n
    if not all_ended and (entry.live or not stops):
        return None
    if entry.bad and not step.may_fail:
        return "bad"
    if not all_ended:
        return "cut"
    if entry.bad:
        return "good"
    return "skip" if entry.n and not entry.good else "good"


def mapped_over(step: Step) -> str | None:
    """The step whose result it is mapped over, if it is that."""
    over = step.over
    return over.get("$result") if isinstance(over, Mapping) else None


def count_of(step: Step, flow: Run, entries: Mapping[str, Entry], graph: Graph, members: int = 0) -> int | str:
    """How many items a step has; or why nobody can tell. `members`: how many nodes a broadcast goes to."""
    if step.over is None:
        return 1
    if step.over == NODES:
        return members or f"no node that takes {flow.task} was alive"
    if step.over == TICKS:
        return len(ticks_of(flow))
    source = mapped_over(step)
    if source is not None:
        return entries[source].n if graph[source].is_map and PATH not in step.over else entries[source].size or 0
    items = listed(step, flow, graph)
    if not isinstance(items, list):
        return f"{step.name} is mapped over {type(items).__name__}, and not over a list"
    if len(items) > MOST_ITEMS:
        return f"{step.name} is mapped over {len(items)} items, and {MOST_ITEMS} is the most"
    return len(items)


def listed(step: Step, flow: Run, graph: Graph) -> object:
    """What a step is mapped over that is known without any result: a list that was drawn, or an argument."""
    match step.over:
        case {"$value": items}:
            return items
        case {"$arg": name}:
            try:
                return at_path({**graph.defaults, **flow.args}.get(name), step.over.get(PATH, ()), name)
            except Unresolved:
                return None
        case items:
            return items


def _how_it_ends(flow: Run, ledger: Ledger) -> State:
    verdicts = [entry.verdict for entry in ledger.steps.values()]
    bad = "bad" in verdicts
    cut = "cut" in verdicts or any(entry.stopped for entry in ledger.steps.values())
    if bad or cut:
        if ledger.late:
            return State.TIMED_OUT
        return State.CANCELLED if flow.cancel_requested_ms is not None else State.FAILED
    return State.SUCCEEDED if "good" in verdicts or not flow.is_step else State.SKIPPED


def first_bad(ledger: Ledger) -> dict[str, int]:
    """The first item that went wrong of each step that ended badly, by the step's name; of a few steps."""
    bad = {name: entry.bad for name, entry in ledger.steps.items() if entry.verdict == "bad" and entry.bad}
    return {name: (items & -items).bit_length() - 1 for name, items in islice(bad.items(), _MOST_BLAMED)}


def what_went_wrong(ledger: Ledger, why: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """The steps that ended badly, for whoever looks at the flow; with what the first bad item of a step said."""
    said = [_said(name, entry, why.get(name, "")) for name, entry in ledger.steps.items() if entry.verdict == "bad"]
    return "; ".join(said)[:1000] or None


def _said(name: str, entry: Entry, why: str) -> str:
    if entry.problem is not None:
        return entry.problem
    if entry.n == 1:
        return f"{name}: {why[:_MOST_SAID]}" if why else f"{name} went wrong"
    many = f"{name}: {entry.bad.bit_count()} of {entry.n} went wrong"
    return f"{many}: {why[:_MOST_SAID]}" if why else many
