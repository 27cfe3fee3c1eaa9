"""What no flow may be: too large, too deep, or in its own way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from onthedot.app.options import policy_of
from onthedot.errors import SettingsError
from onthedot.model.graph import DEEPEST, MOST_BYTES, MOST_STEPS, Graph, Step
from onthedot.model.policy import Policy

if TYPE_CHECKING:
    from onthedot.app.flows.flow import Flow


def check_graph(flow: Flow[...], graph: Graph) -> None:
    """`SettingsError` with the remedy, where it is too large or too deep, or a limit would make it wait for itself."""
    where = f"flow {flow.name!r}"
    if len(graph.steps) > MOST_STEPS:
        raise SettingsError(
            f"{where} has {len(graph.steps)} steps; the most is {MOST_STEPS}:"
            " map one step over a list, or call a flow in it"
        )
    size = len(graph.text.encode())
    if size > MOST_BYTES:
        raise SettingsError(
            f"{where} has {size:,} bytes as JSON; the most is {MOST_BYTES:,}: keep what is large elsewhere and give its"
            " path or id"
        )
    depth = _depth(flow)
    if depth > DEEPEST:
        raise SettingsError(
            f"{where}: flows are called in flows {depth} deep; the most is {DEEPEST}: draw the inner ones flat"
        )
    group = policy_of(flow.policies).group_limit
    refuse_shared_limit(flow, None if group is None else group[0])


def refuse_shared_limit(flow: Flow[...], group: str | None) -> None:
    """`SettingsError` where the flow holds a place of this group while a step of it waits for one."""
    held = {} if group is None else {group: flow.name}
    for outer, name, used in _uses(flow, held):
        raise SettingsError(
            f"flow {outer!r} and its step {name!r} share the limit {used!r}: the step would wait for a place that the"
            " flow holds until it ends; give one of them another limit"
        )


def _uses(flow: Flow[...], held: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """The steps that need a group which a flow around them holds: flow, step, group."""
    for name, step in flow.drawn.steps.items():
        callee = flow.drawn.callees[name]
        group = _group(step, {} if isinstance(callee, str) else callee.policies)
        if group is not None and group in held:
            yield held[group], name, group
        inner = _flow(callee)
        if inner is not None:
            yield from _uses(inner, held if group is None else {**held, group: inner.name})


def _group(step: Step, policies: Mapping[str, Any]) -> str | None:
    """The group whose limit the step's runs keep: its own, else its task's."""
    own = Policy.from_json({"limit": step.policy["limit"]}) if "limit" in step.policy else policy_of(policies)
    found = own.group_limit
    return None if found is None else found[0]


def named_tasks(flow: Flow[...]) -> Iterator[tuple[str, str]]:
    """The steps whose tasks this process does not have, of the flows in it too: step, task."""
    for each in (flow, *_flows_in(flow)):
        for step, callee in each.drawn.callees.items():
            if isinstance(callee, str):
                yield step, callee


def _depth(flow: Flow[...]) -> int:
    return 1 + max((_depth(each) for each in _flows_in(flow)), default=0)


def _flows_in(flow: Flow[...]) -> list[Flow[...]]:
    return [inner for each in flow.drawn.callees.values() if (inner := _flow(each)) is not None]


def _flow(callee: Any) -> Flow[...] | None:
    """It, if it is a flow; that is written above this file."""
    return callee if hasattr(callee, "drawn") else None
