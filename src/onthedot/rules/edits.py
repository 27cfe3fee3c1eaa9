"""What people do to schedules: put, pause, resume, reschedule, delete, trigger; each a pure edit under its lock.

No tick vanishes: what an edit takes away up to the store's time becomes a decision, and what comes later was never
promised. Nothing about the future is ever written down, so there is nothing to undo.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import replace as with_fields
from itertools import islice

from onthedot.errors import Conflict, ScheduleNotFound, StaleRevision, TriggerError
from onthedot.model.decision import Decision, Reason
from onthedot.model.freeze import Freeze
from onthedot.model.ids import new_id
from onthedot.model.run import Run, for_resume
from onthedot.model.schedule import DEFINITION, Json, Schedule
from onthedot.model.schedule import Definition as Definition  # noqa: PLC0414 - callers say edits.put(edits.Definition(…))
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.moments import iso
from onthedot.rules.effects import Before, Edit, Effects
from onthedot.rules.freezing import refrozen
from onthedot.rules.spans import Span, span
from onthedot.rules.start import skipped
from onthedot.texts import counted
from onthedot.triggers.at import At
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode, encode
from onthedot.triggers.combine import uses_of
from onthedot.triggers.pinned import Pin, Use
from onthedot.triggers.replan import goes_on_after_ms


@dataclass(frozen=True, slots=True)
class AffectedRuns:
    """What a pause or a deletion did to runs."""

    skipped: int
    running: int


def put(definition: Definition[Trigger]) -> Edit:
    """Create the schedule, or replace its definition; a tombstone of the name is revived."""

    def edit(before: Before, now_ms: int) -> Effects:
        old = before.schedule
        if old is None:
            return _created(before, definition, now_ms)
        new = _defined(old, definition, now_ms)
        if old.deleted:
            return _revived(old, replace(new, frozen=()), before.freezes, now_ms)
        if new == replace(old, updated_ms=now_ms, declared_seen_ms=new.declared_seen_ms) and old.error is None:
            return _seen(old, new.declared_seen_ms)
        new = replace(
            new,
            revision=old.revision + 1,
            version=old.version + 1,
            error=None,
            plan_attempts=0,
            frozen=refrozen(new, before.freezes, now_ms),
        )
        if new.trigger == old.trigger and old.error is None and not _may_go_on(old, new):
            return Effects(schedule=new, answer=new)
        new = _begun_anew(old, new, now_ms)
        return Effects(schedule=new, decisions=_undecided(old, _why_undecided(old, "replaced"), now_ms), answer=new)

    return edit


def go_on(definition: Definition[Trigger], last_ms: int) -> Edit:
    """Put it as one that another scheduler had, and that was last due there then: what came after that is undecided.

    Only where there was none of the name: what is decided here stays decided.
    """

    def edit(before: Before, now_ms: int) -> Effects:
        done = put(definition)(before, now_ms)
        if before.schedule is not None or done.schedule is None or last_ms >= now_ms:
            return done
        new = replace(done.schedule, settled_ms=last_ms, next_run_ms=_next_after(done.schedule, last_ms))
        return with_fields(done, schedule=new, answer=new)

    return edit


def update(change: Callable[[Schedule], Definition[Trigger]]) -> Edit:
    """Replace the definition by one that is made from the schedule as it is."""

    def edit(before: Before, now_ms: int) -> Effects:
        return put(change(_existing(before)))(before, now_ms)

    return edit


def repin(pins: Mapping[Use, Pin]) -> Edit:
    """Put it anew with these revisions of what its trigger names: only the future is planned anew.

    Nobody declares it by that, and what cannot be read is left as it is.
    """

    def edit(before: Before, now_ms: int) -> Effects:
        old = before.schedule
        if old is None or old.deleted:
            return Effects(answer=old)
        try:
            said = definition_of(old)
            trigger = said.trigger.with_pins(pins)
            if encode(trigger) == old.trigger:
                return Effects(answer=old)
            effects = put(replace(said, trigger=trigger))(before, now_ms)
        except TriggerError:
            return Effects(answer=old)
        if effects.schedule is None:
            return effects
        new = replace(effects.schedule, declared_seen_ms=old.declared_seen_ms)
        if _keeps_its_moment(old, new, now_ms):
            kept = {name: getattr(old, name) for name in ("settled_ms", "next_run_ms", "rescheduled")}
            return Effects(schedule=replace(new, **kept), answer=replace(new, **kept))
        return with_fields(effects, schedule=new, answer=new)

    return edit


_MOST_COMPARED = 10_000


def _keeps_its_moment(old: Schedule, new: Schedule, now_ms: int) -> bool:
    """Whether what is undecided stays so: an operator has moved it, or what is due is due by both triggers."""
    if old.next_run_ms is None or old.error is not None or not old.enabled:
        return False
    if old.next_run_ms > now_ms or old.rescheduled:
        return old.rescheduled
    due = [[*islice(_trigger(each).between_ms(old.settled_ms + 1, now_ms + 1), _MOST_COMPARED)] for each in (old, new)]
    return due[0] == due[1] and 0 < len(due[0]) < _MOST_COMPARED


def expecting(revision: int | None, edit: Edit) -> Edit:
    """The edit, if the schedule is of this revision: 0 means that there is none, None that it does not matter."""
    if revision is None:
        return edit

    def checked(before: Before, now_ms: int) -> Effects:
        old = before.schedule
        actual = 0 if old is None or old.deleted else old.revision
        if actual != revision:
            raise StaleRevision(before.name, revision, actual)
        return edit(before, now_ms)

    return checked


def touch_declared(declared_hash: str | None) -> Edit:
    """A live node still declares it so: no change of the schedule, only a sign of life."""

    def edit(before: Before, now_ms: int) -> Effects:
        old = before.schedule
        if old is None or old.deleted or old.declared_hash != declared_hash:
            return Effects(answer=old)
        return _seen(old, now_ms)

    return edit


def _seen(old: Schedule, seen_ms: int | None) -> Effects:
    """It is as somebody means it: no new revision, at most a sign of life."""
    if old.declared_seen_ms == seen_ms:
        return Effects(answer=old)
    return Effects(schedule=replace(old, declared_seen_ms=seen_ms, version=old.version + 1), answer=old)


def pause(note: str | None) -> Edit:
    """From the commit on, no tick run of the schedule starts; waiting ones that never began are skipped.

    If the last run of a self-removing schedule is skipped, nothing is left of it to pause: it is removed.
    """

    def edit(before: Before, now_ms: int) -> Effects:
        old = _existing(before)
        held = [run for run in before.live if run.state is State.WAITING and run.cause == "tick" and not run.exempt]
        ended = tuple(skipped(run, "paused", now_ms) for run in held if run.never_begun)
        waits_for = for_resume(old.id)
        blocked = tuple(replace(run, waits_for=waits_for) for run in held if not run.never_begun and not run.blocked)
        running = sum(run.state is State.RUNNING for run in before.live)
        gone = old.auto_remove and old.next_run_ms is None and bool(ended) and len(ended) == len(before.live)
        new = replace(old, enabled=False, paused_note=note, deleted=gone, version=old.version + 1, updated_ms=now_ms)
        done = AffectedRuns(len(ended), running)
        return Effects(schedule=new, runs=blocked, ended=ended, answer=(new, done), noted=asdict(done))

    return edit


def resume() -> Edit:
    """Ticks inside the pause become one decision; what had begun before it may go on."""

    def edit(before: Before, now_ms: int) -> Effects:
        old = _existing(before)
        if old.enabled:
            return Effects(answer=old)
        decisions = _undecided(old, _why_undecided(old, "paused"), now_ms)
        settled_ms = max(now_ms, old.settled_ms)
        ahead = old.next_run_ms is not None and old.next_run_ms > settled_ms
        new = replace(
            old,
            enabled=True,
            paused_note=None,
            settled_ms=settled_ms,
            next_run_ms=old.next_run_ms if ahead else _next_after(old, settled_ms),
            rescheduled=old.rescheduled and ahead,
            skips=old.skips if ahead else 0,
            version=old.version + 1,
            updated_ms=now_ms,
        )
        waits_for = for_resume(old.id)
        freed = tuple(replace(run, waits_for=None) for run in before.live if run.waits_for == waits_for)
        return Effects(schedule=new, runs=freed, decisions=decisions, answer=new)

    return edit


def reschedule(at_ms: int) -> Edit:
    """Run next at this moment, which must lie ahead; ticks that it jumps over become decisions when they are past."""

    def edit(before: Before, now_ms: int) -> Effects:
        old = _existing(before)
        settled_ms = max(now_ms, old.settled_ms)
        if at_ms <= settled_ms:
            raise Conflict(f"{iso(at_ms)} is not ahead of {iso(settled_ms)} in the store; to run it now, use trigger")
        if _had_all_runs(old):
            raise Conflict(
                f"{old.name} has had all of its {old.max_runs} runs; raise max_runs, or use trigger for one more"
            )
        decisions = _undecided(old, "rescheduled", now_ms) if old.enabled else ()
        new = replace(
            old,
            next_run_ms=at_ms,
            rescheduled=True,
            skips=0,
            settled_ms=settled_ms if old.enabled else old.settled_ms,
            version=old.version + 1,
            updated_ms=now_ms,
        )
        return Effects(schedule=new, decisions=decisions, answer=new)

    return edit


def skip_next(count: int) -> Edit:
    """Jump over so many of the coming ticks; 0 undoes it. They become decisions when they are past.

    Counted from the first undecided one, so that a repeat changes nothing: one that is due and not planned yet counts,
    unless it is late.
    """

    def edit(before: Before, now_ms: int) -> Effects:
        old = _existing(before)
        if old.rescheduled and not old.skips:
            raise Conflict(
                f"{old.name} was moved to {iso(old.next_run_ms or 0)}, which is no tick to skip; move it again instead"
            )
        if count == 0 and not old.skips:
            return Effects(answer=old)
        first_ms = _next_after(old, old.settled_ms)
        late = first_ms is not None and first_ms < now_ms - old.policy.grace_ms
        new = replace(
            old,
            next_run_ms=_after_ticks(old, max(now_ms, old.settled_ms) if late else old.settled_ms, count),
            rescheduled=count > 0,
            skips=count,
            settled_ms=now_ms if late and old.enabled else old.settled_ms,
            version=old.version + 1,
            updated_ms=now_ms,
        )
        decisions = _undecided(old, "skipped", now_ms) if late and old.enabled else ()
        return Effects(schedule=new, decisions=decisions, answer=new)

    return edit


def _after_ticks(schedule: Schedule, after_ms: int, count: int) -> int | None:
    """The tick after so many; `Conflict` where there are not as many."""
    trigger, moment = _trigger(schedule), _next_after(schedule, after_ms)
    for number in range(count):
        following = None if moment is None else trigger.next_ms(moment)
        if following is None:
            left = counted(number + (moment is not None), "tick")
            raise Conflict(f"{schedule.name} has only {left} left; to leave out all of them, pause or delete it")
        moment = following
    return moment


def refreeze() -> Edit:
    """Give the schedule the windows that the freezes say; where it is frozen now, ticks that wait are skipped."""

    def edit(before: Before, now_ms: int) -> Effects:
        old = before.schedule
        if old is None or old.deleted:
            return Effects()
        frozen = refrozen(old, before.freezes, now_ms)
        if frozen == old.frozen:
            return Effects(answer=old)
        new = replace(old, frozen=frozen, version=old.version + 1)
        waiting = [run for run in before.live if run.is_waiting_tick] if new.frozen_at(now_ms) else []
        ended = tuple(skipped(run, "frozen", now_ms) for run in waiting)
        gone = old.auto_remove and old.next_run_ms is None and bool(ended) and len(ended) == len(before.live)
        return Effects(schedule=replace(new, deleted=gone), ended=ended, answer=new)

    return edit


def delete() -> Edit:
    """Leave a tombstone; waiting runs are skipped, running ones may end but are not tried again."""

    def edit(before: Before, now_ms: int) -> Effects:
        old = before.schedule
        if old is None or old.deleted:
            return Effects(answer=None)
        ended = tuple(skipped(run, "deleted", now_ms) for run in before.live if run.state is State.WAITING)
        running = sum(run.state is State.RUNNING for run in before.live)
        new = replace(
            old,
            deleted=True,
            next_run_ms=None,
            settled_ms=max(now_ms, old.settled_ms),
            version=old.version + 1,
            updated_ms=now_ms,
        )
        decisions = _undecided(old, _why_undecided(old, "deleted"), now_ms)
        done = AffectedRuns(len(ended), running)
        return Effects(schedule=new, ended=ended, decisions=decisions, answer=done, noted=asdict(done))

    return edit


def look() -> Edit:
    """Change nothing; the answer is what is there, a tombstone too."""

    def edit(before: Before, now_ms: int) -> Effects:
        return Effects(answer=before.schedule)

    return edit


def manual_run(schedule: Schedule, run_id: str, key: str | None, args: Json | None, now_ms: int) -> Run:
    """A run of the schedule now, by hand: a pause does not hold it, and it has a tick of its own."""
    return Run(
        id=run_id,
        task=schedule.task,
        cause="manual",
        scheduled_ms=now_ms,
        due_ms=now_ms,
        args=schedule.args if args is None else args,
        policy=schedule.policy,
        schedule_id=schedule.id,
        schedule=schedule.name,
        revision=schedule.revision,
        graph=schedule.graph,
        exempt=True,
        key=key,
    )


def definition_of(schedule: Schedule) -> Definition[Trigger]:
    """The definition that the schedule has now."""
    said = {name: getattr(schedule, name) for name in DEFINITION}
    return Definition(**{**said, "trigger": decode(schedule.trigger)})


def _created(before: Before, definition: Definition[Trigger], now_ms: int) -> Effects:
    blank = Schedule(new_id(now_ms), before.name, definition.task, {}, created_ms=now_ms)
    new = _defined(blank, definition, now_ms)
    settled_ms = _begins_after(_trigger(new), now_ms)
    frozen = refrozen(new, before.freezes, now_ms)
    new = replace(new, settled_ms=settled_ms, next_run_ms=_next_after(new, settled_ms), frozen=frozen)
    return Effects(schedule=new, answer=new)


def _revived(old: Schedule, new: Schedule, freezes: Sequence[Freeze], now_ms: int) -> Effects:
    """A tombstone under a definition: as if new, but what was decided before the deletion stays decided."""
    new = replace(
        new,
        deleted=False,
        enabled=True,
        paused_note=None,
        error=None,
        planned_runs=0,
        plan_attempts=0,
        frozen=refrozen(new, freezes, now_ms),
        revision=old.revision + 1,
        version=old.version + 1,
    )
    new = _begun_anew(old, new, now_ms)
    return Effects(schedule=new, answer=new)


def _begins_after(trigger: Trigger, now_ms: int) -> int:
    """A single moment that is just past is still meant: "at now" is how one-time work is put."""
    return min(now_ms, trigger.at_ms - 1) if isinstance(trigger, At) else now_ms


def _begun_anew(old: Schedule, new: Schedule, now_ms: int) -> Schedule:
    """The schedule under a trigger that counts from now on; what was decided before stays decided.

    "At now" runs also where the store has decided up to a later moment: clocks differ by a little, and a deletion or a
    pause decides everything up to its own moment. It then runs at the first moment that is left.
    """
    settled_ms = max(now_ms, old.settled_ms)
    trigger = _trigger(new)
    if isinstance(trigger, At) and not _had_all_runs(new):
        if old.settled_ms < trigger.at_ms <= now_ms:
            return replace(new, settled_ms=trigger.at_ms - 1, next_run_ms=trigger.at_ms, rescheduled=False, skips=0)
        if now_ms - new.policy.grace_ms <= trigger.at_ms <= settled_ms:
            return replace(new, settled_ms=settled_ms, next_run_ms=settled_ms + 1, rescheduled=True, skips=0)
    after_ms = settled_ms if old.deleted else max(settled_ms, _goes_on_after(old, new, now_ms))
    return replace(new, settled_ms=settled_ms, next_run_ms=_next_after(new, after_ms), rescheduled=False, skips=0)


def _defined(old: Schedule, definition: Definition[Trigger], now_ms: int) -> Schedule:
    said = {name: getattr(definition, name) for name in DEFINITION}
    said |= {"trigger": encode(definition.trigger.with_key(old.name)), "args": dict(definition.args)}
    said["uses"] = tuple(sorted({str(use) for use in uses_of(definition.trigger)}))
    seen_ms = now_ms if definition.origin != "api" else None
    return replace(old, **said, declared_seen_ms=seen_ms, updated_ms=now_ms)


def _existing(before: Before) -> Schedule:
    if before.schedule is None or before.schedule.deleted:
        raise ScheduleNotFound(before.name)
    return before.schedule


def _undecided(schedule: Schedule, reason: Reason, now_ms: int) -> tuple[Decision, ...]:
    """The ticks after the watermark up to now, as one decision; none where there are none."""
    if schedule.next_run_ms is None and not _had_all_runs(schedule):
        return ()
    if schedule.next_run_ms is None:
        reason = "max_runs"
    whole = schedule.rescheduled or schedule.next_run_ms is None
    first_ms = schedule.settled_ms + 1 if whole else schedule.next_run_ms
    assert first_ms is not None
    if first_ms > now_ms:
        return ()
    try:
        trigger = _trigger(schedule)
        left_out = span(trigger, first_ms, now_ms, also_ms=schedule.next_run_ms)
        after_ms = None if left_out is None else trigger.prev_ms(left_out.first_ms)
    except TriggerError:  # nobody can say which ticks there were; it must still be possible to mend or delete it
        left_out, after_ms = Span(first_ms, now_ms, None), None
    if left_out is None:
        return ()
    return (
        Decision(
            id=new_id(now_ms),
            schedule_id=schedule.id,
            schedule=schedule.name,
            revision=schedule.revision,
            reason=reason,
            first_ms=left_out.first_ms,
            last_ms=left_out.last_ms,
            count=left_out.count,
            decided_ms=now_ms,
            after_ms=after_ms,
        ),
    )


def _why_undecided(old: Schedule, otherwise: Reason) -> Reason:
    """Why ticks up to now were not planned when somebody changes the schedule."""
    if old.error is not None:
        return "parked"
    return otherwise if old.enabled else "paused"


def _may_go_on(old: Schedule, new: Schedule) -> bool:
    """Whether it had come to its end, and may have more runs now."""
    return old.next_run_ms is None and new.max_runs != old.max_runs


def _goes_on_after(old: Schedule, new: Schedule, now_ms: int) -> int:
    try:
        return goes_on_after_ms(_trigger(old), _trigger(new), _last_tick(old), now_ms)
    except TriggerError:  # the old one cannot be read
        return now_ms


def _next_after(schedule: Schedule, after_ms: int) -> int | None:
    return None if _had_all_runs(schedule) else _trigger(schedule).next_ms(after_ms)


def _had_all_runs(schedule: Schedule) -> bool:
    return schedule.max_runs is not None and schedule.planned_runs >= schedule.max_runs


def _last_tick(schedule: Schedule) -> int | None:
    return _trigger(schedule).prev_ms(schedule.settled_ms + 1)


def _trigger(schedule: Schedule) -> Trigger:
    return decode(schedule.trigger).plain()
