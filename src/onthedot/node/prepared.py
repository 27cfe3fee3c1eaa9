"""What this node has decided ahead: at the moment itself there is nothing left to read or to decide."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from onthedot.heap import IndexedHeap
from onthedot.model.node import Node
from onthedot.model.schedule import Schedule
from onthedot.rules.ahead import Ahead, decided_again, decided_ahead
from onthedot.rules.effects import Decide
from onthedot.rules.plan import Room

KEPT_FOR_MS = 65_000
"""How far ahead what was just planned is decided again: once a minute is often, once an hour is read when it comes."""
MOST = 20_000
_LOOKS = 100
"""How many for which there is no room hide others, of another pool."""


Carried = tuple[Ahead, Schedule]
"""What was decided ahead and has become a run, and how that has left its schedule."""


def _never(schedule_id: str) -> bool:
    return False


class Prepared:
    """Decisions by the moments of their ticks: hints like those of the ring, given out once, that own nothing."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._ahead: dict[str, Ahead] = {}
        self._moments: IndexedHeap[str] = IndexedHeap()
        self._due: deque[Ahead] = deque()
        """Whose moment has come, and for which there was no room yet."""
        self._behind: list[Ahead] = []
        """The same, where the run before is over here, and only not recorded yet."""
        self._for: Any = None

    def put(self, schedules: Iterable[Schedule], node: Node, now_ms: int) -> None:
        """Decide the next ticks of these, as far as they come soon, for this node."""
        self._make_for(node)
        soon = [each for each in schedules if (each.next_run_ms or 0) <= now_ms + KEPT_FOR_MS]
        for ahead in decided_ahead(soon[: max(MOST - len(self._ahead), 0)], node, self._decide):
            self._keep(ahead)

    def go_on(self, carried_out: Iterable[Carried], node: Node, now_ms: int) -> None:
        """Decide the ticks after those that have just become runs."""
        self._make_for(node)
        others: list[Schedule] = []
        for ahead, moved in carried_out:
            is_soon = moved.next_run_ms is not None and moved.next_run_ms <= now_ms + KEPT_FOR_MS
            again = decided_again(ahead, moved) if is_soon and len(self._ahead) < MOST else None
            if again is None:
                others.append(moved)
            else:
                self._keep(again)
        self.put(others, node, now_ms)

    def _keep(self, ahead: Ahead) -> None:
        self._forget(ahead.schedule.id)
        self._ahead[ahead.schedule.id] = ahead
        self._moments.push(ahead.schedule.id, ahead.tick_ms)

    def take(
        self, node: Node, now_ms: int, most: int, room: Room, is_ending: Callable[[str], bool] = _never
    ) -> list[Ahead]:
        """Up to so many that are due and can begin, each once: those of higher priority first.

        Those schedules of which a run is just ending wait for that: planned now, the tick would be written as one that
        waits for the run before, woken, and written again.
        """
        self._make_for(node)
        if not self._due:
            behind, self._behind = self._behind, []
            self._due.extend(behind)
        due = [self._ahead[schedule_id] for schedule_id, _ in self._moments.pop_due(now_ms)]
        if due:
            self._due = deque(sorted((*self._due, *due), key=lambda each: (-each.priority, each.tick_ms)))
        taken: list[Ahead] = []
        without_room: list[Ahead] = []
        while self._due and len(taken) < most and len(without_room) < _LOOKS:
            ahead = self._due.popleft()
            if self._ahead.get(ahead.schedule.id) is not ahead:
                continue  # put anew since
            if is_ending(ahead.schedule.id) and ahead.holds_at(now_ms):
                self._behind.append(ahead)
                continue
            if ahead.holds_at(now_ms) and not room.take(ahead.run):
                without_room.append(ahead)
                continue
            del self._ahead[ahead.schedule.id]
            taken += [ahead] if ahead.holds_at(now_ms) else []
        self._due.extendleft(reversed(without_room))
        return taken

    @property
    def waits(self) -> bool:
        """Whether something is due for which there was no room, or that comes after a run that is just ending."""
        return bool(self._due or self._behind)

    @property
    def waits_for_outcomes(self) -> bool:
        """All of that only waits for runs to be recorded that are over."""
        return bool(self._behind) and not self._due

    @property
    def versions(self) -> Mapping[str, int]:
        """Of the schedules whose next tick is decided."""
        return {schedule_id: ahead.schedule.version for schedule_id, ahead in self._ahead.items()}

    def _make_for(self, node: Node) -> None:
        """What another incarnation has decided, or one with other tasks, is worth nothing."""
        made_for = node.id, node.group, node.tasks
        if made_for != self._for:
            self._for = made_for
            self._ahead.clear()
            self._moments = IndexedHeap()
            self._due.clear()
            self._behind.clear()

    def _forget(self, schedule_id: str) -> None:
        if self._ahead.pop(schedule_id, None) is not None and schedule_id in self._moments:
            self._moments.remove(schedule_id)
