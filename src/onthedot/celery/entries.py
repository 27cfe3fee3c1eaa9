"""The entries of a `beat_schedule` as schedules of ours: each is moved, or refused by its name with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from celery.beat import BeatLazyFunc
from celery.schedules import crontab

from celery import Celery
from onthedot.app.moving.names import schedule_name
from onthedot.app.moving.report import Move, Refused, Report
from onthedot.app.remedies import did_you_mean
from onthedot.celery.conversion import trigger_of, zone_of
from onthedot.celery.messages import packed
from onthedot.celery.sending import SENDING, TASK
from onthedot.celery.settings import BeatSettings
from onthedot.errors import ArgumentsError, OnthedotError, SettingsError, TriggerError
from onthedot.storable import beginning, brief, shown

TAG = "celery"
"""The tag of schedules that came from Celery."""
_KEYS = ("task", "schedule", "args", "kwargs", "options", "relative")
_CLEANUP = "celery.backend_cleanup"
_MOST_S = timedelta.max.total_seconds() // 1000
"""Longer than any interval may be, and less than what a `timedelta` refuses."""


def entries_of(celery_app: Celery) -> dict[str, Any]:
    """All that a beat of this app would send: its `beat_schedule`, and Celery's own clean-up where the results do not
    go away by themselves."""
    given = celery_app.conf.beat_schedule or {}
    if not isinstance(given, Mapping):
        raise SettingsError(f"beat_schedule: {brief(given)} does not map names to entries")
    found = dict(given)
    keeps = celery_app.conf.result_expires and not celery_app.backend.supports_autoexpire
    if keeps and _CLEANUP not in found:
        found[_CLEANUP] = {"task": _CLEANUP, "schedule": crontab("0", "4"), "options": {"expires": 12 * 3600}}
    return found


def moves_of(celery_app: Celery, settings: BeatSettings) -> Report:
    """Every entry of the app, moved or refused."""
    zone, deadline = zone_of(celery_app), _deadline(celery_app)
    moves: dict[str, Move] = {}
    refused: list[Refused] = []
    for key, entry in entries_of(celery_app).items():
        try:
            move = _move(key, entry, zone, settings.defaults, deadline)
        except TriggerError as error:
            refused.append(Refused(str(key), f"schedule: {error.line}"))
        except Exception as error:  # an entry may hold anything, and no other has to stay for that
            refused.append(Refused(str(key), said_of(error)))
        else:
            if move.name in moves:
                refused.append(Refused(str(key), "another entry has this name too"))
            moves.setdefault(move.name, move)
    policies = {**SENDING, "delivery": settings.delivery}
    return Report("beat_schedule", tuple(moves.values()), tuple(refused), _notes(moves.values()), policies)


def said_of(error: Exception) -> str:
    """Why an entry, or a row of another scheduler's store, stays where it is."""
    if isinstance(error, OnthedotError):
        return str(error)
    if type(error) is KeyError:
        return f"{brief(error.args[0])} is missing"
    return beginning(shown(error), 200) or type(error).__name__


def _deadline(celery_app: Celery) -> float | None:
    """In seconds; None where there is none. `SettingsError` for what is no such number."""
    given: float | None = celery_app.conf.beat_cron_starting_deadline
    if given is None or (_is_number(given) and 0 <= given <= _MOST_S):
        return given
    raise SettingsError(f"beat_cron_starting_deadline: {brief(given)} is no number of seconds; write 120")


def _move(key: Any, entry: Any, zone: str, defaults: Mapping[str, Any], deadline: float | None) -> Move:
    if not isinstance(entry, Mapping):
        raise ArgumentsError(f"{brief(entry)} is no entry; write {{'task': …, 'schedule': …}}")
    unknown = next((each for each in entry if each not in _KEYS), None)
    if unknown is not None:
        raise ArgumentsError(f"no key {unknown!r}; {did_you_mean(str(unknown), _KEYS)}")
    missing = next((each for each in ("task", "schedule") if entry.get(each) is None), None)
    if missing is not None:
        raise ArgumentsError(f"{missing} is missing")
    when = _schedule(entry["schedule"])
    of_crontabs = {} if deadline is None or not isinstance(when, crontab) else _starting_deadline(deadline)
    args = _args(key, entry)
    options = {"tags": [TAG], **of_crontabs, **defaults}
    return Move(schedule_name(str(key)), TASK, trigger_of(when, zone), args, options)


def _schedule(given: Any) -> Any:
    """A number stands for seconds, as in Celery."""
    if not _is_number(given):
        return given
    if not abs(given) <= _MOST_S:  # nan is not
        raise TriggerError(f"{brief(given)} is no number of seconds", hint="write 30.0, or a timedelta")
    return timedelta(seconds=given)


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def _starting_deadline(seconds: float) -> dict[str, Any]:
    return {"misfire": "skip", "grace": timedelta(seconds=seconds)}


def _args(key: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    args, kwargs, options = entry.get("args") or (), entry.get("kwargs") or {}, entry.get("options") or {}
    if isinstance(args, str | bytes) or not isinstance(args, Iterable):
        raise ArgumentsError(f"args: {brief(args)} is no list; write ({brief(args)},)")
    for name, value in (("kwargs", kwargs), ("options", options)):
        if not isinstance(value, Mapping):
            raise ArgumentsError(f"{name}: {brief(value)} does not map names to values")
    kept = packed("", entry["task"], [*args], kwargs, options)
    lazy = any(isinstance(each, BeatLazyFunc) for each in (*args, *kwargs.values()))
    return {**kept, "entry": key} if lazy else kept


def _notes(moves: Iterable[Move]) -> tuple[str, ...]:
    lazy = [move.name for move in moves if move.args.get("lazy")]
    told = "what a BeatLazyFunc gives is asked for when it is sent, of the entry as the sending process has it"
    return (f"{', '.join(lazy)}: {told}",) if lazy else ()
