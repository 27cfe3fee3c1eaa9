"""Tasks of Django's own, from 6.0 on, as runs; and schedules over them, on any backend."""

from datetime import timedelta
from unittest import skipUnless

from django.db import transaction
from django.test import TestCase, TransactionTestCase
from django.utils import timezone

import django
from onthedot.django import app

HAS_TASKS = django.VERSION >= (6,)

if HAS_TASKS:
    from django.tasks import TaskResultStatus, default_task_backend, task_backends
    from django.tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch
    from django.tasks.signals import task_enqueued, task_finished, task_started

    from shop import tasks


@skipUnless(HAS_TASKS, "Django has tasks from 6.0 on")
class OnNodes(TransactionTestCase):
    def done(self, result):
        app.runs.wait(str(result.id), timeout="60s")
        result.refresh()
        return result

    def test_tasks_run_and_say_what_came_of_it(self):
        heard = []
        for signal in (task_enqueued, task_started, task_finished):
            signal.connect(lambda signal, task_result, **_: heard.append(task_result.status), weak=False)
        with app.running():
            result = self.done(tasks.add.enqueue(1, c=5))
            self.assertEqual(result.status, TaskResultStatus.SUCCESSFUL)
            self.assertEqual((result.return_value, result.args, result.kwargs), (7, [1], {"c": 5}))
            self.assertEqual(heard, ["READY", "RUNNING", "SUCCESSFUL"])
            self.assertEqual((result.attempts, len(result.worker_ids)), (1, 1))
            self.assertLessEqual(result.enqueued_at, result.finished_at)
            self.assertEqual(self.done(tasks.count.enqueue()).return_value, 0)
            told = self.done(tasks.tells.enqueue("hello"))
            self.assertEqual(told.return_value, ["hello", 1, told.id, "RUNNING"])
            with self.assertRaises(TaskResultMismatch):
                tasks.add.get_result(told.id)

    def test_a_failure_keeps_its_class_and_its_traceback(self):
        with app.running():
            result = self.done(tasks.fails.enqueue())
        self.assertEqual(result.status, TaskResultStatus.FAILED)
        (error,) = result.errors
        self.assertIs(error.exception_class, tasks.OutOfStock)
        self.assertIn("in fails", error.traceback)

    def test_a_schedule_over_a_task_runs_it_or_hands_it_to_its_backend(self):
        with app.running():
            runs = {name: app.schedules.trigger(name) for name in ("nightly", "nightly_below")}
            ended = {name: app.runs.wait(run.id, timeout="60s") for name, run in runs.items()}
            self.assertEqual(
                {name: run.result for name, run in ended.items()}, {"nightly": 42, "nightly_below": "below"}
            )
            self.assertEqual(ended["nightly"].task, "shop.tasks.nightly")
            self.assertEqual(default_task_backend.get_result(ended["nightly"].id).return_value, 42)
            for name, n in (("nightly_elsewhere", 7), ("nightly_elsewhere_below", 8)):
                run = app.runs.wait(app.schedules.trigger(name).id, timeout="60s")
                self.assertEqual(run.state, "succeeded", run.error)
                self.assertEqual(run.result["backend"], "elsewhere")
                self.assertEqual(run.args, {"n": n})


@skipUnless(HAS_TASKS, "Django has tasks from 6.0 on")
class Enqueued(TestCase):
    def test_it_supports_everything(self):
        backend = task_backends["default"]
        found = {name: getattr(backend, name) for name in dir(backend)}
        self.assertEqual({value for name, value in found.items() if name.startswith("supports_")}, {True})

    def test_what_is_said_of_a_task_is_said_of_its_run(self):
        later = timezone.now() + timedelta(hours=1)
        run = app.runs.get(tasks.mail.using(run_after=later).enqueue().id)
        self.assertEqual((run.task, run.policy.group, run.policy.priority), ("shop.tasks.mail", "mail", 5))
        self.assertLess(abs(run.due_at - later), timedelta(milliseconds=2))
        result = tasks.mail.get_result(run.id)
        self.assertEqual((result.status, result.task.queue_name), (TaskResultStatus.READY, "mail"))

    def test_it_is_undone_with_its_transaction(self):
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            result = tasks.add.enqueue(1)
            self.assertEqual(tasks.add.get_result(result.id).status, TaskResultStatus.READY)
            raise ZeroDivisionError
        with self.assertRaises(TaskResultDoesNotExist):
            tasks.add.get_result(result.id)

    def test_what_is_not_there_or_no_task_does_not_exist(self):
        for name in ("nothing", app.enqueue("send_invoice", args={"order": 1}).id):
            with self.assertRaises(TaskResultDoesNotExist):
                default_task_backend.get_result(name)

    def test_what_is_no_json_is_refused_as_django_does(self):
        with self.assertRaises(TypeError):
            tasks.add.enqueue(object())

    def test_a_task_can_still_be_called_and_enqueued_elsewhere(self):
        self.assertEqual(tasks.nightly.call(1, 2), 3)
        self.assertEqual(tasks.nightly_below.call("x"), "x")
        self.assertEqual(tasks.add.using(backend="at_once").enqueue(1, 2).return_value, 3)
        self.assertEqual(task_backends["elsewhere"].results, [])
