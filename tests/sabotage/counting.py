"""Statistics: each end is counted once, not too early, and before it is forgotten."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory, sqlite

STATISTICS = (
    Sabotage(
        name="rolled-through-moved-by-both",
        rule="Of two who read the same ends one finds `rolled_through` moved, and writes nothing.",
        file="stores/sql/roll_up.py",
        find='.where(_rolled.name == _ENDS, _rolled.through_ms == bindparam("before_ms"))',
        replace='.where(_rolled.name == _ENDS, _rolled.through_ms + 0 * bindparam("before_ms") >= 0)',
        tests=sqlite("TestStatistics::test_who_comes_second_with_the_same_ends_counts_nothing"),
    ),
    Sabotage(
        name="old-runs-forgotten-uncounted",
        rule="Prune never passes `rolled_through`.",
        file="stores/prune.py",
        find="counted_ms = min(before_ms, rolled_through_ms)",
        replace="counted_ms = before_ms",
        tests=memory("TestStatistics::test_a_run_is_not_forgotten_before_it_is_counted"),
    ),
    Sabotage(
        name="surplus-runs-forgotten-uncounted",
        rule="Nor for runs that are too many.",
        file="stores/prune.py",
        find="rows.surplus_runs, keep.per_schedule, thorough=thorough, before_ms=rolled_through_ms",
        replace="rows.surplus_runs, keep.per_schedule, thorough=thorough, before_ms=1 << 62",
        tests=memory("TestStatistics::test_a_run_is_not_forgotten_before_it_is_counted"),
    ),
    Sabotage(
        name="counted-at-once",
        rule="An end is counted 60 seconds later, when all that ended before it can be seen.",
        file="stores/roll_up.py",
        find="page = _whole_moments(rows, before_ms, now_ms - ROLL_UP_AFTER_MS, most)",
        replace="page = _whole_moments(rows, before_ms, now_ms, most)",
        tests=memory("TestStatistics::test_an_end_is_not_counted_before_a_minute_has_passed"),
    ),
    Sabotage(
        name="half-a-moment-counted",
        rule="What ended at one moment is counted together: `rolled_through` is a moment.",
        file="stores/roll_up.py",
        find="    return _Page(rows.ends(through_ms - 1, through_ms, 0), through_ms, more=True)",
        replace="    return _Page(found, through_ms, more=True)",
        tests=memory("TestStatistics::test_what_ended_at_one_moment_is_counted_together_however_much_it_is"),
    ),
    Sabotage(
        name="hours-overwritten",
        rule="What is counted is added to what was counted of the same hour.",
        file="stores/roll_up.py",
        find="return new, [(before + each, handle) for each, (before, handle) in added]",
        replace="return new, [(each, handle) for each, (before, handle) in added]",
        tests=memory(
            "TestStatistics::test_each_end_is_counted_once_however_often_and_in_however_small_parts_that_is_done"
        ),
    ),
)
