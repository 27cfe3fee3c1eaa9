"""How a store stands, in lines: made from the document that an HTTP API gives too, so that both read the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onthedot.app.remote.values import ms, run_of
from onthedot.cli.run_tables import short_id
from onthedot.cli.texts import counted, span_text, visible
from onthedot.insight.failures import MOST_COUNTED, Failures
from onthedot.insight.node_history import labels_of
from onthedot.insight.status import Deaths
from onthedot.model.node import Node, NodeState

Document = Mapping[str, Any]
_SHOWN = 10


def status_lines(told: Document) -> list[str]:
    """The verdict first, then what it rests on; of each kind the first few."""
    verdict = "healthy" if told["healthy"] else f"not healthy: {'; '.join(told['problems'])}"
    return [
        f"{visible(told['store'])} is {visible(verdict)}",
        _counts(told),
        *_nodes(told),
        *(f"node {visible(_died(each))}" for each in told["died"][:_SHOWN]),
        *(f"paused: {visible(each['told'])}" for each in told["pauses"][:_SHOWN]),
        *(f"frozen: {visible(_frozen(each))}" for each in told.get("freezes", [])[:_SHOWN]),
        *(f"undeclared: {visible(name)}: {_UNDECLARED}" for name in told["undeclared"][:_SHOWN]),
        *(f"parked: {visible(each['name'])}: {visible(each['error'] or '')}" for each in told["parked"][:_SHOWN]),
        *_late(told["late"], told["late_count"]),
        *_failed(told["failed"], told["failed_count"]),
    ]


_UNDECLARED = "no live node has declared it for an hour, and it does not run; onthedot sync --prune deletes it"


def _frozen(freeze: Document) -> str:
    where = freeze["where"] or {}
    parts = [f"with tag {where['tag']}"] if "tag" in where else []
    parts += [f"named {where['name']}"] if "name" in where else []
    return f"schedules {' and '.join(parts) or 'of all kinds'}, by {freeze['name']} until {freeze['end_at']}"


def _counts(told: Document) -> str:
    held = ", ".join(f"{told[word]:,} {word}" for word in ("paused", "frozen") if told.get(word))
    live = f"{_at_most(told['waiting'])} waiting, {_at_most(told['running'])} running"
    return f"{counted(told['schedules'], 'schedule')}{f' ({held})' if held else ''}, {live}{_of_steps(told)}"


def _of_steps(told: Document) -> str:
    """Nothing where no flow has any."""
    live = [(_at_most(told[f"{word}_steps"]), word) for word in ("waiting", "running") if told.get(f"{word}_steps")]
    return f"; steps of flows: {', '.join(f'{count} {word}' for count, word in live)}" if live else ""


def _at_most(number: int) -> str:
    return f"{number:,}" if number < MOST_COUNTED else f"{number:,} or more"


def _nodes(told: Document) -> Iterator[str]:
    nodes = told["nodes"]
    names = labels_of([Node(each["id"], each["name"]) for each in nodes])
    is_any_alive = not all(each["expired"] for each in nodes)
    for each in nodes:
        seen = span_text(max((ms(told["at"]) or 0) - (ms(each["renewed_at"]) or 0), 0))
        workers = counted(each["capacity"], "worker")
        yield f"node {visible(names[each['id']])}: {_state(each, is_any_alive)}, renewed {seen} ago, {workers}"


def _state(node: Document, is_any_alive: bool) -> str:
    if node["expired"]:
        others = "the others take its runs over" if is_any_alive else "no other is alive to take its runs over"
        return f"expired ({others})"
    return "draining (it takes no more runs)" if node["state"] == NodeState.DRAINING else visible(node["state"])


def _died(told: Document) -> str:
    return str(Deaths(told["name"], told["count"], ms(told["heard_at"]) or 0))


def _late(late: Sequence[Document], count: int) -> Iterator[str]:
    for each in late[:_SHOWN]:
        span = span_text(round(each["late_seconds"] * 1000))
        yield f"late: {visible(each['name'])} was due {span} ago: {visible(each['reason'])}"
    if count > _SHOWN:
        yield f"late: {_at_most(count)} in all"


def _failed(failed: Sequence[Document], count: int) -> Iterator[str]:
    for each in failed[:_SHOWN]:
        failures = Failures(each["name"], each["count"], ms(each["since"]) or 0, run_of(each["last"]))
        yield f"failed: {visible(str(failures))} (run {short_id(failures.last.id)})"
    if count > _SHOWN:
        yield f"failed: {count - _SHOWN:,} others too"
