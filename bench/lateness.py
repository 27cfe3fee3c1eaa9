"""How late functions are called when many schedules are due in the same instant of every second."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Event

from bench.apart import apart as in_its_own_process
from bench.measure import part
from onthedot import App, Context, every
from onthedot.events import Misfired
from onthedot.node.settings import NodeSettings
from onthedot.triggers.base import Trigger

WARM_S = 3
"""Seconds that are not counted, since connections are opened and caches filled in them."""
PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Lateness:
    """What became of the ticks of the seconds that count."""

    late_ms: list[float]
    """Of each call, ascending."""
    expected: int
    lost: int
    """Of all ticks, also those of the seconds that do not count: neither called nor in a decision."""
    left_out: int = 0
    """Not called, but recorded as a decision with its reason."""

    def at(self, of: float) -> float:
        return part(self.late_ms, of)

    def row(self, who: str) -> tuple[str, int, int, float, float, float, int, int]:
        """For a table with `COLUMNS`."""
        most = self.late_ms[-1] if self.late_ms else 0.0
        return who, len(self.late_ms), self.expected, self.at(0.5), self.at(0.99), most, self.left_out, self.lost


COLUMNS = ("who", "called", "of", "p50", "p99", "most", "left out", "lost")


class _Calls:
    """Notes by how much each call was late, and when all are accounted for."""

    def __init__(self, first_s: int, schedules: int, seconds: int) -> None:
        self._from_s = first_s + WARM_S
        self.total = schedules * (WARM_S + seconds)
        self.called = self.left_out = 0
        self.late_ms: list[float] = []
        self.all_done = Event()

    def note(self, scheduled_s: float) -> None:
        late_ms = (time.time() - scheduled_s) * 1000
        self.called += 1
        if scheduled_s >= self._from_s:
            self.late_ms.append(late_ms)
        self._look()

    def leave_out(self, ticks: int) -> None:
        self.left_out += ticks
        self._look()

    def _look(self) -> None:
        if self.called + self.left_out >= self.total:
            self.all_done.set()


def ours(
    url: str,
    schedules: int,
    seconds: int,
    beside: Callable[[App], Callable[[], None]] = lambda app: lambda: None,
    node: NodeSettings | None = None,
) -> Lateness:
    """A node as a user has it: embedded, with default settings, and schedules that are declared in code.

    What it does `beside` is declared first, and begun, by what that gives, when the node has started.
    """
    app = App(url, node=node)
    begin_beside = beside(app)
    first_s = int(time.time()) + 5 + schedules // 400
    calls = _Calls(first_s, schedules, seconds)

    @app.on("misfire")
    def leave_out(event: Misfired) -> None:
        calls.leave_out(event.count or 0)

    @app.on("run_skipped")
    def leave_one_out(event: object) -> None:
        calls.leave_out(1)

    first = datetime.fromtimestamp(first_s, UTC)
    trigger = every("1s", starts_at=first, repeat_until=first + timedelta(seconds=WARM_S + seconds - 1))
    for number in range(schedules):
        _declare(app, f"every-second-{number}", trigger, calls)
    app.start()
    begin_beside()
    calls.all_done.wait(first_s - time.time() + WARM_S + seconds + PATIENCE_S)
    app.stop()
    app.close()
    lost = calls.total - calls.called - calls.left_out
    return Lateness(sorted(calls.late_ms), schedules * seconds, lost, calls.left_out)


def _declare(app: App, name: str, trigger: Trigger, calls: _Calls) -> None:
    @app.schedule(trigger, name=name)
    def note(ctx: Context) -> None:
        calls.note(ctx.scheduled_at.timestamp())


def apart(url: str, schedules: int, seconds: int, *, tune_gc: bool = False) -> Lateness:
    """The same, in a process of its own."""
    return Lateness(*in_its_own_process("bench.lateness:measured", url, schedules, seconds, tune_gc))


def measured(url: str, schedules: int, seconds: int, tune_gc: bool) -> tuple[list[float], int, int, int]:
    """For `apart`: the fields of what came out."""
    found = ours(url, schedules, seconds, node=NodeSettings(tune_gc=True) if tune_gc else None)
    return found.late_ms, found.expected, found.lost, found.left_out
