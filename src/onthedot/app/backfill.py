"""`app.schedules.backfill`: ticks of the past that did not run, or went wrong, are done now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import cast, get_args

from onthedot.errors import SettingsError, TriggerError
from onthedot.model.change import Author
from onthedot.model.decision import Decision
from onthedot.model.graph import MOST_ITEMS
from onthedot.model.ids import new_id
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.moments import ceil_ms, from_ms, iso
from onthedot.rules.backfill import MOST_AT_ONCE, TASK, Tick, Which, args_of, graph_of, to_fill
from onthedot.stores.base import Store
from onthedot.triggers.codec import decode

NOT_YET = "the schedule did not exist yet"


@dataclass(frozen=True, slots=True)
class FilledTick:
    """A tick that is filled in, and what became of it before."""

    at: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Backfill:
    """What a backfill does; `run` is its own run, whose steps are the runs of the ticks. None for a dry run."""

    schedule: str
    ticks: tuple[FilledTick, ...]
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A backfill as it was asked for, checked."""

    first_ms: int
    last_ms: int
    which: Which
    limit: int
    newest_first: bool
    beside: bool


def asked(  # noqa: PLR0917
    start: datetime | str, end: datetime | str, which: object, limit: object, order: object, beside: object
) -> Asked:
    """What was said, or one line about what is wrong with it. The end is not part of the range."""
    first_ms, end_ms = ceil_ms(start), ceil_ms(end)
    if end_ms <= first_ms:
        raise SettingsError(f"backfill: end {iso(end_ms)} is not after start {iso(first_ms)}; the end is not filled in")
    if which not in get_args(Which):
        raise SettingsError(f"backfill: which={which!r}: say 'missing', 'failed' or 'all'")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_AT_ONCE:
        raise SettingsError(f"backfill: limit={limit!r}: how many run at once, a number from 1 to {MOST_AT_ONCE}")
    if order not in ("oldest", "newest"):
        raise SettingsError(f"backfill: order={order!r}: say 'oldest' or 'newest' (which goes first)")
    if not isinstance(beside, bool):
        raise SettingsError(f"backfill: beside={beside!r}: say True or False")
    return Asked(first_ms, end_ms - 1, cast(Which, which), limit, order == "newest", beside)


def wanted_ticks(store: Store, schedule: Schedule, what: Asked) -> list[Tick]:
    """The ticks up to the watermark that are to be filled in, in the order in which they are."""
    if schedule.mode == "local":
        raise SettingsError(
            f"{schedule.name!r} is local: its ticks are not kept, so nobody knows which are missing; trigger it instead"
        )
    last_ms = min(what.last_ms, schedule.settled_ms)
    past = store.ticks([schedule.id], first_ms=what.first_ms, last_ms=last_ms, each=MOST_ITEMS + 1)
    if len(past.marks) > MOST_ITEMS:
        raise _too_many(schedule)
    definitions = _Definitions(store, schedule)

    def within(decision: Decision) -> Iterator[int]:
        first_ms = max(decision.first_ms, what.first_ms)
        return definitions.ticks(decision.revision, first_ms, min(decision.last_ms, last_ms))

    found = {tick.at_ms: tick for tick in to_fill(what.which, past.marks, past.decisions, within)}
    if what.which != "failed":
        known = {mark.scheduled_ms for mark in past.marks}
        before = definitions.ticks(schedule.revision, what.first_ms, min(last_ms, schedule.created_ms - 1))
        found |= {each: Tick(each, NOT_YET) for each in before if each not in known and each not in found}
    if len(found) > MOST_ITEMS:
        raise _too_many(schedule)
    return [found[each] for each in sorted(found, reverse=what.newest_first)]


def begin(store: Store, schedule: Schedule, ticks: Sequence[Tick], what: Asked, by: Author) -> Run:
    """The backfill's own run, which any node opens."""
    graph = graph_of(what.limit)
    store.save_graphs([graph])
    now_ms = store.now_ms()
    run = Run(
        id=new_id(now_ms),
        task=TASK,
        cause="backfill",
        scheduled_ms=now_ms,
        due_ms=now_ms,
        args=args_of(schedule, ticks, what.which, beside=what.beside),
        policy=Policy(priority=schedule.policy.priority),
        graph=graph.hash,
        exempt=True,
    )
    return store.enqueue([run], by=by)[0]


def backfill(store: Store, schedule: Schedule, what: Asked, by: Author, *, dry_run: bool) -> Backfill:
    """Fill in what is wanted; nothing is written where nothing is, and for a dry run."""
    ticks = wanted_ticks(store, schedule, what)
    run = None if dry_run or not ticks else begin(store, schedule, ticks, what, by)
    return Backfill(schedule.name, tuple(FilledTick(from_ms(each.at_ms), each.why) for each in ticks), run)


class _Definitions:
    """The ticks of a schedule as its revisions had them."""

    def __init__(self, store: Store, schedule: Schedule) -> None:
        self._schedule = schedule
        self._revisions = {each.revision: each for each in store.revisions(schedule.id)}

    def ticks(self, revision: int, first_ms: int, last_ms: int) -> Iterator[int]:
        """In [first, last]; no more than can be filled in, and one."""
        definition = self._revisions.get(revision, self._schedule)
        try:
            trigger = decode(definition.trigger)
        except TriggerError as error:
            raise SettingsError(
                f"backfill of {self._schedule.name!r}: its trigger cannot be read: {error.line}"
            ) from None
        return islice(_ticks(trigger.next_ms, first_ms, last_ms), MOST_ITEMS + 1)


def _ticks(next_ms: object, first_ms: int, last_ms: int) -> Iterator[int]:
    assert callable(next_ms)
    moment = next_ms(first_ms - 1)
    while moment is not None and moment <= last_ms:
        yield moment
        moment = next_ms(moment)


def _too_many(schedule: Schedule) -> SettingsError:
    return SettingsError(
        f"backfill of {schedule.name!r}: more than {MOST_ITEMS:,} ticks; choose a shorter range, one after the other"
    )


def one_name(names: Sequence[str] | None, pattern: str) -> None:
    """A backfill is of one schedule."""
    if names is not None:
        members = ", ".join(names[:5])
        raise SettingsError(f"backfill: {pattern!r} stands for several schedules; name one of them: {members}")
