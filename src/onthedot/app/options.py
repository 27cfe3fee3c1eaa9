"""The options of tasks and schedules as users write them, and the policy that follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from onthedot.app.callables import described
from onthedot.app.policies import POLICIES
from onthedot.app.remedies import did_you_mean
from onthedot.durations import to_duration_ms
from onthedot.errors import SettingsError
from onthedot.model.definition_json import LISTS
from onthedot.model.policy import Policy
from onthedot.node.settings import NodeSettings
from onthedot.storable import MOST_BYTES, brief, label_problem, text_problem
from onthedot.triggers.base import Trigger
from onthedot.triggers.dates import Calendar, Dates

MOST_KEY_CHARACTERS = 400
_DURATIONS = {"grace", "catch_up_window", "timeout", "expires", "within", "jitter", "backoff", "max_backoff"}

Options = Mapping[str, Any]


def _field(name: str) -> str:
    return f"{name}_ms" if name in _DURATIONS else name


OF_THE_SCHEDULE = {name for name in POLICIES if _field(name) not in {each.name for each in fields(Policy)}}
"""The options that describe the schedule itself; all others are policies of its runs."""


def checked(options: Options, where: str) -> dict[str, Any]:
    """The options that were given, each known and with a value that it may have; `SettingsError` else."""
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        check = POLICIES.get(name)
        if check is None:
            raise SettingsError(f"{where}: no option {name!r}; {did_you_mean(name, POLICIES)}")
        problem = check(list(value) if isinstance(value, tuple) else value)
        if problem is not None:
            raise SettingsError(f"{where}: {name}: {problem}")
    return given


def taken_back(options: Options, where: str) -> frozenset[str]:
    """The options that were given as None: a schedule no longer says anything of them. `SettingsError` for others."""
    names = frozenset(name for name, value in options.items() if value is None)
    for name in names - set(POLICIES):
        raise SettingsError(f"{where}: no option {name!r}; {did_you_mean(name, POLICIES)}")
    return names - {"enabled"}  # which is a state, not said or left out


def checked_for_runs(options: Options, where: str) -> dict[str, Any]:
    """The same for an app, a task or a single run, which have only what concerns runs; `SettingsError` else."""
    given = checked(options, where)
    for name in given:
        if name in OF_THE_SCHEDULE:
            raise SettingsError(f"{where}: {name} belongs to a schedule; give it to @app.schedule or put")
    return given


def trigger_of(value: object, where: str) -> Trigger:
    """What was given as a trigger, if it is one; `SettingsError` else."""
    if isinstance(value, Trigger):
        return value
    meant = (
        f"cron({value!r})" if isinstance(value, str) and " " in value.strip() else 'every("15m") or cron("0 8 * * *")'
    )
    if isinstance(value, Dates | Calendar):
        raise SettingsError(
            f'{where}: dates are what a trigger leaves out; write cron("0 8 * * *") - dates("2026-12-25")'
        )
    given = "a task" if hasattr(value, "signature") else described(value)
    raise SettingsError(f"{where}: {given} is no trigger; write {meant}")


def text_of(value: str, where: str, most_bytes: int = MOST_BYTES) -> str:
    """A text that somebody has written, if every store can keep it; `SettingsError` else."""
    problem = text_problem(value, most_bytes)
    if problem is not None:
        raise SettingsError(f"{where}: {problem}")
    return value


def key_of(value: str, where: str) -> str:
    """A key that stands for one run: a text of at most so many characters, and not empty; `SettingsError` else."""
    text_of(value, where)
    if not value:
        raise SettingsError(f"{where}: it is empty, and would stand for all runs; leave it out")
    if len(value) > MOST_KEY_CHARACTERS:
        raise SettingsError(
            f"{where}: it has {len(value):,} characters; the most is {MOST_KEY_CHARACTERS}: take a hash of it instead"
        )
    return value


def count_of(value: object, where: str) -> int:
    """How many are wanted: a whole number of 1 or more; `SettingsError` else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingsError(f"{where}: {brief(value)} is not a whole number of 1 or more")
    return value


_MOST_SKIPPED = 1000


def skips_of(value: object) -> int:
    """How many ticks to skip: 0 or more; `SettingsError` else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise SettingsError(f"skip: {brief(value)} is not a whole number of 0 or more; 0 takes a skip back")
    if value > _MOST_SKIPPED:
        raise SettingsError(f"skip: at most {_MOST_SKIPPED:,} ticks at once, not {value:,}; pause it, or freeze it")
    return value


def checked_node(node: NodeSettings) -> NodeSettings:
    """How a node shall behave, if every store can keep what it is called; `SettingsError` else."""
    if not isinstance(node, NodeSettings):
        raise SettingsError(f"App: node= takes NodeSettings, not {brief(node)}")
    labels = [("label", text) for pair in node.labels.items() for text in pair]
    for what, text in (("name", node.name or None), ("group", node.group), *labels):
        problem = None if text is None else label_problem(text)
        if problem is not None:
            raise SettingsError(f"the node's {what} {brief(text)}: {problem}")
    return node


def policy_of(*layers: Options) -> Policy:
    """The policy of several layers of options: the app's, the task's, the schedule's. A later one counts more."""
    policy = Policy()
    for layer in layers:
        values = {_field(name): _value(name, value) for name, value in layer.items() if name not in OF_THE_SCHEDULE}
        policy = replace(policy, **values)
    return policy


def field_names(options: Iterable[str]) -> list[str]:
    """The fields of a policy that these options stand for; those of the schedule itself have none."""
    return [_field(name) for name in options if name not in OF_THE_SCHEDULE]


def policy_fields(options: Options) -> dict[str, Any]:
    """The fields of a policy that these options name, with their values."""
    layer = policy_of(options)
    return {name: getattr(layer, name) for name in field_names(options)}


def of_the_schedule(options: Options) -> dict[str, Any]:
    """The options that describe the schedule itself rather than how its runs are treated."""
    chosen = {name: value for name, value in options.items() if name in OF_THE_SCHEDULE}
    return {name: texts_of(value) if name in LISTS else value for name, value in chosen.items()}


def texts_of(value: str | Iterable[str]) -> tuple[str, ...]:
    """One text or several, as several."""
    return (value,) if isinstance(value, str) else tuple(value)


def _value(name: str, value: Any) -> Any:
    if name == "depends_on":
        return texts_of(value)
    return to_duration_ms(value) if name in _DURATIONS else value
