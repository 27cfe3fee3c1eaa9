"""Which tasks are slow: a rule over what they took, judged anew each minute."""

from __future__ import annotations

SLOW_MS = 500
OFTEN = 10
MINUTE_MS = 60_000


class Slowness:
    """A task is slow if it took more than 500 ms more than 10 times, within this minute or the one before it.

    Minutes are those of the clock that the moments come from. Costs what there is of slow tasks.
    """

    def __init__(self) -> None:
        self._minute = 0
        self._now: dict[str, int] = {}
        self._before: dict[str, int] = {}

    @property
    def is_watching(self) -> bool:
        """Whether anything has been slow lately; else no clock need be asked."""
        return bool(self._now or self._before)

    def note(self, task: str, took_ms: int, now_ms: int) -> None:
        """A run of the task has just ended."""
        if took_ms > SLOW_MS:
            self._turn(now_ms)
            self._now[task] = self._now.get(task, 0) + 1

    def is_slow(self, task: str, now_ms: int) -> bool:
        """Whether runs of the task that begin now are taken to be slow."""
        self._turn(now_ms)
        return self._now.get(task, 0) > OFTEN or self._before.get(task, 0) > OFTEN

    def noted(self) -> set[str]:
        """The tasks that may be slow."""
        return {*self._now, *self._before}

    def _turn(self, now_ms: int) -> None:
        minute = now_ms // MINUTE_MS
        if minute != self._minute:
            self._before = self._now if minute == self._minute + 1 else {}
            self._now = {}
            self._minute = minute
