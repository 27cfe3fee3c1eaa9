"""What the overview shows, from what the watcher has seen and a few small questions to the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from onthedot.app.clock_notes import zone_of
from onthedot.app.outlook import StoreOutlook
from onthedot.errors import TriggerError
from onthedot.insight.minutes import add_up
from onthedot.insight.status import alive_of
from onthedot.model.minute import MINUTE_MS, Minute
from onthedot.model.node import SKEW_LABEL, Node, NodeState
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.moments import from_ms
from onthedot.node.read_ahead import LOOK_AHEAD_MS
from onthedot.rules.routing import why_nobody
from onthedot.stores.answers import Ticks
from onthedot.stores.base import Store
from onthedot.stores.paging import place_of
from onthedot.triggers.codec import decode
from onthedot.web.dashboard.charts import ribbon
from onthedot.web.dashboard.charts.ring import LEFT_OUT, SLOTS, Ring, moment_name, slots_of
from onthedot.web.snapshot import Snapshot

HOUR_MS = 3_600_000
DAY_MS = 86_400_000
FOLDED = 5
"""More than so many at one moment are told in one line."""
_LINES = 9
_PAGE = 60
_MOST_PAGES = 3
_MOST_RUNNING = 7
_ROOM, _LEAST_ENDED = 11, 3
"""Lines of the card of what runs, and how many of them are at least of what has just ended."""
_MOST_NODES = 12
_COMING_S = 2 * SLOTS
"""A browser can go on drawing for so long if it hears nothing."""
_LAST_NAME = "\U0010ffff"
_BAD = ("failed", "timed_out", "lost")


# the ring


def ring_of(snapshot: Snapshot, now_ms: int, outlook: StoreOutlook | None, left_out: Mapping[int, int]) -> Ring:
    """The minute around now."""
    first_ms = (now_ms // 1000 + 1) * 1000
    coming = [] if outlook is None else outlook.within(first_ms, first_ms + _COMING_S * 1000).counts(1000)
    came = slots_of(
        (run.scheduled_ms, LEFT_OUT if run.state is State.SKIPPED else run.state.value)
        for run in snapshot.ticks
        if first_ms - SLOTS * 1000 <= run.scheduled_ms < first_ms
    )
    for second, count in left_out.items():
        slot = came.setdefault(second, {})
        slot[LEFT_OUT] = slot.get(LEFT_OUT, 0) + count
    return Ring(now_ms, coming, came, LOOK_AHEAD_MS)


def missing_names(snapshot: Snapshot, now_ms: int, outlook: StoreOutlook | None, most: int = 50) -> list[str]:
    """Schedules that had a tick in the last minute which made no run, as far as can be seen: of these one asks why."""
    if outlook is None or snapshot.more:
        return []
    made = {(run.schedule, run.scheduled_ms) for run in snapshot.ticks}
    first_ms, end_ms = now_ms - (SLOTS - 2) * 1000, now_ms - 2000
    found = outlook.runs_in(first_ms, end_ms, 1000)
    return list(dict.fromkeys(name for at_ms, name in found if (name, at_ms) not in made))[:most]


def left_out_of(ticks: Ticks, names: Mapping[str, str], outlook: StoreOutlook, first_ms: int) -> dict[int, int]:
    """By second: how many ticks since then became no run, since a decision says so. `names` are those of the ids."""
    found: Counter[int] = Counter()
    wanted = {*names.values()}
    for at_ms, name in outlook.runs_in(first_ms, first_ms + SLOTS * 1000, 1000):
        if name in wanted and any(
            names.get(each.schedule_id) == name and each.first_ms <= at_ms <= each.last_ms for each in ticks.decisions
        ):
            found[at_ms // 1000] += 1
    return dict(found)


# running


@dataclass(frozen=True, slots=True)
class Running:
    """What runs, the longest first, and how much else there is."""

    runs: tuple[Run, ...]
    more: int
    nodes: int
    """On how many."""
    ended: tuple[Run, ...] = ()
    """What ended last, the newest first: short runs are never seen running."""


def running_of(snapshot: Snapshot, needs: int = 0) -> Running:
    """Of a broadcast its shards, not itself. What ended is as many lines as there is room for beside what needs you."""
    live = [run for run in snapshot.running if not run.is_broadcast]
    runs = sorted(live, key=lambda run: (run.started_ms or 0, run.id))
    shown = tuple(runs[:_MOST_RUNNING])
    told = snapshot.runs.running + snapshot.runs.running_steps
    count = max(told - (len(snapshot.running) - len(live)), len(runs))
    ended = sorted(snapshot.ended, key=lambda run: (run.finished_ms or 0, run.id), reverse=True)
    room = max(_ROOM - len(shown) - 2 * needs, _LEAST_ENDED)
    return Running(shown, count - len(shown), len({run.owner for run in runs}), tuple(ended[:room]))


# next


@dataclass(frozen=True, slots=True)
class Coming:
    """One line of what comes next: a schedule, or many at one moment."""

    at_ms: int
    name: str | None
    """None: `count` of them."""
    words: str = ""
    count: int = 1
    zone: str | None = None
    held: str = ""
    """Why it would not begin."""


def next_lines(schedules: Sequence[Schedule], counts: Mapping[int, int], alive: Sequence[Node]) -> list[Coming]:
    """A line for each schedule, by its next moment; those of a moment in one, where they are many. `counts`: how many
    there are at moments of which only a part is among these."""
    at: dict[int, list[Schedule]] = {}
    for each in schedules:
        if each.next_run_ms is not None:
            at.setdefault(each.next_run_ms, []).append(each)
    lines: list[Coming] = []
    for moment_ms, those in at.items():
        count = max(len(those), counts.get(moment_ms, 0))
        if count > FOLDED:
            lines.append(Coming(moment_ms, None, _moment_words(moment_ms), count))
        else:
            lines += [replace(_line(each, moment_ms), held=_held(each, alive)) for each in those]
    return lines


def _held(schedule: Schedule, alive: Sequence[Node]) -> str:
    """Where nobody is alive that is told above, and not once more in each line."""
    return (why_nobody(alive, schedule.task, schedule.policy.group) if alive else None) or ""


def read_next(store: Store, outlook: StoreOutlook | None, nodes: Sequence[Node], now_ms: int) -> list[Coming]:
    """The first lines, of those that are planned. A crowd that fills a page is stepped over: three small questions at
    most."""
    alive = alive_of(nodes, now_ms)
    schedules: list[Schedule] = []
    counts: dict[int, int] = {}
    after = ""
    for _ in range(_MOST_PAGES):
        page = store.schedules(state="active", order="next", after=after, limit=_PAGE)
        schedules += [each for each in page if not each.is_undeclared(now_ms)]
        lines = next_lines(schedules, counts, alive)
        if len(page) < _PAGE or len(lines) >= _LINES or page[-1].next_run_ms is None:
            break
        last_ms = page[-1].next_run_ms
        if outlook is not None:
            counts[last_ms] = len(outlook.index.query(from_ms(last_ms), from_ms(last_ms + 1)))
        after = place_of(replace(page[-1], name=_LAST_NAME), "next")
    return next_lines(schedules, counts, alive)[:_LINES]


def _line(schedule: Schedule, at_ms: int) -> Coming:
    try:
        trigger = decode(schedule.trigger)
    except TriggerError:
        return Coming(at_ms, schedule.name, "its trigger cannot be read")
    zone = zone_of(trigger).name
    words = [trigger_words(trigger.describe(), zone)]
    words += [schedule.policy.overlap] if schedule.policy.overlap in ("discard", "cover") else []
    return Coming(at_ms, schedule.name, " · ".join(words), zone=zone)


def trigger_words(described: str, zone: str) -> str:
    """Without what everybody takes for granted: "at 02:30 every day, Europe/Berlin"."""
    return described.replace(", UTC time", "").replace(f", {zone} time", f", {zone}")


def _moment_words(moment_ms: int) -> str:
    at = from_ms(moment_ms)
    return moment_name(at.minute, at.second)


# lateness


def ribbon_of(minutes: Iterable[Minute], now_ms: int, died: Sequence[Node]) -> list[ribbon.Minute]:
    """The last hour, with a place for each minute; all nodes together."""
    first_ms = now_ms // MINUTE_MS * MINUTE_MS - HOUR_MS + MINUTE_MS
    by_minute: dict[int, list[Minute]] = {}
    for each in minutes:
        by_minute.setdefault(each.minute_ms, []).append(each)
    places = range(first_ms, first_ms + HOUR_MS, MINUTE_MS)
    return [_minute(at_ms, by_minute.get(at_ms, ()), died) for at_ms in places]


def _minute(at_ms: int, parts: Sequence[Minute], died: Sequence[Node]) -> ribbon.Minute:
    if not parts:
        return ribbon.Minute(at_ms)
    whole = add_up(parts)
    failed = sum(whole.ended.get(how, 0) for how in _BAD)
    why = _who_died(at_ms, died) or whole.latest_name or ""
    return ribbon.Minute(at_ms, whole.p50_ms or 0, whole.p99_ms or 0, whole.begun, failed, whole.latest_ms, why)


def _who_died(at_ms: int, died: Sequence[Node]) -> str:
    """Just before that minute, or in it."""
    lost = [node.name for node in died if at_ms - MINUTE_MS <= node.renewed_ms + node.lease_ms < at_ms + MINUTE_MS]
    return f"{lost[0]} died" if lost else ""


# nodes


@dataclass(frozen=True, slots=True)
class NodeLine:
    """One node in the strip."""

    id: str
    name: str
    state: str
    """alive, draining, expired or dead"""
    running: int
    capacity: int
    skew_ms: int | None
    renewed_ms: int

    @property
    def part(self) -> float:
        """How full it is."""
        return self.running / self.capacity if self.capacity else 0.0


def nodes_of(snapshot: Snapshot, died: Sequence[Node]) -> list[NodeLine]:
    """Those that live by name, then those that are silent, then those that died lately and have not come back."""
    running = Counter(run.owner for run in snapshot.running)
    lines = [_node_line(node, running[node.id], silent=snapshot.is_silent(node)) for node in snapshot.nodes]
    back = {line.name for line in lines}
    lines += [_node_line(node, 0, silent=True) for node in died if node.name not in back]
    order = ("alive", "draining", "expired", "dead")
    return sorted(lines, key=lambda line: (order.index(line.state), line.name, line.id))[:_MOST_NODES]


def _node_line(node: Node, running: int, *, silent: bool) -> NodeLine:
    state = node.state.value if node.lives else "dead"
    if node.lives and silent:
        state = "expired"
    try:
        skew_ms: int | None = int(node.labels[SKEW_LABEL])
    except (KeyError, ValueError):
        skew_ms = None
    return NodeLine(node.id, node.name, state, running, node.capacity, skew_ms, node.renewed_ms)


def recent_deaths(gone: Iterable[Node], now_ms: int) -> list[Node]:
    """Nodes that died within the last hour, the last of each name."""
    found: dict[str, Node] = {}
    for node in gone:
        if node.state is NodeState.DEAD and node.renewed_ms > now_ms - HOUR_MS:
            held = found.get(node.name)
            if held is None or held.renewed_ms < node.renewed_ms:
                found[node.name] = node
    return list(found.values())


def skew_text(skew_ms: int | None) -> str:
    """ "+2 ms", "+1.2 s"; with a real minus sign where it is behind."""
    if skew_ms is None:
        return ""
    sign = "+" if skew_ms >= 0 else "\N{MINUS SIGN}"
    size = abs(skew_ms)
    return f"{sign}{size} ms" if size < 1000 else f"{sign}{size / 1000:.1f} s"
