"""What is wrong with a store and its nodes, and what to do about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from onthedot.clock import Clock, StoreClock
from onthedot.durations import format_duration
from onthedot.errors import StoreError, TriggerError
from onthedot.insight.failures import MOST_COUNTED
from onthedot.insight.node_history import labels_of
from onthedot.insight.status import Status, read_status
from onthedot.model.finding import Finding, Level
from onthedot.model.node import NOTE_LABEL, SKEW_LABEL, WARNING_LABEL, ZONES_LABEL, Node
from onthedot.model.value import Value
from onthedot.stores.answers import OLD_MS
from onthedot.stores.base import Store
from onthedot.texts import many
from onthedot.triggers.calendar_days import days_from
from onthedot.triggers.dates import iso_day

SKEW_WARNING_MS = 1000
SKEW_PROBLEM_MS = 60_000
ENDS_SOON_DAYS = 60
"""So long before its last day a calendar is told of."""

_SHOWN = 10

_SET_THE_CLOCK = "set it by NTP: runs start by the store's clock, but tasks and logs see the wrong time"


def examine(store: Store, clock: Clock, *, old_ms: int = OLD_MS) -> list[Finding]:
    """Everything that can be seen from here; a transaction elsewhere counts as old from `old_ms` on."""
    here = StoreClock(store.now_ms, clock)
    here.measure()
    found = [judge_clock("this machine's clock", here.skew_ms), *store.examine(old_ms)]
    try:
        status = read_status(store)
    except StoreError:
        if any(each.level is Level.PROBLEM for each in found):  # which says what is broken
            return found
        raise
    return [*found, *_judge(status), *judge_calendars(store.values(), status.now_ms)]


def _judge(status: Status) -> Iterator[Finding]:
    """The nodes and the schedules."""
    yield from judge_nodes(status.nodes, status.now_ms, status.schedules)
    names = labels_of(status.alive)
    for node, skew_ms in _skews(status.alive):
        yield judge_clock(f"the clock of node {names[node.id]}", skew_ms)
    for deaths in status.died[:_SHOWN]:
        yield Finding(Level.WARNING, "node", str(deaths), "its runs were taken over; see why it died")
    yield from judge_zones(status.alive)
    yield from judge_notes(status.alive)
    yield from judge_schedules(status)


def judge_clock(whose: str, skew_ms: int) -> Finding:
    """How far a wall clock is from the store's; positive is ahead."""
    if abs(skew_ms) < SKEW_WARNING_MS:
        return Finding(Level.OK, "clock", f"{whose} is within a second of the store's ({skew_ms:+,} ms)")
    level = Level.WARNING if abs(skew_ms) < SKEW_PROBLEM_MS else Level.PROBLEM
    side = "ahead of" if skew_ms > 0 else "behind"
    about = format_duration(abs(skew_ms) // 1000 * 1000)
    return Finding(level, "clock", f"{whose} is {about} {side} the store's", _SET_THE_CLOCK)


def judge_nodes(nodes: Sequence[Node], now_ms: int, schedules: int = 0) -> Iterator[Finding]:
    """Who is alive, and who has not said so for longer than its lease."""
    expired = [node for node in nodes if node.expired(now_ms)]
    living, names = len(nodes) - len(expired), labels_of(nodes)
    if living:
        yield Finding(Level.OK, "node", f"{living:,} alive")
    elif not expired:
        level = Level.PROBLEM if schedules else Level.WARNING
        yield Finding(level, "node", "none is alive: nothing will run", "start one with `onthedot run`")
    for node in expired:
        silent = format_duration((now_ms - node.renewed_ms) // 1000 * 1000)
        what = f"{names[node.id]} has not renewed its lease for {silent}"
        if living:
            yield Finding(Level.WARNING, "node", what, "the others take its runs over; see why it stopped or froze")
        else:
            yield Finding(Level.PROBLEM, "node", f"{what}, and no other is alive", "start one with `onthedot run`")


def judge_schedules(status: Status) -> Iterator[Finding]:
    """What cannot run, what is overdue, and what failed again and again: the same that `status` says."""
    for unable in status.unable if status.alive else ():
        yield Finding(Level.PROBLEM, "schedule", str(unable), unable.remedy)
    for schedule in status.parked[:_SHOWN]:
        what = f"{schedule.name} is parked, since it cannot be planned: {schedule.error}"
        yield Finding(Level.PROBLEM, "schedule", what, "put it anew when that is mended")
    for name in status.undeclared[:_SHOWN]:
        what = f"no live node has declared {name} for an hour, and it does not run"
        yield Finding(Level.WARNING, "schedule", what, "onthedot sync --prune deletes it")
    for late in status.overdue[:_SHOWN]:
        what = f"{late.name} was due {format_duration(late.late_ms // 1000 * 1000)} ago: {late.reason}"
        yield Finding(Level.PROBLEM, "late", what, f"onthedot explain {late.name}" if late.run_id is None else "")
    for failures in status.failed[:_SHOWN]:
        yield Finding(Level.WARNING, "run", str(failures), f"onthedot runs show {failures.last.id}")
    counts = {"parked": status.parked_count, "undeclared": status.undeclared_count, "late": status.overdue_count}
    for kind, count in counts.items():
        if count > _SHOWN:
            yield Finding(Level.PROBLEM, "schedule", f"{_more(count)} more are {kind}", "see `onthedot status`")


def _more(count: int) -> str:
    """How many are not shown, where counting may have stopped."""
    return many(count - _SHOWN, MOST_COUNTED - _SHOWN)


def judge_calendars(values: Sequence[Value], now_ms: int) -> Iterator[Finding]:
    """Which calendars end soon: after that they leave out nothing."""
    for value in (each for each in values if each.kind == "calendar"):
        try:
            until = days_from(value.content).until
        except TriggerError as error:
            yield Finding(Level.PROBLEM, "calendar", f"{value.name} cannot be read: {error.line}", "put it anew")
            continue
        if until is not None and until - now_ms // 86_400_000 <= ENDS_SOON_DAYS:
            ended = until < now_ms // 86_400_000
            what = f"{value.name} was worked out to {iso_day(until)}, and leaves out nothing after that"
            remedy = f"put it anew with more years: onthedot calendars put {value.name}"
            yield Finding(Level.PROBLEM if ended else Level.WARNING, "calendar", what, remedy)


def judge_zones(nodes: Sequence[Node]) -> Iterator[Finding]:
    """Whether all nodes go by the same time zone data."""
    named: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if ZONES_LABEL in node.labels:
            named[node.labels[ZONES_LABEL]].append(node.name)
    if len(named) == 1:
        yield Finding(Level.OK, "zones", f"all nodes have the time zones of {next(iter(named))}")
    elif named:
        each = "; ".join(f"{version} on {', '.join(names)}" for version, names in sorted(named.items()))
        yield Finding(
            Level.WARNING,
            "zones",
            f"nodes have different time zone data: {each}",
            "update tzdata on all of them: a tick may move where the rules of its zone differ",
        )


def judge_notes(nodes: Sequence[Node]) -> Iterator[Finding]:
    """What nodes say of themselves that they cannot promise, each once."""
    named: dict[tuple[Level, str, str], list[str]] = defaultdict(list)
    for node in nodes:
        for label, text in sorted(node.labels.items()):
            for prefix, level in ((WARNING_LABEL, Level.WARNING), (NOTE_LABEL, Level.OK)):
                if label.startswith(prefix):
                    named[level, label.removeprefix(prefix), text].append(node.name)
    for (level, about, text), names in named.items():
        what, _, remedy = text.partition("; ")
        yield Finding(level, about, f"{what} ({', '.join(names)})", remedy)


def _skews(nodes: Sequence[Node]) -> Iterator[tuple[Node, int]]:
    for node in nodes:
        try:
            yield node, int(node.labels[SKEW_LABEL])
        except (KeyError, ValueError):  # a node of an older version, or of somebody else's making
            continue
