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
)
