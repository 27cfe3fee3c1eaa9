"""Jobs of APScheduler 3 as schedules of ours, and those that stay there, each with its reason."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from inspect import ismethod
from keyword import iskeyword
from typing import Any

from onthedot.app.moving.names import schedule_name
from onthedot.app.moving.nights import night_notes
from onthedot.app.moving.report import Move, Refused
from onthedot.app.names import name_problem
from onthedot.apscheduler.conversion import Refusal, trigger_of
from onthedot.apscheduler.jobs import Broken, Job
from onthedot.apscheduler.parameters import names_in_text, names_of
from onthedot.apscheduler.pickles import MOST_BYTES
from onthedot.apscheduler.report import Report
from onthedot.moments import ceil_ms
from onthedot.storable import beginning, brief, shown
from onthedot.texts import counted

Convert = Callable[[Any], Any]

_MADE_UP = re.compile(r"[0-9a-f]{32}")
"""The id that APScheduler gives to a job without one."""
_THREADS = ("default", "threadpool", "debug", "asyncio", "gevent", "twisted", "tornado")


def report_of(source: str, jobs: Iterable[Job | Broken], now: datetime, convert: Convert | None) -> Report:
    """All that was found."""
    found = list(jobs)
    read = [each for each in found if isinstance(each, Job)]
    refused = [Refused(each.id, each.reason) for each in found if isinstance(each, Broken)]
    tasks = _task_names(read)
    moves: list[Move] = []
    notes: list[str] = []
    for job, name in zip(read, _schedule_names(read), strict=True):
        try:
            move = _move(job, name, tasks, now, convert)
            notes += _notes(job, move, now)
        except Refusal as refusal:
            refused.append(Refused(name, str(refusal)))
        except Exception as error:  # a row may hold anything, and no other job has to stay for that
            refused.append(Refused(name, f"it is not written as version 3 writes it: {beginning(shown(error), 200)}"))
        else:
            moves.append(move)
    functions = {task: reference for reference, task in tasks.items()}
    used = {move.task for move in moves}
    return Report(
        source,
        tuple(moves),
        tuple(refused),
        tuple(notes),
        functions={task: functions[task] for task in sorted(used)},
    )


def _task_names(jobs: Iterable[Job]) -> dict[str, str]:
    """A task for each function: by its own name, or by that with its module where two have the same."""
    references = {job.reference for job in jobs if job.reference}
    own = Counter(_own_name(each) for each in references)
    return {
        each: _own_name(each) if own[_own_name(each)] == 1 else each.replace(":", ".") for each in sorted(references)
    }


def _own_name(reference: str) -> str:
    return reference.rpartition(":")[2].rpartition(".")[2]


def _schedule_names(jobs: Iterable[Job]) -> Iterator[str]:
    """Of each its id, or its name where the id was made up, as near as can be; with a number where that is taken."""
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    for job in jobs:
        theirs = job.name if _MADE_UP.fullmatch(job.id) else job.id
        wanted = name = schedule_name(theirs) if theirs.strip() else theirs
        while name in taken:
            numbers[wanted] += 1
            name = f"{wanted}-{numbers[wanted] + 1}"
        taken.add(name)
        yield name


def _move(job: Job, name: str, tasks: Mapping[str, str], now: datetime, convert: Convert | None) -> Move:
    problem = name_problem(name)
    if problem is not None:
        raise Refusal(problem)
    reference = _reference(job)
    trigger, jitter_s = trigger_of(job.trigger, now)
    options = {**_options(job), **({"jitter": f"{jitter_s}s"} if jitter_s else {})}
    args = _arguments(job, reference, convert)
    paused = None
    if job.next_run is None and not job.is_pending:
        paused = "it was paused in APScheduler, or had come to its end there"
    last_ms = None if job.next_run is None else ceil_ms(job.next_run) - 1
    return Move(name, tasks[reference], trigger, args, options, paused, last_ms)


def _reference(job: Job) -> str:
    if job.function is not None and ismethod(job.function) and not isinstance(job.function.__self__, type):
        raise Refusal("its function is a method of an object, which only that process has; write a function")
    if not job.reference:
        raise Refusal("its function is a lambda or stands inside another; write it as a function of a module")
    if job.reference.startswith("__main__:"):
        raise Refusal("its function stands in the script that was started (__main__); move it into a module")
    if not _names_a_function(job.reference):  # it becomes a line of a program, so nothing else may stand there
        raise Refusal(f"its function {brief(job.reference)} is no name of one, as in shop.jobs:tick")
    return job.reference


def _names_a_function(reference: str) -> bool:
    parts = [part for side in reference.split(":") for part in side.split(".")]
    return reference.count(":") == 1 and all(part.isidentifier() and not iskeyword(part) for part in parts)


def _options(job: Job) -> dict[str, Any]:
    """What it says about lateness, overlap and pools; what is APScheduler's default is left to ours."""
    options: dict[str, Any] = {} if job.coalesce else {"misfire": "catch_up"}
    if job.grace_s is None:
        options["grace"] = "365d"
    elif job.grace_s != 1:
        options["grace"] = f"{job.grace_s}s"
    if job.most_at_once == 1:
        options["overlap"] = "discard"
    else:
        options |= {"overlap": "concurrent", "max_concurrent_runs": job.most_at_once}
    if job.executor == "processpool":
        options["pool"] = "process"
    return options


def _arguments(job: Job, reference: str, convert: Convert | None) -> dict[str, Any]:
    """All by name, as JSON values."""
    found = {**dict(_placed(job, reference)), **job.named}
    return {name: _json(name, value, convert) for name, value in found.items()}


def _placed(job: Job, reference: str) -> Iterator[tuple[str, Any]]:
    """The arguments that were given by their place, with the names of those places."""
    if not job.args:
        return
    names = names_in_text(reference) if job.function is None else names_of(job.function)
    if names is None:
        raise Refusal(
            f"it gives {counted(len(job.args), 'argument')} by place, and the parameters of {reference} are not known"
            " here; run this where its module is, or give them by name"
        )
    if len(names) < len(job.args):
        raise Refusal(f"{reference} takes {counted(len(names), 'argument')} by place, and it gives {len(job.args)}")
    yield from zip(names, job.args, strict=False)


def _json(name: str, value: Any, convert: Convert | None) -> Any:
    try:
        if _has_more_than(MOST_BYTES, value):
            raise ValueError
        return json.loads(json.dumps(value, default=_converting(name, convert), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise Refusal(f"its argument {name!r} is {brief(value)}, which is no JSON value; see convert=") from None


def _converting(name: str, convert: Convert | None) -> Convert | None:
    """The same function; what else it raises than TypeError is told as its own."""
    if convert is None:
        return None

    def converted(value: Any) -> Any:
        try:
            return convert(value)
        except TypeError:
            raise
        except Exception as error:  # the user's own
            said = beginning(f"{type(error).__name__}: {shown(error)}", 200)
            raise Refusal(f"convert= raised for its argument {name!r}, {brief(value)}: {said}") from None

    return converted


def _has_more_than(most: int, value: Any) -> bool:
    """Whether it has so many parts and letters: a few bytes of a pickle can stand for a list without end."""
    found, open_ends = 0, [value]
    while open_ends and found <= most:
        each = open_ends.pop()
        if isinstance(each, str | list | tuple | dict):
            found += len(each)
        if isinstance(each, list | tuple) and found <= most:
            open_ends += each
        elif isinstance(each, dict) and found <= most:
            open_ends += each.values()
    return found > most


def _notes(job: Job, move: Move, now: datetime) -> Iterator[str]:
    if job.executor not in (*_THREADS, "processpool"):
        yield f"{move.name}: its executor {job.executor!r} is left out; see pool= and group="
    yield from night_notes([move], ceil_ms(now), "both")
