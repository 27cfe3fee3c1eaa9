"""Celery: each tick is sent once, or again under its own id, and one of two begins."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage

_BEATS = "tests/celery/test_beats.py::"
_SENDING = "tests/celery/test_sending.py::"

CELERY = (
    Sabotage(
        name="celery-id-of-its-own",
        rule="What a run sends has one id, however often it is sent.",
        file="celery/sending.py",
        find="task_id = task_id_of(context.run_id)",
        replace='task_id = task_id_of(f"{context.run_id} {context.attempt}")',
        tests=(f"{_BEATS}test_every_tick_is_sent_once_or_again_under_its_own_id_whatever_dies",),
    ),
    Sabotage(
        name="celery-error-swallowed",
        rule="An error of the broker fails the run.",
        file="celery/sending.py",
        find='            raise WorkFailed(f"{broker_of(self._app)} did not take {task}: {said}") from None',
        replace="            return {}",
        tests=(f"{_SENDING}test_a_broker_that_is_away_fails_the_run_in_one_line",),
    ),
    Sabotage(
        name="celery-twice-begun",
        rule="Of a message that was sent twice one begins.",
        file="celery/once.py",
        find="            raise Ignore\n        super()",
        replace="            pass\n        super()",
        tests=(f"{_BEATS}test_of_a_message_that_was_sent_twice_the_first_to_begin_is_done",),
    ),
    Sabotage(
        name="celery-redelivery-dropped",
        rule="What the broker delivers again is done: it is the one that began.",
        file="celery/once.py",
        find='self._held(f"once {run} {task_id}", sent) != sent',
        replace='self._held(f"once {run} {task_id}", f"{sent} {id(self.request)}") != sent',
        tests=(f"{_BEATS}test_of_a_message_that_was_sent_twice_the_first_to_begin_is_done",),
    ),
    Sabotage(
        name="celery-lazy-given-up",
        rule="What this beat cannot ask for another may: no tick is given up in the midst of a deploy.",
        file="celery/sending.py",
        find='            raise WorkFailed(f"beat_schedule',
        replace='            raise GiveUp(f"beat_schedule',
        tests=(f"{_SENDING}test_what_another_beat_has_to_be_asked_for_is_tried_again_until_it_comes",),
    ),
    Sabotage(
        name="old-code-undoes-new",
        rule="Old code does not undo what newer code declares and a live node means.",
        file="app/sync.py",
        find="    if held.declared_seen_ms is None or _is_silent(held, store.now_ms()):\n        return False\n",
        replace="    return False\n",
        tests=(f"{_BEATS}test_beats_with_different_code_keep_to_the_newest_while_one_of_them_has_it",),
    ),
    Sabotage(
        name="a-deploy-taken-back-stays",
        rule="What no live node declares gives way to what one does.",
        file="app/sync.py",
        find="and _is_silent(each, now_ms)",
        replace="and False",
        tests=("tests/unit/app/test_sync.py",),
    ),
    Sabotage(
        name="a-live-declaration-gives-way",
        rule="What a live node declares gives way to no other.",
        file="app/sync.py",
        find="    return seen_ms is not None and now_ms - seen_ms > 3 * DECLARE_MS",
        replace="    return seen_ms is not None",
        tests=("tests/unit/app/test_sync.py",),
    ),
)
