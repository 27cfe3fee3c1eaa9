"""What happened, one frozen class each. Stages emit; logs, metrics and hooks subscribe.

A field has the name that the same thing has elsewhere: that of a run, a schedule or a decision, or that of a metric
and its labels. `run_id` and `node_id` are ids; `task`, `schedule` and `node` are names. All of them are in one table of
docs/guides/metrics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from threading import current_thread, main_thread
from typing import Any, Literal, TypeVar

from onthedot.hooks import Hook, drain

Topic = Literal[
    "start",
    "stop",
    "idle",
    "error",
    "restart",
    "run_started",
    "run_finished",
    "run_retried",
    "run_ended",
    "run_skipped",
    "planned",
    "misfire",
    "paused",
    "parked",
    "fallback",
    "recovery",
    "draining",
    "stopping",
    "handed_back",
    "lease_lost",
    "takeover",
    "refused",
    "file_loaded",
    "file_broken",
]


@dataclass(frozen=True, slots=True)
class Event:
    """The root of all events."""


@dataclass(frozen=True, slots=True)
class NodeStarted(Event):
    node_id: str
    node: str


@dataclass(frozen=True, slots=True)
class NodeStopped(Event):
    node_id: str
    node: str


@dataclass(frozen=True, slots=True)
class Draining(Event):
    """Somebody asked this node to take no more runs."""

    node_id: str
    node: str


@dataclass(frozen=True, slots=True)
class Stopping(Event):
    """This node was told to stop, and waits for what runs; told again when that changes, and every ten seconds."""

    node_id: str
    node: str
    runs: int
    """How many are left."""
    names: tuple[str, ...]
    """Of their schedules, or tasks; that of the oldest first."""
    duration_ms: int
    """How long the oldest has been running."""


@dataclass(frozen=True, slots=True)
class HandedBack(Event):
    """This node stops, and does not wait for these any longer: it has told them to stop, and others begin them anew."""

    node_id: str
    node: str
    runs: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Idle(Event):
    """Nothing is due and nothing runs; once per idle period."""

    node_id: str


@dataclass(frozen=True, slots=True)
class Failure(Event):
    """Something went wrong that no run can be blamed for: a stage goes on after it."""

    stage: str
    error: BaseException


@dataclass(frozen=True, slots=True)
class LoopRestarted(Event):
    """A thread of this node had ended though nobody asked it to; another goes on in its place."""

    stage: str


@dataclass(frozen=True, slots=True)
class FellBack(Event):
    """Planning in batches keeps failing: from now on this node plans schedule by schedule."""

    node_id: str
    error: BaseException


@dataclass(frozen=True, slots=True)
class Recovered(Event):
    """Planning in batches works again."""

    node_id: str


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """The task is called."""

    run_id: str
    task: str
    schedule: str | None
    attempt: int
    lateness_ms: int
    """From when the run was due."""


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """An attempt is over. Whether it is the last one is not known yet."""

    run_id: str
    task: str
    schedule: str | None
    attempt: int
    outcome: str
    duration_ms: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunRetried(Event):
    """The store has the outcome of an attempt that failed, and the run is tried again."""

    run_id: str
    task: str
    schedule: str | None
    attempt: int
    """The one that failed."""
    outcome: str
    due_at: datetime
    """When the next one is due."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The store has the outcome, and the run is over; one that is tried again has finished, but not ended."""

    run_id: str
    task: str
    schedule: str | None
    attempt: int
    outcome: str
    duration_ms: int
    """How long its latest attempt took, by the store's clock; 0 where none was made."""
    error: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RunSkipped(Event):
    """A waiting run was left out when it was to start, and why."""

    run_id: str
    task: str
    schedule: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class BatchPlanned(Event):
    """What was due was planned in one transaction."""

    schedules: int
    runs: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Misfired(Event):
    """Ticks that were not run, and why."""

    schedule: str
    reason: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Paused(Event):
    """Somebody paused a schedule in this process: so many waiting runs were skipped, so many are still running."""

    schedule: str
    skipped: int
    running: int


@dataclass(frozen=True, slots=True)
class Parked(Event):
    """A schedule that cannot be planned is left out from now on, until somebody mends it."""

    schedule: str
    error: str


@dataclass(frozen=True, slots=True)
class LeaseLost(Event):
    """This node was declared dead: it has stopped its runs, and goes on as another incarnation."""

    node_id: str
    node: str
    runs: int


@dataclass(frozen=True, slots=True)
class TookOver(Event):
    """Another node died, and its runs were given back."""

    node_id: str
    runs: int
    node: str = ""


@dataclass(frozen=True, slots=True)
class OutcomeRefused(Event):
    """The store did not take the outcome of a run, since the run is no longer this node's."""

    run_id: str


@dataclass(frozen=True, slots=True)
class FileLoaded(Event):
    """A file of schedules was read after it had changed, and its schedules were written to the store."""

    path: str
    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """No longer in the file."""
    pruned: tuple[str, ...] = ()
    """Deleted from the store."""


@dataclass(frozen=True, slots=True)
class FileBroken(Event):
    """A file of schedules has changed and cannot be read: what it said before goes on."""

    path: str
    problems: tuple[str, ...]


TOPICS: dict[Topic, type[Event]] = {
    "start": NodeStarted,
    "stop": NodeStopped,
    "idle": Idle,
    "error": Failure,
    "restart": LoopRestarted,
    "run_started": RunStarted,
    "run_finished": RunFinished,
    "run_retried": RunRetried,
    "run_ended": RunEnded,
    "run_skipped": RunSkipped,
    "planned": BatchPlanned,
    "misfire": Misfired,
    "paused": Paused,
    "parked": Parked,
    "fallback": FellBack,
    "recovery": Recovered,
    "draining": Draining,
    "stopping": Stopping,
    "handed_back": HandedBack,
    "lease_lost": LeaseLost,
    "takeover": TookOver,
    "refused": OutcomeRefused,
    "file_loaded": FileLoaded,
    "file_broken": FileBroken,
}
E = TypeVar("E", bound=Event)
NAMES: dict[type[Event], Topic] = {kind: topic for topic, kind in TOPICS.items()}
"""The one name of each event, wherever it is told."""


class Emitter:
    """Hands events to those who asked for them. None of them can fail what happened, or hold it up.

    What is ours subscribes, and is called at once by whoever emits: it neither blocks nor takes long. What is the
    user's is a hook, and is called in a thread of its own, each function with its events in order.
    """

    def __init__(self, on_broken_hook: Callable[[Event, BaseException], None]) -> None:
        self._subscribers: dict[type[Event], list[Callable[[Any], object]]] = {}
        self._always: set[type[Event]] = set()
        self._at_times: dict[type[Event], list[Callable[[], bool]]] = {}
        self._hooks: dict[type[Event], list[Hook[Any]]] = {}
        self._on_broken_hook = on_broken_hook
        self._in_step = False

    def subscribe(
        self, kind: type[E], subscriber: Callable[[E], object], *, wants_all: Callable[[], bool] | None = None
    ) -> None:
        """For functions of ours. One that does not want what went well may say so, anew whenever it is asked."""
        self._subscribers.setdefault(kind, []).append(subscriber)
        if wants_all is None:
            self._always.add(kind)
        else:
            self._at_times.setdefault(kind, []).append(wants_all)

    def hook(self, kind: type[E], function: Callable[[E], object]) -> None:
        """For functions of users. One that asked for several kinds gets all of them in order."""
        known = (each for each in self.hooks if each.function == function)
        hook = next(known, None) or Hook(function, self._on_broken_hook)
        self._hooks.setdefault(kind, []).append(hook)
        self._always.add(kind)

    def is_heard(self, kind: type[Event]) -> bool:
        """Whether anybody asked for all of them: what nobody hears need not be made. What went wrong is always told."""
        return kind in self._always or (kind in self._at_times and any(wants() for wants in self._at_times[kind]))

    def emit(self, event: Event) -> None:
        """Tell it to all who asked for it."""
        for subscriber in self._subscribers.get(type(event), ()):
            self._call(subscriber, event)
        for hook in self._hooks.get(type(event), ()):
            if self._in_step:
                self._call(hook.function, event)
            else:
                hook.put(event)

    def _call(self, function: Callable[[Any], object], event: Event) -> None:
        try:
            function(event)
        except BaseException as error:  # sys.exit() must not take the node with it
            if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                raise  # somebody pressed Ctrl-C just now
            self._on_broken_hook(event, error)

    @property
    def hooks(self) -> list[Hook[Any]]:
        """The functions of users, each once."""
        return list(dict.fromkeys(hook for hooks in self._hooks.values() for hook in hooks))

    @property
    def dropped(self) -> int:
        """How many events hooks were never told, because they did not keep up."""
        return sum(hook.dropped for hook in self.hooks)

    def drain(self, for_ms: int) -> bool:
        """Wait so long until all hooks have heard what they were told; says whether they have."""
        return drain(self.hooks, for_ms)

    @contextmanager
    def in_step(self) -> Iterator[None]:
        """Inside, hooks are called at once too, as befits a world in which time passes by hand."""
        self._in_step = True
        try:
            yield
        finally:
            self._in_step = False
