"""What the watcher has seen of the store at one moment, and in what two such moments differ. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from onthedot.model.change import Change
from onthedot.model.node import Node
from onthedot.model.run import Run

if TYPE_CHECKING:
    from onthedot.stores.counts import RunCounts, ScheduleCounts

Topic = Literal["runs", "schedules", "nodes", "changes", "minute"]
"""What one may ask to be told of; `store` (it went away, or came back) is told to everybody."""
TOPICS: tuple[Topic, ...] = get_args(Topic)
MINUTE_MS = 60_000
MOST_IDS = 100
"""A message names so many at most; `more` says that there were others."""


@dataclass(frozen=True, slots=True)
class Away:
    """The store does not answer."""

    since_ms: int
    """By this machine's clock."""
    why: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The last truth, and when it was read: pages keep it while the store is away."""

    now_ms: int
    """The store's time when it was read."""
    read_ms: int
    """The same moment by the monotonic clock of this process."""
    schedules: ScheduleCounts
    runs: RunCounts
    running: tuple[Run, ...]
    """Newest first, with their progress; at most `MOST_RUNNING` of the watcher."""
    recent: tuple[Run, ...]
    """Runs that were made within the last minute, live and ended, newest first; at most `MOST_RECENT`."""
    more: bool
    """There were more of these than are here."""
    nodes: tuple[Node, ...]
    changes: tuple[Change, ...]
    """The newest lines of the audit, newest first."""
    nodes_ms: int = 0
    """The store's time when the nodes were read: they are judged by it, or each would seem silent between two looks."""
    away: Away | None = None
    """Set while the store does not answer: then all else is as old as `now_ms` says."""

    def is_silent(self, node: Node) -> bool:
        """Whether its lease was over when it was looked at last."""
        return node.expired(self.nodes_ms)

    @property
    def ended(self) -> tuple[Run, ...]:
        """Those of the last minute that are over, newest first."""
        return tuple(run for run in self.recent if run.is_final)

    @property
    def ticks(self) -> tuple[Run, ...]:
        """Those of the last minute that a schedule's tick has made, newest first."""
        return tuple(run for run in self.recent if run.cause == "tick")

    @property
    def last_change(self) -> str | None:
        """The id of the newest line of the audit."""
        return self.changes[0].id if self.changes else None


@dataclass(frozen=True, slots=True)
class Message:
    """That something is no longer as it was. It names what, and says nothing of it: whoever shows it asks anew."""

    topic: Topic | Literal["store"]
    ids: tuple[str, ...] = ()
    """Runs, nodes and lines of the audit by their id, schedules by name; a minute by its beginning; `away`, `back`."""
    schedules: tuple[str, ...] = ()
    """With runs: the names of their schedules."""
    more: bool = False
    """There are others that are not named."""


def compare(before: Snapshot, after: Snapshot) -> list[Message]:
    """What became different between two looks."""
    told = [*_runs(before, after), *_schedules(before, after), *_nodes(before, after), *_changes(before, after)]
    if after.now_ms // MINUTE_MS > before.now_ms // MINUTE_MS:
        told.append(Message("minute", (str(after.now_ms // MINUTE_MS * MINUTE_MS),)))
    if (before.away is None) != (after.away is None):
        told.append(Message("store", ("back" if after.away is None else "away",)))
    return told


def renewed(schedules: Collection[str] | None) -> Message:
    """What is to come of these schedules can be asked for now; None: of any."""
    return _message("schedules", sorted(schedules or ()), more=schedules is None)


def new_changes(before: Snapshot, after: Snapshot) -> list[Change]:
    """Lines of the audit that were not there before, newest first."""
    known = {change.id for change in before.changes}
    return [change for change in after.changes if change.id not in known]


def is_followed(before: Snapshot, after: Snapshot) -> bool:
    """Whether all lines of the audit between the two are known: the newest one of before is still among them."""
    return not before.changes or any(change.id == before.changes[0].id for change in after.changes)


def _runs(before: Snapshot, after: Snapshot) -> Iterator[Message]:
    old, new = _known_runs(before), _known_runs(after)
    changed = [run for run in new.values() if run.id not in old or _sign(run) != _sign(old[run.id])]
    left = [run for run in before.running if run.id not in new]
    if changed or left or before.runs != after.runs:
        both = [*changed, *left]
        names = _bounded(dict.fromkeys(run.schedule for run in both if run.schedule is not None))
        yield _message("runs", (run.id for run in both), names, more=after.more)


def _known_runs(snapshot: Snapshot) -> Mapping[str, Run]:
    return {run.id: run for run in (*snapshot.recent, *snapshot.running)}


def _sign(run: Run) -> tuple[object, ...]:
    """What of a run may change and is shown."""
    progress = getattr(run, "progress", None)
    return run.state, run.claim_no, run.started_ms, run.waits_for, run.cancel_requested_ms, progress


def _schedules(before: Snapshot, after: Snapshot) -> Iterator[Message]:
    names = dict.fromkeys(change.schedule for change in new_changes(before, after) if change.schedule)
    if names or before.schedules != after.schedules:
        yield _message("schedules", names, more=not is_followed(before, after))


def _nodes(before: Snapshot, after: Snapshot) -> Iterator[Message]:
    old, new = ({node.id: node for node in each.nodes} for each in (before, after))
    changed = [node_id for node_id in {**old, **new} if old.get(node_id) != new.get(node_id)]
    if changed:
        yield _message("nodes", changed)


def _changes(before: Snapshot, after: Snapshot) -> Iterator[Message]:
    new = new_changes(before, after)
    if new:
        yield _message("changes", (change.id for change in new), more=not is_followed(before, after))


def _message(topic: Topic, ids: Iterable[str], schedules: tuple[str, ...] = (), *, more: bool = False) -> Message:
    named = [*ids]
    return Message(topic, _bounded(named), schedules, more or len(named) > MOST_IDS)


def _bounded(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(ids)[:MOST_IDS]
