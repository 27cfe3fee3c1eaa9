"""What may be said of one step: how its runs are treated, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onthedot.app.flows.references import Condition, Reference, condition_of, step_of
from onthedot.app.options import OF_THE_SCHEDULE, checked, policy_fields
from onthedot.app.policies import POLICIES
from onthedot.app.remedies import did_you_mean
from onthedot.errors import SettingsError
from onthedot.model.graph import On
from onthedot.storable import brief

OF_THE_FLOW = {
    "misfire",
    "grace",
    "catch_up_window",
    "max_catch_up",
    "overlap",
    "max_waiting",
    "max_concurrent_runs",
    "jitter",
    "depends_on",
    "within",
    *OF_THE_SCHEDULE,
}
"""What concerns ticks, and when they may begin: a step has none, and waits for steps."""
OF_STEPS = ("retries", "crash_retries", "backoff", "max_backoff", "pool", "route", "delivery")
"""What concerns who executes: a flow is not executed anywhere, its steps are."""
OF_THE_STEP = ("name", "after", "on", "when", "may_fail", "parallel")
_ONS: tuple[On, ...] = ("success", "any", "failure", "end")


@dataclass(frozen=True, slots=True)
class StepOptions:
    """Checked, and as the graph keeps them."""

    name: str | None = None
    after: tuple[str, ...] | None = None
    on: On = "success"
    when: Mapping[str, Any] | None = None
    may_fail: bool = False
    parallel: int | None = None
    policy: Mapping[str, Any] = field(default_factory=dict)


def step_options(options: Mapping[str, Any], where: str) -> StepOptions:
    """What was said of a step; `SettingsError` for what no step can have, or a value that it cannot have."""
    said = {name: value for name, value in options.items() if value is not None}
    policies = {name: value for name, value in said.items() if name not in OF_THE_STEP}
    for name in policies:
        if name in OF_THE_FLOW:
            raise SettingsError(f"{where}: {name} belongs to the flow; give it to @app.flow or put")
        if name not in POLICIES:
            known = [*OF_THE_STEP, *(each for each in POLICIES if each not in OF_THE_FLOW)]
            raise SettingsError(f"{where}: no option {name!r}; {did_you_mean(name, known)}")
    if policies.get("route") == "broadcast":
        raise SettingsError(f"{where}: route='broadcast' is for tasks and schedules; a step runs once, or as a map")
    return StepOptions(
        name=said.get("name"),
        after=None if "after" not in said else _after(said["after"], where),
        on=_on(said.get("on", "success"), where),
        when=None if "when" not in said else _when(said["when"], where),
        may_fail=_yes_or_no(said.get("may_fail", False), f"{where}: may_fail"),
        parallel=None if "parallel" not in said else _parallel(said["parallel"], where),
        policy=_as_json(policy_fields(checked(policies, where))),
    )


def _as_json(policy: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in policy.items()}


def _after(value: Any, where: str) -> tuple[str, ...]:
    given: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    names: list[str] = []
    for each in given:
        name = step_of(each) if isinstance(each, Reference) else each
        if not isinstance(each, Reference) and hasattr(each, "run_name"):
            raise SettingsError(f"{where}: after: {each.name} is a task; give what its call gave: a = {each.name}(…)")
        if not isinstance(name, str):
            raise SettingsError(f"{where}: after: {brief(each)} is no step of this flow; write after=[a, b]")
        names.append(name)
    return tuple(dict.fromkeys(names))


def _on(value: Any, where: str) -> On:
    for each in _ONS:
        if isinstance(value, str) and value == each:
            return each
    raise SettingsError(f"{where}: on: {brief(value)} is not known; {did_you_mean(str(value), _ONS)}")


def _when(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Condition | Reference):
        raise SettingsError(
            f"{where}: when: {brief(value)} is known before anything runs;"
            " compare what a step returns: when=total['rows'] > 0"
        )
    return condition_of(value).said


def _yes_or_no(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(f"{where}: {brief(value)} is neither true nor false")
    return value


def _parallel(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000:
        raise SettingsError(f"{where}: parallel: {brief(value)} is not a whole number from 1 to 1,000")
    return value
