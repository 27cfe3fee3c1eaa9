"""What is sent: the name of a task, its arguments and how it travels, as JSON values that a schedule can keep.

Celery's own JSON is used for what plain JSON does not have: a date is kept as {"__type__": "datetime", …}, and is one
again when it is sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from celery.beat import BeatLazyFunc
from kombu import Exchange, Queue
from kombu.utils import json as kombu_json

from onthedot.errors import ArgumentsError
from onthedot.storable import brief

Json = dict[str, Any]


def message(
    task: str, args: Iterable[Any] = (), kwargs: Mapping[str, Any] | None = None, /, **options: Any
) -> dict[str, Any]:
    """The arguments of a run that sends this: `message("shop.tasks.mail", [7], queue="low", expires=60)`.

    The options are those of Celery's `apply_async`. `ArgumentsError` for what Celery's JSON cannot keep.
    """
    return packed(repr(task), task, [*args], dict(kwargs or {}), options)


def packed(where: str, task: str, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> Json:
    """The same, told by this place where something cannot be kept. A `BeatLazyFunc` is kept as its place."""
    if not isinstance(task, str) or not task:
        raise ArgumentsError(f"{where}: task: {brief(task)} is no name of a task")
    lazy: list[int | str] = [number for number, each in enumerate(args) if isinstance(each, BeatLazyFunc)]
    lazy += [name for name, each in kwargs.items() if isinstance(each, BeatLazyFunc)]
    kept = {
        "args": [_kept(f"{where}: args[{number}]", each) for number, each in enumerate(args)],
        "kwargs": {name: _kept(f"{where}: kwargs[{name!r}]", each) for name, each in kwargs.items()},
        "options": _options(where, options),
        "lazy": lazy,
    }
    return {"task": task, **{name: value for name, value in kept.items() if value}}


def unpacked(value: Any) -> Any:
    """What was kept, as the objects that it stands for."""
    return kombu_json.loads(json.dumps(value))


def _kept(where: str, value: Any) -> Any:
    if isinstance(value, BeatLazyFunc):
        return None
    try:
        return json.loads(kombu_json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise ArgumentsError(f"{where}: {brief(value)} cannot be kept as JSON; give a name, an id or a path") from None


def _options(where: str, options: Mapping[str, Any]) -> Json:
    if "task_id" in options:
        raise ArgumentsError(f"{where}: options['task_id']: each message has the id of its run; leave it out")
    return {name: _kept(f"{where}: options[{name!r}]", _plain(value)) for name, value in options.items()}


def _plain(value: Any) -> Any:
    """As Celery's own router understands it by name: queues and exchanges; and a time to live in seconds."""
    if isinstance(value, Queue | Exchange) and value.name:
        return value.name
    return value.total_seconds() if isinstance(value, timedelta) else value
