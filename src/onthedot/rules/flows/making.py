"""The runs of steps: their ids follow from what they are, so that none is ever made twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from onthedot.model.graph import NODES, Graph, Step
from onthedot.model.ids import made_ms
from onthedot.model.ledger import Ledger
from onthedot.model.policy import Policy
from onthedot.model.references import PATH, VALUE, Unresolved, at_path, literal, with_item
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import make, replace
from onthedot.rules.flows.broadcasting import as_shard
from onthedot.rules.flows.retrying import reopened

SMALL_ITEM = 1024
"""An item of so many bytes of JSON is copied into the arguments of its run; larger ones are read when it begins."""

_BLANK = Run("", "", "step", 0, 0)
"""Steps are made from it: setting the fields that differ costs a sixth of making all of them."""
NO_ITEM = object()
_ITEM_DIGITS = 4
"""Of the number of an item, at the end of its id: more than a map may have."""


def step_id(flow: Run, name: str, item: int = 0, closing_round: int | None = None) -> str:
    """The id of the run for an item of a step; of a closing step: in this round.

    A UUIDv7 of the flow's own moment. Items of a step differ in its end alone, so that they sort by their numbers.
    """
    return f"{_all_but_the_item(flow, name, closing_round)}{item:0{_ITEM_DIGITS}x}"


def _all_but_the_item(flow: Run, name: str, closing_round: int | None) -> str:
    ms = made_ms(flow.id)
    again = "" if closing_round is None else f"#{closing_round}"
    bits = int.from_bytes(hashlib.blake2b(f"{flow.id}:{name}{again}".encode(), digest_size=8).digest())
    moment = f"{(flow.created_ms if ms is None else ms) & 0xFFFFFFFFFFFF:012x}"
    digits = f"{0x7000 | bits >> 46 & 0xFFF:04x}{1 << 47 | bits & (1 << 46) - 1:012x}"
    return f"{moment[:8]}-{moment[8:]}-{digits[:4]}-{digits[4:8]}-{digits[8:]}"


def id_of(flow: Run, step: Step, item: int, ledger: Ledger) -> str:
    """The same, for a flow as it stands."""
    return step_id(flow, step.name, item, _round(step, ledger))


def _round(step: Step, ledger: Ledger) -> int | None:
    """Closing steps are done anew in every one."""
    return ledger.round if step.closing else None


def opened(begun: Run, graph: Graph, now_ms: int, members: Sequence[str] = ()) -> Run:
    """A flow that has just begun, or begun again: its steps are yet to be made. A broadcast keeps the members that it
    began with; the time-out that it has is that of each shard."""
    ledger = Ledger(members=tuple(members)) if begun.ledger is None else reopened(Ledger.from_json(begun.ledger), graph)
    timeout_ms = None if begun.is_broadcast else begun.policy.timeout_ms
    return replace(
        begun,
        owner=None,
        until_ms=None if timeout_ms is None else now_ms + timeout_ms,
        ledger=replace(ledger, fence=max(ledger.fence, begun.fence)).as_json(),
    )


class Maker:
    """Makes the runs of one step of one flow."""

    def __init__(self, flow: Run, graph: Graph, step: Step, ledger: Ledger, policy: Policy, now_ms: int) -> None:  # noqa: PLR0917
        self._step, self._ledger, self._now_ms = step, ledger, now_ms
        self._id = _all_but_the_item(flow, step.name, _round(step, ledger))
        self._args = step.args
        if step.args and not flow.is_step:
            self._args = with_args(step.args, {**graph.defaults, **flow.args})
        self._fields = {
            **_BLANK.__dict__,
            "task": step.task,
            "scheduled_ms": flow.scheduled_ms,
            "due_ms": now_ms,
            "created_ms": now_ms,
            "policy": policy,
            "parent_id": flow.id,
            "step": step.name,
            "graph": step.graph,
            "fence": ledger.fence,
            "trace": flow.trace,
            "args": self._args,
            "until_ms": None if policy.expires_ms is None else now_ms + policy.expires_ms,
        }

    def id_of(self, item: int) -> str:
        """The id of an item's run."""
        return f"{self._id}{item:0{_ITEM_DIGITS}x}"

    def new(self, item: int, value: Any = NO_ITEM) -> Run:
        """The run of an item that never was; with its value, where that is known and small."""
        if not self._step.is_map:
            return make(Run, {**self._fields, "id": self.id_of(item)})
        args = self._args if value is NO_ITEM else _with_item(self._args, value)
        made = make(Run, {**self._fields, "id": self.id_of(item), "item": item, "args": args})
        return as_shard(made, item, self._ledger) if self._step.over == NODES else made

    def again(self, ended: Run) -> Run:
        """An item that ended badly, as it waits again: the same run, whose number of the claim goes on."""
        return waits_again(ended, self._ledger.fence, self._now_ms)


def waits_again(ended: Run, fence: int, now_ms: int) -> Run:
    """A run that is retried. A flow keeps its ledger, of which it forgets when it begins what went wrong."""
    return replace(
        ended,
        state=State.WAITING,
        claim_no=ended.claim_no + 1,
        due_ms=now_ms,
        owner=None,
        slot=None,
        crashes=0,
        cancel_requested_ms=None,
        until_ms=None,
        finished_ms=None,
        reason=None,
        error=None,
        progress=None,
        remote=None,
        result=None,
        fence=max(ended.fence, fence),
        earlier=ended.earlier_with(ended.finished_ms or now_ms, ended.state, ended.error),
    )


def is_small(value: Any) -> bool:
    """Whether an item is copied into the arguments of its run."""
    if value is None or isinstance(value, (bool, int, float)):
        return True
    return len(value if isinstance(value, str) else json.dumps(value)) <= SMALL_ITEM


def with_args(value: Any, given: Mapping[str, Any]) -> Any:
    """Arguments with those of the flow in the place of references to them, where they are known and small."""
    match value:
        case {"$arg": name} if name in given:
            try:
                found = at_path(given[name], value.get(PATH, ()), name)
            except Unresolved:  # told by the worker, of the step that needs it
                return value
            return literal(found) if is_small(found) else value
        case Mapping() if VALUE not in value:
            return {name: with_args(each, given) for name, each in value.items()}
        case list() | tuple():
            return [with_args(each, given) for each in value]
        case _:
            return value


def _with_item(args: Any, item: Any) -> Any:
    try:
        return with_item(args, item)
    except Unresolved:
        return args
