"""What others do on this machine meanwhile: measured beside every turn, and waited for before it.

Others are all processes that neither are this one nor come from it, and whatever the host takes for itself. Servers
that the bench has started come from it.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

Say = Callable[[str], None]
MOST = 0.15
"""Of one core: more than that, and a turn is taken again."""
_LOOK_S = 2.0
_PATIENCE_S = float(os.environ.get("BENCH_PATIENCE_S", "600"))
_REPEATS = 3
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Turns:
    """What was measured in several turns, and what others did meanwhile."""

    values: tuple[float, ...]
    others: tuple[float, ...]
    """Of one core, in each turn."""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> str:
        """From the least to the most, in percent of the median."""
        return f"{min(self.values) / self.median - 1:+.0%} to {max(self.values) / self.median - 1:+.0%}"

    @property
    def busiest(self) -> float:
        return max(self.others)


def wait(say: Say) -> None:
    """Until others leave the machine alone; not for ever."""
    end = time.monotonic() + _PATIENCE_S
    while (others := _meanwhile(lambda: time.sleep(_LOOK_S))[1]) > MOST:
        if time.monotonic() > end:
            say(f"others still use {others:.2f} of a core; going on, and saying so")
            return
        say(f"others use {others:.2f} of a core: waiting for a calm machine")


def turn(action: Callable[[], float], say: Say) -> tuple[float, float]:
    """What the action measured on a calm machine, and what others used meanwhile; the calmest of a few tries."""
    tries: list[tuple[float, float]] = []
    for _ in range(_REPEATS):
        wait(say)
        value, others = _meanwhile(action)
        tries.append((others, value))
        if others <= MOST:
            break
        say(f"others used {others:.2f} of a core meanwhile: once more")
    others, value = min(tries)
    return value, others


def in_turn(actions: Mapping[str, Callable[[], float]], turns: int, say: Say) -> dict[str, Turns]:
    """Each action so many times, one after the other, so that whatever changes hits all alike."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in actions}
    for number in range(turns):
        for name, action in actions.items():
            say(f"turn {number + 1} of {turns}: {name}")
            found[name].append(turn(action, say))
    return {name: Turns(*(tuple(column) for column in zip(*rows, strict=True))) for name, rows in found.items()}


def _meanwhile(action: Callable[[], float | None]) -> tuple[float, float]:
    """What the action gave, and how much of a core others used until it was over."""
    meter = Meter()
    value = action()
    return value or 0.0, meter.read().others


@dataclass(frozen=True, slots=True)
class Shares:
    """Of one core."""

    own: float
    others: float


class Meter:
    """Who used the processors, since it was made or read last."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.monotonic(), _busy(), own()

    def read(self) -> Shares:
        """And begin anew."""
        before = self._began, self._busy, self._own
        self._began, self._busy, self._own = time.monotonic(), _busy(), own()
        took = max(self._began - before[0], 1e-3)
        mine = self._own - before[2]
        return Shares(mine / took, max(self._busy - before[1] - mine, 0.0) / took)


def _busy() -> float:
    """Seconds that all processors together were used, by anybody, since the machine began."""
    user, nice, system, _idle, _io, irq, soft, steal = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    )
    return (user + nice + system + irq + soft + steal) / _TICK


def own() -> float:
    """Seconds that this process, and all that came from it, have used; those of ended ones are with their parents."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = sum(map(int, fields[11:15])) / _TICK
    mine = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return sum(used[pid] for pid in mine)
