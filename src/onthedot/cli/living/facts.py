"""What the view shows, as read from the store at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.app.app import App
from onthedot.errors import OnthedotError
from onthedot.model.log_line import LogLine
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.triggers.codec import decode

NEWEST = 400
AHEAD_MS = 60_000


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything at once, so that a picture rests on nothing else."""

    now_ms: int
    schedules: tuple[Schedule, ...] = ()
    runs: tuple[Run, ...] = ()
    """The newest first."""
    coming_ms: tuple[int, ...] = ()
    """The moments of the next minute, for each schedule."""
    nodes: tuple[Node, ...] = ()
    parts: tuple[tuple[str, float], ...] = ()
    """How far what runs has come."""
    left_out: int | None = None
    """How many ticks, where that is known."""
    hidden: int = 0
    """Schedules for which there is no room."""

    @property
    def running(self) -> list[Run]:
        """What runs, oldest first; a broadcast as its shards."""
        return [run for run in reversed(self.runs) if run.state is State.RUNNING and not run.is_broadcast]

    @property
    def waiting(self) -> list[Run]:
        """What is due and cannot begin yet."""
        return [run for run in self.runs if run.state is State.WAITING]

    @property
    def ended(self) -> list[Run]:
        """The last to end first; without the shards of broadcasts."""
        ended = [run for run in self.runs if run.is_final and not run.is_shard]
        return sorted(ended, key=lambda run: run.finished_ms or 0, reverse=True)

    def node_name(self, node_id: str | None) -> str:
        """Of a node that lives."""
        return next((node.name for node in self.nodes if node.id == node_id), "")


def read(app: App) -> Facts:
    """Ask the store."""
    store = app.open_store()
    now_ms = store.now_ms()
    schedules = tuple(store.schedules(limit=1000))
    runs = tuple(store.runs(limit=NEWEST))
    running = [run for run in runs if run.state is State.RUNNING and not run.is_broadcast]
    return Facts(
        now_ms,
        schedules,
        runs,
        tuple(moment for each in schedules for moment in coming_moments(each, now_ms)),
        tuple(store.nodes()),
        tuple((run.id, part_done(store.logs(run.id))) for run in running),
        sum(each.count or 0 for schedule in schedules for each in store.decisions(schedule.id, limit=1000)),
    )


def coming_moments(schedule: Schedule, now_ms: int) -> list[int]:
    """Its moments within a minute, as things stand."""
    found = list[int]()
    moment = schedule.next_run_ms if schedule.enabled else None
    try:
        trigger = decode(schedule.trigger)
    except OnthedotError:  # what cannot be read is shown with its error, and does not tick
        return found
    while moment is not None and moment < now_ms + AHEAD_MS:
        found.append(moment)
        moment = trigger.next_ms(moment)
    return found


def part_done(lines: Sequence[LogLine]) -> float:
    """What was said last about how far it is."""
    said = [line.text for line in lines if line.level == "PROGRESS"]
    return float(said[-1].partition("%")[0]) / 100 if said else 0.0
