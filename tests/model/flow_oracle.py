"""What every history of flows must keep, judged by the rows that were written and in which order; never by a ledger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal

from onthedot.model.graph import NODES, Graph, Step
from onthedot.model.run import Run, slot_number
from onthedot.model.states import FINAL, State
from onthedot.stores.transaction import StepRow

Wrote = Literal["save", "end", "revive"]
Event = tuple[Wrote, Run]


class Broken(BaseException):
    """A promise that was not kept. No `except Exception` may take it for the fault of one outcome, and go on."""


class FlowOracle:
    """A mirror of all rows, and what is checked when a transaction is committed."""

    def __init__(self, graphs: Iterable[Graph], slots: int) -> None:
        self.graphs = {graph.hash: graph for graph in graphs}
        self.slots = slots
        self.rows: dict[str, Run] = {}
        self.past: set[str] = set()
        """Ids of rows in history."""
        self.steps: dict[str, set[str]] = defaultdict(set)
        self.opens: Counter[str] = Counter()
        """By flow, how many rounds of it have begun."""
        self.closed: Counter[str] = Counter()
        self.closing: set[tuple[str, str | None, int | None, int]] = set()
        """Closing steps that were made: by flow, step, item and round."""
        self.starts: dict[object, list[int]] = defaultdict(list)
        self.highest = 0
        self.before: dict[str, int] = {}
        """By flow the highest fence that any step had when it was opened."""
        self.counts: Counter[str] = Counter()

    def commit(self, events: Iterable[Event]) -> None:
        """All that one transaction wrote: applied, then judged."""
        old: dict[str, Run | None] = {}
        for wrote, run in events:
            old.setdefault(run.id, self.rows.get(run.id))
            self._apply(wrote, run)
        changed = [(old[run_id], self.rows[run_id]) for run_id in old]
        begun = [after for before, after in changed if _began(before, after)]
        for run in begun:
            if run.is_flow:
                self._opened(run)
        for before, after in changed:
            self._check_made(before, after)
        for run in begun:  # steps are written before the flow that is opened with them
            if not run.is_flow:
                self._started(run)
        for before, after in changed:
            if after.is_flow and after.is_final and (before is None or not before.is_final):
                self._ended(before, after)
        self._check_slots()

    def _apply(self, wrote: Wrote, run: Run) -> None:
        if wrote == "revive":
            self._require(run.id in self.past, "something was revived that is not in history", run)
            self._require(self.rows[run.id].state is not State.SUCCEEDED, "a succeeded step was made again", run)
            self.past.discard(run.id)
        else:
            self._require(run.id not in self.past, "a step was made twice", run)
            was = self.rows.get(run.id)
            self._require(was is None or not was.is_final or run.is_final, "what had ended goes on", run)
            self._require(was is None or run.claim_no >= was.claim_no, "what had begun is made anew", run)
        if wrote == "end":
            self.past.add(run.id)
        self.rows[run.id] = self.rows[run.id] if isinstance(run, StepRow) else run
        if run.is_step and run.parent_id is not None:
            self.steps[run.parent_id].add(run.id)

    def _require(self, holds: bool, promise: str, about: object) -> None:
        if not holds:
            name = (
                f"{about.step}[{about.item}] of {about.parent_id}"
                if isinstance(about, Run) and about.is_step
                else about
            )
            raise Broken(f"{promise}: {name}")

    # rows

    def of(self, flow: Run, name: str | None = None) -> list[Run]:
        """The rows of a flow's steps."""
        rows = [self.rows[run_id] for run_id in self.steps[flow.id]]
        return [run for run in rows if name in (None, run.step)]

    def graph(self, flow: Run) -> Graph:
        return self.graphs[flow.graph or ""]

    def is_live(self, run: Run) -> bool:
        return run.id not in self.past and run.state not in FINAL

    # checks

    def _check_made(self, before: Run | None, after: Run) -> None:
        if not after.is_step or after.state in FINAL or after.parent_id is None:
            return
        flow = self.rows[after.parent_id]
        step = self.graph(flow)[after.step or ""]
        self._require(flow.state is State.RUNNING, "a live step without a live flow", after)
        if before is None or before.is_final:
            made = [run for run in self.of(flow, step.name) if run.item == after.item]
            self._require(step.closing or len(made) == 1, "a step was made twice", after)
            if step.closing:
                self._check_closes_once(flow, after)
            live = [run for run in self.of(flow, step.name) if run.id not in self.past]
            self._require(len(live) <= step.parallel, "more live items than the window", after)

    def _check_closes_once(self, flow: Run, run: Run) -> None:
        this = flow.id, run.step, run.item, self.opens[flow.id]
        self._require(this not in self.closing, "a closing step was made twice in a round", run)
        self.closing.add(this)

    def _opened(self, flow: Run) -> None:
        self.opens[flow.id] += 1
        self.counts["opened"] += 1
        self.before[flow.id] = self.highest

    def _started(self, run: Run) -> None:
        self.counts["started"] += 1
        if not run.is_step or run.parent_id is None:
            return
        flow = self.rows[run.parent_id]
        step = self.graph(flow)[run.step or ""]
        self._require(flow.state is State.RUNNING, "a step began without its flow", run)
        if run.is_shard:
            self._require(0 <= (run.item or 0) < (run.shards or 0) == flow.shards, "a shard of another number", run)
            self._require(run.target in (None, run.owner), "a shard began on another's node", run)
        hard = bool((flow.ledger or {}).get("hard"))
        if flow.cancel_requested_ms is not None and flow.until_ms is None:
            self._require(step.closing and not hard, "a step began after a stop was carried out", run)
        if step.closing:
            main = [each.name for each in self.graph(flow).steps if not each.closing]
            early = [each for each in self.of(flow) if each.step in main and self.is_live(each)]
            self._require(not early, "a closing step began too early", run)
        else:
            self._check_parents(flow, step, run)
        self._check_fence(flow, step, run)
        top = flow
        while top.is_step and top.parent_id is not None:
            top = self.rows[top.parent_id]
            self._require(top.state is State.RUNNING, "a sub-flow outlived its flow", run)
        self._require(top.schedule_id is None or top.slot is not None, "the slot was not held", run)

    def _check_parents(self, flow: Run, step: Step, run: Run) -> None:
        how = [self.status(flow, name) for name in step.after]
        self._require("pending" not in how, f"a step began before its parents ended ({how})", run)
        above = self.graph(flow).ancestors[step.name]
        beside = [each.step for each in self.of(flow) if each.step in above and self.is_live(each)]
        self._require(not beside, f"a step began beside {beside}, which come before it", run)
        if run.claim_no <= 1:
            self._require(met(step, how), f"a step ({step.on}) began after {how}", run)

    def _check_fence(self, flow: Run, step: Step, run: Run) -> None:
        before = [fence for name in self.graph(flow).ancestors[step.name] for fence in self.starts[flow.id, name]]
        before += self.starts[run.id]
        self._require(run.fence > max(before, default=-1), f"a fence did not grow ({run.fence})", run)
        top = flow
        while top.is_step and top.parent_id is not None:
            top = self.rows[top.parent_id]
        if top.schedule_id is not None and self.slots == 1:
            self._require(run.fence > self.before[top.id], "a fence is below an earlier flow's", run)
            self.highest = max(self.highest, run.fence)
        self.starts[run.id].append(run.fence)
        self.starts[flow.id, step.name].append(run.fence)

    def _ended(self, before: Run | None, flow: Run) -> None:
        self.counts[f"flow {flow.state}"] += 1
        if before is None or before.state is not State.RUNNING:
            return
        live = [run for run in self.of(flow) if run.id not in self.past]
        self._require(not live, "a flow ended before its steps", (flow.id, [run.step for run in live]))
        graph = self.graph(flow)
        if flow.state is State.SUCCEEDED:
            how = {step.name: self.status(flow, step.name) for step in graph.steps if not step.closing}
            self._require(not {"pending", "bad"}.intersection(how.values()), f"a flow succeeded with {how}", flow.id)
        if flow.state is State.FAILED:
            bad = [run for run in self.of(flow) if is_bad(run) and not graph[run.step or ""].may_fail]
            self._require(bool(bad), "a flow failed without a failed step", flow.id)
        if not (flow.ledger or {}).get("hard"):
            self.closed[flow.id] += 1
            for step in graph.steps:
                if step.closing and step.on == "end":
                    ran = len(self.of(flow, step.name))
                    self._require(ran >= self.closed[flow.id], f"{step.name} did not run at the end", flow.id)

    def _check_slots(self) -> None:
        held = [run.slot for run in self.rows.values() if run.slot is not None and self.is_live(run)]
        self._require(len(held) == len(set(held)), "two in one slot", held)
        self._require(all(slot_number(slot) < self.slots for slot in held), "more flows than slots", held)

    # how a step ended, by its rows

    def status(self, flow: Run, name: str) -> str:
        """Pending, good, bad or skip."""
        graph = self.graph(flow)
        step, rows = graph[name], self.of(flow, name)
        if any(self.is_live(run) for run in rows):
            return "pending"
        how = [self.status(flow, each) for each in step.after]
        ran_well = bool(rows) and all(run.state is State.SUCCEEDED for run in rows)
        if "pending" not in how and not met(step, how) and not ran_well:
            return "skip"
        source = source_of(step)
        known = source is None and len(rows) >= _listed(step, rows) and bool(rows)
        if not known and "pending" in how:
            return "pending"
        if not known and source is not None and not rows and self.status(flow, source) != "good":
            return "skip"
        return self._by_rows(flow, step, rows)

    def _by_rows(self, flow: Run, step: Step, rows: list[Run]) -> str:
        count = self._count(flow, step)
        if len(rows) < count:
            return "pending"
        if any(is_bad(run) for run in rows):
            return "good" if step.may_fail else "bad"
        return "skip" if count and not any(run.state is State.SUCCEEDED for run in rows) else "good"

    def _count(self, flow: Run, step: Step) -> int:
        source = source_of(step)
        if source is None:
            return _listed(step, self.of(flow, step.name))
        rows = self.of(flow, source)
        if self.graph(flow)[source].is_map:
            return len(rows)
        return (rows[0].size or 0) if rows and rows[0].state is State.SUCCEEDED else 0


def _began(before: Run | None, after: Run) -> bool:
    return after.state is State.RUNNING and (before is None or before.state is not State.RUNNING)


def _listed(step: Step, rows: list[Run]) -> int:
    """How many items a step has that is mapped over no result; of a broadcast as each of its shards says."""
    if step.over == NODES:
        return max((run.size or 0 for run in rows), default=1)
    return 1 if step.over is None else len(step.over)


def source_of(step: Step) -> str | None:
    return step.over["$result"] if isinstance(step.over, Mapping) else None


def is_bad(run: Run) -> bool:
    return run.is_final and run.state not in (State.SUCCEEDED, State.SKIPPED)


def met(step: Step, how: list[str]) -> bool:
    """Whether what it waits for ended as it wishes."""
    match step.on:
        case "success":
            return all(each == "good" for each in how)
        case "any":
            return "good" in how and "bad" not in how
        case "failure":
            return "bad" in how
        case "end":
            return True
