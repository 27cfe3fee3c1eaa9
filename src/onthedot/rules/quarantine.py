"""After a process died, what it left overdue is planned one by one, and each try is counted before it is made.

A plan that kills its process leaves no trace but its count. A row is counted in one transaction and tried in the next;
a plan that comes back sets the count to 0, so only a culprit keeps it from one process to another. Deaths that came
before it was counted are not its own. Whatever became due since then is planned in batches as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace as with_fields
from enum import Enum, auto

from onthedot.model.schedule import Schedule
from onthedot.model.values import replace
from onthedot.rules.effects import Before, Decide, Effects, Situation

TRIES = 3
AT_ONCE = 20
"""How many rows one careful pass looks at: few, since it tries one of those that are overdue, and enough for others."""
UNDER_WAY_MS = 5000
"""A count as young as this may be that of another node, which is trying the row just now."""


class Step(Enum):
    """What a careful pass did with an overdue row; the answer of its effects."""

    COUNTED = auto()
    TRIED = auto()
    PARKED = auto()
    WAITS = auto()
    """Its turn has not come."""
    LEFT = auto()
    """It was tried, and is not for this node."""


class Quarantine:
    """Decides instead of `decide`, until all that was due at `since_ms` is dealt with.

    It only remembers what `note` says was committed, so it may be asked as often as a store likes.
    """

    def __init__(self, decide: Decide, since_ms: int) -> None:
        self._decide = decide
        self.since_ms = since_ms
        self._counted: set[str] = set()
        self._left: set[str] = set()
        self._waits = False

    def __call__(self, rows: Sequence[Before], situation: Situation) -> list[Effects]:
        """At most one overdue row is tried, and one counted for the next pass."""
        overdue = [row.schedule for row in rows if row.schedule is not None and self._is_overdue(row.schedule)]
        tried = next((each.id for each in overdue if each.id in self._counted), None)
        counted = next((each.id for each in overdue if self._may_be_counted(each, situation.now_ms)), None)
        suspects = {each.id for each in overdue}
        others = [row for row in rows if row.schedule is not None and row.schedule.id not in suspects]
        decided = iter(self._decide(others, situation))
        effects: list[Effects] = []
        for row in rows:
            schedule = row.schedule
            if schedule is None or schedule.id not in suspects:
                effects.append(next(decided))
            elif schedule.id == tried:
                effects.append(self._tried(row, situation))
            elif schedule.id == counted:
                effects.append(_counted_or_parked(schedule, situation.now_ms))
            else:
                effects.append(Effects(answer=Step.WAITS))
        return effects

    def note(self, all_effects: Iterable[Effects]) -> None:
        """These were committed."""
        for effects in all_effects:
            if effects.answer is Step.WAITS:
                self._waits = True
            elif isinstance(effects.answer, Step) and effects.schedule is not None:
                (self._counted.add if effects.answer is Step.COUNTED else self._counted.discard)(effects.schedule.id)
                if effects.answer is Step.LEFT:
                    self._left.add(effects.schedule.id)

    def waits(self) -> bool:
        """Whether an overdue row was left for later since this was last asked."""
        waits, self._waits = self._waits, False
        return waits

    def _is_overdue(self, schedule: Schedule) -> bool:
        if schedule.id in self._left:
            return False
        return schedule.next_run_ms is not None and schedule.next_run_ms <= self.since_ms

    def _may_be_counted(self, schedule: Schedule, now_ms: int) -> bool:
        under_way = schedule.plan_attempts > 0 and now_ms - schedule.updated_ms < UNDER_WAY_MS
        return schedule.id not in self._counted and not under_way

    def _tried(self, row: Before, situation: Situation) -> Effects:
        """Its run waits to be started: the workers that are free were counted for the others."""
        (effects,) = self._decide([row], with_fields(situation, free_workers=0))
        if effects.schedule is not None:
            return with_fields(effects, answer=Step.TRIED)
        assert row.schedule is not None
        uncounted = replace(row.schedule, plan_attempts=0, version=row.schedule.version + 1)
        return Effects(schedule=uncounted, answer=Step.LEFT)


def _counted_or_parked(schedule: Schedule, now_ms: int) -> Effects:
    changed = replace(schedule, version=schedule.version + 1, updated_ms=now_ms)
    if schedule.plan_attempts >= TRIES:
        why = f"each of {TRIES} tries to plan it ended with the death of the process; put it anew when that is mended"
        return Effects(schedule=replace(changed, error=why), answer=Step.PARKED)
    return Effects(schedule=replace(changed, plan_attempts=schedule.plan_attempts + 1), answer=Step.COUNTED)
