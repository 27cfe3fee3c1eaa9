"""The definition of a schedule as fields of a form: shown, read back, and told what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, cast

from onthedot.app.app import App
from onthedot.app.json_documents import policy_document
from onthedot.app.options import OF_THE_SCHEDULE
from onthedot.app.trigger_text import read_whole_trigger
from onthedot.errors import ArgumentsError, SettingsError, TriggerError
from onthedot.model.definition_json import as_json
from onthedot.model.schedule import Schedule
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode
from onthedot.triggers.written import can_be_typed, written
from onthedot.web.dashboard.forms import Form, read_json
from onthedot.web.dashboard.next_ticks import NextTick, next_ticks

OVERLAPS = ("serial", "discard", "cover", "concurrent")
MISFIRES = ("fire_once", "skip", "catch_up")
_OPTIONS = ("overlap", "misfire", "grace", "retries", "timeout", "tags")
"""Those that have a field of their own; the others stand in one as JSON."""
_PREVIEWED = 5


@dataclass(frozen=True, slots=True)
class Fields:
    """As they stand in the form: texts."""

    trigger: str = ""
    tz: str = ""
    gap: str = ""
    fold: str = ""
    args: str = "{}"
    overlap: str = ""
    misfire: str = ""
    grace: str = ""
    retries: str = ""
    timeout: str = ""
    tags: str = ""
    options: str = "{}"

    def differing(self, other: Fields) -> dict[str, str]:
        """What stands otherwise here than there."""
        theirs = asdict(other)
        return {name: value for name, value in asdict(self).items() if value != theirs[name]}


@dataclass(frozen=True, slots=True)
class Checked:
    """What a trigger would do, or what is wrong with it."""

    words: str = ""
    zone: str = ""
    ticks: list[NextTick] = field(default_factory=list)
    error: str = ""
    picture: str = ""
    """Under the text: a caret below what could not be honoured."""
    column: int | None = None
    suggestions: tuple[str, ...] = ()


def shown_fields(schedule: Schedule) -> Fields:
    """What is held now. A trigger that cannot be typed in a line is shown as JSON."""
    value, given = schedule.trigger, set(schedule.given)
    typed = can_be_typed(value)
    policy = policy_document(schedule.policy)
    named = {name: _text(policy[name]) for name in _OPTIONS if name in given and name in policy}
    said = {**policy, **as_json(schedule, OF_THE_SCHEDULE)}
    others = {name: said[name] for name in schedule.given if name in said and name not in _OPTIONS}
    return Fields(
        trigger=written(value) if typed else _json(_plain(value)),
        tz=str(value.get("tz", "")) if typed else "",
        gap=str(value.get("gap", "")) if typed else "",
        fold=str(value.get("fold", "")) if typed else "",
        args=_json(dict(schedule.args)),
        tags=", ".join(schedule.tags),
        options=_json(others),
        **named,
    )


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name != "key"}


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=list)


def given_fields(form: Form, held: Fields) -> Fields:
    """What the form says; a field that it does not have stays as it is held."""
    names = [each.name for each in fields(Fields)]
    return Fields(**{name: form[name].strip() if name in form.fields else getattr(held, name) for name in names})


# read


def trigger_from(given: Fields) -> Trigger:
    """`TriggerError` where it is none."""
    if given.trigger.startswith("{"):
        try:
            return decode(read_json(given.trigger))
        except ValueError as error:
            raise error if isinstance(error, TriggerError) else TriggerError(f"this is no JSON: {error}") from None
    return read_whole_trigger(given.trigger, tz=given.tz or None, gap=given.gap or None, fold=given.fold or None)


def args_from(text: str) -> dict[str, Any]:
    """`ArgumentsError` where it is no JSON object."""
    return _object(text, "arguments", ArgumentsError)


def _object(text: str, what: str, error: type[Exception]) -> dict[str, Any]:
    try:
        values = read_json(text or "{}")
    except ValueError as wrong:
        raise error(f"{what}: this is no JSON: {wrong}") from None
    if not isinstance(values, dict):
        raise error(f"{what}: a JSON object is wanted, of names and values")
    return cast(dict[str, Any], values)


def options_from(given: Mapping[str, str]) -> dict[str, Any]:
    """The options among these fields; an empty one is None: the schedule says nothing of it. `SettingsError` where one
    is nothing of the kind."""
    found: dict[str, Any] = {name: None for name in _OPTIONS if given.get(name) == ""}
    for name in (name for name in _OPTIONS if given.get(name)):
        match name:
            case "retries":
                if not given[name].isdecimal():
                    raise SettingsError(f"retries: a whole number is wanted, not {given[name]!r}")
                found[name] = int(given[name])
            case "tags":
                found[name] = [each.strip() for each in given[name].split(",") if each.strip()]
            case _:
                found[name] = given[name]
    return {**found, **_others(given.get("options", ""))}


def taken_out(held: Fields, given: Fields) -> dict[str, None]:
    """The options that stood among the others, and stand there no more."""
    return dict.fromkeys(name for name in _others(held.options) if name not in _others(given.options))


def _others(text: str) -> dict[str, Any]:
    return _object(text, "other options", SettingsError)


# what it would do


def check_trigger(app: App, given: Fields, name: str | None) -> Checked:
    """In words and moments; or what is wrong, with the column."""
    try:
        trigger, ticks = app.schedules.preview(trigger_from(given), _PREVIEWED, name=name)
    except TriggerError as error:
        return wrong_trigger(error, given.trigger)
    except SettingsError as error:
        return Checked(error=str(error))
    found = next_ticks(trigger, ticks)
    return Checked(trigger.describe(), str(found[0].local.tzinfo) if found else "UTC", found)


def wrong_trigger(error: TriggerError, text: str) -> Checked:
    """What is wrong with it, and the caret below its column."""
    said = f"{error.reason}{f'; {error.hint}' if error.hint else ''}"
    caret = "" if error.column is None or error.text is None else f"{' ' * error.column}^"
    column = None if error.column is None else error.column + 1
    return Checked(error=said, picture=caret, column=column, suggestions=_suggested(error, text))


def _suggested(error: TriggerError, text: str) -> tuple[str, ...]:
    """What was probably meant, where the hint names values for the very word that is wrong."""
    words = text.split()
    if (error.hint or "").startswith("Sunday is 0 or 7") and len(words) >= 5:
        place = 5 if len(words) >= 6 else 4
        return tuple(" ".join([*words[:place], day, *words[place + 1 :]]) for day in ("7", "sat"))
    meant = (error.hint or "").removeprefix("did you mean ").removesuffix("?")
    return (meant,) if meant != (error.hint or "") and "(" not in meant else ()
