"""One row of another scheduler's store, as a schedule of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeVar

from onthedot.app.moving.names import schedule_name
from onthedot.app.moving.nights import night_notes
from onthedot.app.moving.report import Move, Refused, Report
from onthedot.celery.conversion import trigger_of
from onthedot.celery.entries import TAG, said_of
from onthedot.celery.messages import packed
from onthedot.celery.sending import SENDING, TASK
from onthedot.clock import SystemClock
from onthedot.errors import TriggerError
from onthedot.moments import floor_ms
from onthedot.storable import brief

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Row:
    """What such a row says, whoever wrote it."""

    name: str
    task: str
    schedule: Any
    """An object of Celery's, or a `datetime` for a single moment."""
    zone: str
    args: list[Any] = field(default_factory=list)
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    enabled: bool = True
    once: bool = False
    starts_at: datetime | None = None
    repeat_until: datetime | None = None
    last: datetime | None = None
    """When it was last due; an interval goes on in step with it."""
    since: datetime | None = None
    """What came after that is not decided: when it was last due, or written."""


def report_of(source: str, found: Iterable[tuple[str, R]], read: Callable[[R], Row]) -> Report:
    """Each of them by its name, moved or refused."""
    moves: dict[str, Move] = {}
    refused: list[Refused] = []
    for name, each in found:
        try:
            move = _move(source, read(each))
        except TriggerError as error:
            refused.append(Refused(name, f"schedule: {error.line}"))
        except Exception as error:  # a row may hold anything, and no other has to stay for that
            refused.append(Refused(name, said_of(error)))
        else:
            if move.name in moves:
                refused.append(Refused(name, f"another one is named {brief(move.name)} too"))
            moves.setdefault(move.name, move)
    notes = night_notes(moves.values(), SystemClock().now_ms(), "first")
    return Report(source, tuple(moves.values()), tuple(refused), tuple(notes), policies=SENDING)


def aware(value: object, zone: tzinfo = UTC) -> datetime | None:
    """A moment of a database: where it says no zone, it is meant in this one."""
    if value is None or value == "":
        return None
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)


def _move(source: str, row: Row) -> Move:
    bounds = {"starts_at": row.starts_at, "repeat_until": row.repeat_until}
    trigger = trigger_of(row.schedule, row.zone, bounds=bounds, last=row.last)
    once = {"max_runs": 1} if row.once else {}
    since = row.last or row.since
    return Move(
        schedule_name(row.name),
        TASK,
        trigger,
        packed("", row.task, row.args, row.kwargs, row.options),
        {"tags": [TAG], **once},
        None if row.enabled else f"it was disabled in {source}",
        None if since is None else floor_ms(since),
    )
