"""Freezes, and ticks that somebody skips."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory

_OUTAGE = "TestFreezes::test_after_an_outage_a_freeze_in_it_is_told_from_what_was_missed_and_never_caught_up"

FREEZES = (
    Sabotage(
        name="frozen-ticks-caught-up",
        rule="What a freeze left out is not caught up after it.",
        file="rules/plan.py",
        find="selection = select(trigger, first_open_ms, self.schedule.policy, self.now_ms)",
        replace="selection = select(self.trigger, first_open_ms, self.schedule.policy, self.now_ms)",
        tests=memory(_OUTAGE),
    ),
    Sabotage(
        name="late-ticks-run-in-a-freeze",
        rule="Inside a freeze nothing is started, whenever it was due.",
        file="rules/plan.py",
        find="        if frozen is not None:\n            self._leave_out_frozen",
        replace="        if False:\n            self._leave_out_frozen",
        tests=memory("TestFreezes::test_inside_a_freeze_nothing_starts_whenever_it_was_due"),
    ),
    Sabotage(
        name="waiting-ticks-start-in-a-freeze",
        rule="A tick that waits when a freeze begins is skipped.",
        file="rules/edits.py",
        find="if run.is_waiting_tick] if new.frozen_at(now_ms) else []",
        replace="if run.is_waiting_tick] if False else []",
        tests=memory("TestFreezes::test_ticks_that_wait_when_a_freeze_begins_are_skipped_with_its_name"),
    ),
    Sabotage(
        name="ahead-into-a-freeze",
        rule="What was decided ahead holds only until a freeze begins.",
        file="rules/ahead.py",
        find="    moments += [each.start_ms for each in schedule.frozen if each.start_ms > tick_ms]\n",
        replace="",
        tests=("tests/properties/test_ahead.py",),
    ),
    Sabotage(
        name="thaw-catches-up",
        rule="A window that is taken away while it lasts ends now, and is still there for ticks that are undecided.",
        file="rules/freezing.py",
        find="return tuple(sorted({*new, *kept}",
        replace="return tuple(sorted({*new}",
        tests=memory("TestFreezes::test_a_thaw_ends_a_freeze_at_once_and_nothing_in_it_is_caught_up"),
    ),
    Sabotage(
        name="put-forgets-freezes",
        rule="A schedule that is put later has the freezes that concern it.",
        file="stores/engine/changing.py",
        find="freezes = tuple(tx.freezes())",
        replace="freezes = ()",
        tests=memory("TestFreezes::test_a_schedule_that_is_put_later_has_the_freezes_that_concern_it"),
    ),
    Sabotage(
        name="walk-begins-anew",
        rule="A walk that stopped is gone on with where it was.",
        file="stores/engine/freezing.py",
        find="tx.save_freeze(replace(now, through=max(now.through, page[-1].name)))",
        replace='tx.save_freeze(replace(now, through="", walks=now.walks + 1))',
        tests=memory("TestFreezes::test_a_walk_that_stopped_in_the_middle_is_gone_on_with"),
    ),
    Sabotage(
        name="one-walk-only",
        rule="A minute later a second walk finds what was put meanwhile by who did not know of the freeze.",
        file="model/freeze.py",
        find="return self.walks == 1 and now_ms >= self.walked_ms + WALK_AGAIN_MS",
        replace="return False",
        tests=memory("TestFreezes::test_a_put_that_began_before_the_freeze_is_found_by_a_second_walk"),
    ),
)

SKIPS = (
    Sabotage(
        name="skip-adds-up",
        rule="A repeated skip skips no more.",
        file="rules/edits.py",
        find="first_ms = _next_after(old, old.settled_ms)",
        replace="first_ms = old.next_run_ms\n        old = replace(old, settled_ms=(first_ms or 1) - 1)",
        tests=memory("TestSkipping::test_a_repeat_skips_no_more_and_nought_undoes_it"),
    ),
    Sabotage(
        name="skipped-told-as-moved",
        rule="Ticks that were skipped are told as skipped.",
        file="rules/plan.py",
        find='why: Reason = "skipped" if schedule.skips else "rescheduled"',
        replace='why: Reason = "rescheduled"',
        tests=memory("TestSkipping::test_the_next_ticks_are_jumped_over_and_told_as_skipped"),
    ),
)
