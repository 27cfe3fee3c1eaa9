"""What a request says, as values of `app`; and values of `app` as they are told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast
from zoneinfo import ZoneInfo

from onthedot.app.app import App
from onthedot.app.calendar_sources import holidays_of, ics
from onthedot.app.clock_notes import note_of, zone_of
from onthedot.app.json_documents import (
    change_document,
    finite,
    log_document,
    moment,
    node_document,
    run_document,
    schedule_document,
    task_document,
    tick_document,
)
from onthedot.app.page import Page
from onthedot.app.trigger_text import read_exceptions, read_whole_trigger
from onthedot.errors import SettingsError, TriggerError
from onthedot.insight import story as stories
from onthedot.insight.pool_use import PoolUse, pools_in_use
from onthedot.insight.ticks import Tick
from onthedot.model import node as nodes
from onthedot.model import run as runs
from onthedot.model import schedule as schedules
from onthedot.model import token as tokens
from onthedot.model.change import Change
from onthedot.model.log_line import LogLine
from onthedot.model.task_info import TaskInfo
from onthedot.moments import from_ms, iso
from onthedot.triggers import Trigger, at, cron, decode, every, named
from onthedot.triggers.calendar_days import SOURCES, CalendarDays, days_from
from onthedot.web import models

_BELONGS = {
    "cron": {"gap", "fold", "starts_at", "repeat_until"},
    "every": {"at", "anchor", "spread", "gap", "fold", "starts_at", "repeat_until"},
    "at": set[str](),
    "trigger": set[str](),
}


# in


def trigger_of(given: models.TriggerGiven) -> Trigger:
    """The trigger that is meant; `TriggerError`, with its column where a text was read."""
    match given:
        case str():
            return read_whole_trigger(given)
        case models.EncodedTrigger():
            return decode(given.model_dump())
        case models.TriggerFields():
            return _of_fields(given.model_dump(exclude_none=True))


def _of_fields(fields: dict[str, Any]) -> Trigger:
    kinds = [kind for kind in _BELONGS if kind in fields]
    if kinds == ["every", "at"]:  # a time of day, every so many days
        kinds = ["every"]
    if len(kinds) != 1:
        raise TriggerError("trigger: give one of cron, every, at and trigger")
    without = read_exceptions(fields.pop("without", []))
    kind, zone = kinds[0], fields.pop("tz", None)
    what = fields.pop(kind)
    for name in fields:
        if name not in _BELONGS[kind]:
            raise TriggerError(f"trigger: {name} does not go with {kind}")
    if kind == "trigger" and zone is not None:
        raise TriggerError("trigger: a named trigger has its own zone; leave tz out")
    makers: dict[str, Any] = {"cron": cron, "every": every, "at": at}
    trigger = cast(Trigger, named(what) if kind == "trigger" else makers[kind](what, tz=zone, **fields))
    for item in without:
        trigger = trigger - item
    return trigger


_ARGUMENTS = frozenset({"name", "task", "trigger", "args", "unchecked", "revision", "connection", "key", "delay", "at"})


def options_of(options: dict[str, Any]) -> dict[str, Any]:
    """Policies only: what else the functions of `app` take has its own place in a request, or none at all."""
    for name in options:
        if name in _ARGUMENTS:
            raise SettingsError(f"options: {name!r} is no option")
    return options


def days_of(given: models.CalendarGiven) -> CalendarDays:
    """The content of a calendar that is meant."""
    kinds = [name for name in ("days", "ics", "holidays") if getattr(given, name) is not None]
    if len(kinds) != 1:
        raise SettingsError("calendar: give one of days, ics and holidays")
    if given.ics is not None:
        return ics(given.ics.encode(), tz=given.tz)
    if given.holidays is not None:
        return holidays_of(
            given.holidays.country,
            given.holidays.years,
            subdiv=given.holidays.subdiv,
            language=given.holidays.language,
        )
    return days_from(
        {
            "days": [[each.date, each.name or ""] for each in given.days or ()],
            "source": given.source if given.source in SOURCES else SOURCES[0],
            "until": given.until,
        }
    )


def revision_of(if_match: str | None, if_none_match: str | None = None) -> int | None:
    """The revision that a change is meant for; 0 where there must be none, None where it does not matter."""
    if if_none_match is not None:
        if if_none_match.strip() != "*":
            raise SettingsError("If-None-Match takes * here: only if there is none yet")
        return 0
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise SettingsError(f'If-Match takes the ETag of the schedule, such as "3"; not {if_match!r}')
    return int(text)


def etag(schedule: schedules.Schedule) -> str:
    """The revision, as HTTP has it."""
    return f'"{schedule.revision}"'


# out


def schedule_model(schedule: schedules.Schedule, now_ms: int) -> models.Schedule:
    """A schedule as it is told."""
    return models.Schedule(**finite(schedule_document(schedule, now_ms)))


def run_model(run: runs.Run) -> models.Run:
    """A run as it is told."""
    return models.Run(**finite(run_document(run)))


def node_model(node: nodes.Node, now_ms: int, pools: Sequence[PoolUse] = ()) -> models.Node:
    """A node as it is told, with what it runs; one that is gone runs nothing."""
    used = pools or pools_in_use([node], [], [])[node.id]
    return models.Node(**node_document(node, now_ms, used), running=sum(each.running for each in used))


def task_model(task: TaskInfo) -> models.Task:
    """A task as it is told."""
    return models.Task(**finite(task_document(task)))


def line_model(line: LogLine) -> models.LogLine:
    """A line of a log as it is told."""
    return models.LogLine(**log_document(line))


def change_model(change: Change) -> models.Change:
    """A line of the audit as it is told."""
    return models.Change(**finite(change_document(change)))


def change_page(page: Page[Change]) -> models.Changes:
    """A page of the audit as it is told."""
    return models.Changes(changes=[change_model(each) for each in page], cursor=page.cursor)


def tick_model(tick: Tick) -> models.Tick:
    """A tick as it is told."""
    return models.Tick(**tick_document(tick))


def fact_model(fact: stories.Fact) -> models.Fact:
    """A line of a story as it is told."""
    return models.Fact(
        at=iso(fact.at_ms),
        until=moment(fact.until_ms),
        kind=fact.kind,
        text=fact.text,
        who=fact.who or None,
        surface=fact.surface or None,
        run=fact.run,
    )


def token_model(token: tokens.Token, now_ms: int) -> models.Token:
    """A token as it is told."""
    return models.Token(
        name=token.name,
        role=token.role,
        created_at=moment(token.created_ms),
        expires_at=moment(token.expires_ms),
        expired=token.expired(now_ms),
    )


def moment_models(trigger: Trigger, ticks: Iterable[int]) -> list[models.Moment]:
    """Ticks as they are told."""
    zone = ZoneInfo(zone_of(trigger).name)
    return [
        models.Moment(
            at=iso(tick),
            local=from_ms(tick).astimezone(zone).isoformat(),
            note=note_of(trigger, tick) or None,
        )
        for tick in ticks
    ]


def now_ms_of(app: App) -> int:
    """The store's time."""
    return app.open_store().now_ms()
