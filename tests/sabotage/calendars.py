"""Calendars and named triggers."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory

VALUES = (
    Sabotage(
        name="put-with-an-old-calendar",
        rule="A schedule is put with the last revision of what it names, which stays so until the commit.",
        file="stores/engine/changing.py",
        find="    check_pins(tx, befores, all_effects)\n",
        replace="",
        tests=memory("TestValues::test_no_schedule_is_put_with_another_revision_than_the_last"),
    ),
    Sabotage(
        name="used-calendar-deleted",
        rule="What is used cannot be deleted.",
        file="stores/engine/valuing.py",
        find="    if names:\n",
        replace="    if False:\n",
        tests=memory("TestValues::test_what_is_used_cannot_be_deleted_and_users_are_named"),
    ),
    Sabotage(
        name="revision-number-again",
        rule="After a deletion the numbers of revisions go on.",
        file="stores/engine/valuing.py",
        find="    rev = 1 if head is None else head.rev + 1\n",
        replace="    rev = 1 if head is None or not head.is_there else head.rev + 1\n",
        tests=memory("TestValues::test_what_was_deleted_is_gone_and_a_later_put_goes_on_with_the_next_number"),
    ),
    Sabotage(
        name="plans-without-calendar",
        rule="A planner reads what the triggers of due schedules name.",
        file="stores/engine/planning.py",
        find="    learn(tx, due)\n",
        replace="",
        tests=memory("TestCarrying::test_a_process_that_never_read_the_calendar_plans_by_it"),
    ),
    Sabotage(
        name="settled-at-once",
        rule="A revision stays new until no schedule goes by an earlier one.",
        file="stores/engine/valuing.py",
        find="    made = Value(use.kind, use.name, rev, content, digest, tx.now_ms)\n",
        replace="    made = Value(use.kind, use.name, rev, content, digest, tx.now_ms, ValueState.LATEST)\n",
        tests=memory("TestCarrying::test_whoever_dies_in_the_midst_of_it_is_followed_by_another"),
    ),
    Sabotage(
        name="triggers-not-carried",
        rule="A calendar is carried by way of named triggers.",
        file="node/carrying.py",
        find="        _carry_to_triggers(store, value, by)\n",
        replace="",
        tests=memory("TestCarrying::test_a_calendar_is_carried_by_way_of_named_triggers"),
    ),
    Sabotage(
        name="due-taken-away",
        rule="What is due by both revisions still runs.",
        file="rules/edits.py",
        find="        if _keeps_its_moment(old, new, now_ms):\n",
        replace="        if False:\n",
        tests=memory("TestCarrying::test_only_the_future_is_planned_anew_and_what_is_due_still_runs"),
    ),
)
