"""Identity of a run, and the watermark: one run per tick, ever, and no tick without an answer."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory, unit

IDENTITY = (
    Sabotage(
        name="repeat-not-recognised",
        rule="A repeat of a call whose answer was lost finds its id and returns that run.",
        file="stores/engine/enqueuing.py",
        find="added = _add(tx, [run for run in fresh if run.id not in known], schedules, by)",
        replace="added = _add(tx, fresh, schedules, by)",
        tests=memory("TestKeys::test_a_repeated_call_finds_its_own_run"),
    ),
    Sabotage(
        name="key-not-looked-for",
        rule="A known key is answered with the run that has it.",
        file="stores/engine/enqueuing.py",
        find="id_of = {key: known.run_id for key, known in keys.items()}",
        replace="id_of: dict[str, str] = {}",
        tests=memory("TestKeys::test_a_known_key_is_answered_with_the_run_that_has_it"),
    ),
    Sabotage(
        name="key-ends-with-its-run",
        rule="Keys outlive the run (30 days after the end).",
        file="stores/engine/settling.py",
        find='return None if key.startswith("t:") else now_ms + _KEY_MS',
        replace='return None if key.startswith("t:") else now_ms',
        tests=memory("TestKeys::test_a_key_outlives_the_history_of_its_run"),
    ),
    Sabotage(
        name="tick-key-expires",
        rule="The key of a tick lasts as long as its schedule.",
        file="stores/engine/settling.py",
        find='return None if key.startswith("t:") else now_ms + _KEY_MS',
        replace="return now_ms + _KEY_MS",
        tests=memory("TestKeys::test_a_key_of_a_tick_lasts_as_long_as_its_schedule"),
    ),
    Sabotage(
        name="retry-lets-its-key-expire",
        rule="A key does not expire while its run lives, also after an operator's retry.",
        file="stores/engine/operating.py",
        find="tx.save_keys([Key(key.key, run.id) for key in _keys_of(tx, run)])",
        replace="pass",
        tests=memory("TestKeys::test_a_key_lives_on_with_a_run_that_is_retried"),
    ),
    Sabotage(
        name="tasks-share-keys",
        rule="Enqueue keys of different tasks never collide.",
        file="app/app.py",
        find="{task.replace('%', '%25').replace('/', '%2F')}/{key}",
        replace="{task}/{key}",
        tests=unit("app/test_app.py::test_keys_of_different_tasks_never_collide"),
    ),
    Sabotage(
        name="due-is-the-tick",
        rule="`scheduled_at` (nominal) is not `due_at` (when to fire: jitter, back-off, delay).",
        file="rules/plan.py",
        find="due_ms=due_ms(self.trigger, tick, schedule.policy.jitter_ms, schedule.name)",
        replace="due_ms=tick",
        tests=memory("TestPlanning::test_jitter_delays_the_start_but_not_the_tick_and_stays_before_the_next"),
    ),
)

WATERMARK = (
    Sabotage(
        name="watermark-stays",
        rule="Every tick at or before `settled_through` is a run or in a decision: planning moves it.",
        file="rules/plan.py",
        find="            settled_ms=settled_ms,\n            rescheduled=False,\n            planned_runs",
        replace="            settled_ms=before.settled_ms,\n            rescheduled=False,\n            planned_runs",
        tests=memory("TestPlanning::test_planning_moves_the_watermark_and_the_next_moment_together"),
    ),
    Sabotage(
        name="watermark-unseen",
        rule="A tick at or before the watermark is never decided again.",
        file="rules/plan.py",
        find="or first_ms > now_ms or first_ms <= schedule.settled_ms:",
        replace="or first_ms > now_ms:",
        tests=unit("rules/test_plan.py::test_a_tick_at_or_before_the_watermark_is_not_decided_again"),
    ),
    Sabotage(
        name="watermark-set-back",
        rule="The watermark only moves forward, whatever the store's clock does.",
        file="rules/edits.py",
        find="    settled_ms = max(now_ms, old.settled_ms)\n    trigger = _trigger(new)",
        replace="    settled_ms = now_ms\n    trigger = _trigger(new)",
        tests=memory("TestPutting::test_a_clock_that_was_set_back_does_not_move_the_watermark_back"),
    ),
    Sabotage(
        name="tombstone-without-watermark",
        rule="Deleting leaves a tombstone (id, watermark, revision, fence) that a later put of the name revives.",
        file="rules/edits.py",
        find="            next_run_ms=None,\n            settled_ms=max(now_ms, old.settled_ms),",
        replace="            next_run_ms=None,\n            settled_ms=0,",
        tests=memory("TestDeleting::test_no_tick_comes_back_when_a_schedule_is_deleted_and_put_again"),
    ),
    Sabotage(
        name="tombstone-without-fence",
        rule="A tombstone keeps the fence, which grows with every start of the schedule.",
        file="rules/edits.py",
        find="        planned_runs=0,\n        plan_attempts=0,",
        replace="        planned_runs=0,\n        fence=0,\n        plan_attempts=0,",
        tests=memory(
            "TestDeleting::test_a_deleted_schedule_leaves_a_tombstone_that_keeps_identity_watermark_and_fence"
        ),
    ),
    Sabotage(
        name="reschedule-settles-the-future",
        rule="The watermark and decisions never go beyond the store's time: a reschedule to X records up to now.",
        file="rules/edits.py",
        find="settled_ms=settled_ms if old.enabled else old.settled_ms,",
        replace="settled_ms=at_ms - 1,",
        tests=memory("TestRescheduling"),
    ),
    Sabotage(
        name="reschedule-to-the-past",
        rule="`reschedule` to a past moment is refused.",
        file="rules/edits.py",
        find="if at_ms <= settled_ms:",
        replace="if at_ms <= 0:",
        tests=memory("TestRescheduling::test_a_moment_that_is_not_ahead_is_refused"),
    ),
    Sabotage(
        name="reschedule-hides-what-it-jumps",
        rule="After a reschedule to X, the plan at X records the ticks that it jumped over.",
        file="rules/plan.py",
        find="if schedule.rescheduled:",
        replace="if False:",
        tests=memory(
            "TestRescheduling::test_a_rescheduled_schedule_runs_at_that_moment_and_then_by_its_trigger"
        ),
    ),
    Sabotage(
        name="put-hides-what-it-replaces",
        rule="What an edit takes away up to the store's time becomes a decision.",
        file="rules/edits.py",
        find='decisions=_undecided(old, _why_undecided(old, "replaced"), now_ms), answer=new)',
        replace="answer=new)",
        tests=memory(
            "TestPutting::test_another_trigger_goes_on_after_now_and_accounts_for_what_it_replaced"
        ),
    ),
    Sabotage(
        name="resume-hides-the-pause",
        rule="Ticks inside a pause are `paused`, never misfires.",
        file="rules/edits.py",
        find='decisions = _undecided(old, _why_undecided(old, "paused"), now_ms)\n        settled_ms',
        replace="decisions = ()\n        settled_ms",
        tests=memory("TestPausing::test_ticks_inside_a_pause_are_paused_and_never_misfires"),
    ),
    Sabotage(
        name="resume-fires-the-past",
        rule="Resume sets `next_run_at` later than max(watermark, now).",
        file="rules/edits.py",
        find="ahead = old.next_run_ms is not None and old.next_run_ms > settled_ms",
        replace="ahead = old.next_run_ms is not None",
        tests=memory("TestPausing::test_ticks_inside_a_pause_are_paused_and_never_misfires"),
    ),
    Sabotage(
        name="zone-change-repeats-a-label",
        rule="After a change of zone, fixed-time triggers go on after the wall-clock label of the last tick.",
        file="rules/edits.py",
        find="after_ms = settled_ms if old.deleted else max(settled_ms, _goes_on_after(old, new, now_ms))",
        replace="after_ms = settled_ms",
        tests=unit("rules/test_edits.py::test_after_a_change_of_zone_no_label_of_the_wall_clock_comes_twice"),
    ),
    Sabotage(
        name="misfire-unrecorded",
        rule="No tick vanishes silently: what is not run is one range decision.",
        file="rules/plan.py",
        find='work.leave_out("misfire", *selection.missed, also_ms=first_ms)',
        replace="pass",
        tests=memory("TestMisfire::test_fire_once_runs_the_latest_and_records_the_rest_as_one_range"),
    ),
    Sabotage(
        name="overlap-unrecorded",
        rule="A tick for which there is neither room to run nor to wait is a decision.",
        file="rules/plan.py",
        find="        if self.crowded:\n            self._decided(",
        replace="        if False:\n            self._decided(",
        tests=memory("TestOverlapWhenPlanned::test_discard_records_a_tick_that_finds_another_running"),
    ),
    Sabotage(
        name="max-runs-unrecorded",
        rule="Ticks beyond `max_runs` have their decision.",
        file="rules/plan.py",
        find='self._decided("max_runs", left[0], left[-1], len(left))',
        replace="pass",
        tests=memory("TestEveryTickIsDecided::test_ticks_beyond_the_most_runs_are_a_decision"),
    ),
    Sabotage(
        name="max-runs-ignored",
        rule="`max_runs` counts planned tick runs: after the last there is no next moment.",
        file="rules/plan.py",
        find="return most is not None and self.schedule.planned_runs + len(self.runs) >= most",
        replace="return False",
        tests=memory("TestPlanning::test_a_schedule_ends_after_its_greatest_number_of_runs"),
    ),
    Sabotage(
        name="parked-ticks-unrecorded",
        rule="Ticks while a schedule is parked have their decision, with that reason.",
        file="rules/edits.py",
        find='    if old.error is not None:\n        return "parked"\n',
        replace="",
        tests=memory("TestEveryTickIsDecided::test_ticks_of_a_parked_schedule_are_a_decision_when_it_is_put_anew"),
    ),
    Sabotage(
        name="decisions-do-not-grow",
        rule="Consecutive decisions of one reason are one growing range.",
        file="stores/engine/settling.py",
        find="decision = (joined(before, new) if before is not None else None) or new",
        replace="decision = new",
        tests=memory(
            "TestEveryTickIsDecided::test_consecutive_decisions_for_one_reason_are_one_growing_range"
        ),
    ),
    Sabotage(
        name="planned-early",
        rule="Never early, by the store's clock: planning.",
        file="rules/plan.py",
        find="if first_ms is None or first_ms > now_ms or",
        replace="if first_ms is None or",
        tests=memory("TestLocalTicks::test_nothing_is_planned_early_or_for_another_revision_or_inside_a_pause"),
    ),
)
