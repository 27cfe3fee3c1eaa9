"""A node in the process of the tests, on the same database as Django: it has connections of its own."""

from zoneinfo import ZoneInfo

from django.db import connection, transaction
from django.test import TransactionTestCase

from onthedot.django import app
from shop.jobs import count_orders, order_and_enqueue, orders_on_a_dead_connection, send_invoice
from shop.models import Order


class Nodes(TransactionTestCase):
    def ended(self, run):
        return app.runs.wait(run.id, timeout="60s")

    def test_runs_use_the_models(self):
        with app.running():
            with transaction.atomic():
                order = Order.objects.create(item="a book")
                run = app.enqueue(send_invoice, args={"order": order.pk})
            self.assertEqual(self.ended(run).result, 1)
            self.assertEqual(self.ended(app.enqueue(count_orders)).result, 1)
        order.refresh_from_db()
        self.assertIsNotNone(order.invoiced_at)

    def test_a_task_has_a_transaction_of_its_own(self):
        with app.running():
            self.assertEqual(self.ended(app.enqueue(order_and_enqueue, args={"fails": True})).state, "failed")
            self.assertEqual(Order.objects.count(), 0)
            done = self.ended(app.enqueue(order_and_enqueue, args={"fails": False}))
            self.assertEqual(done.state, "succeeded", done.error)
            run = app.runs.list(task="send_invoice").items[0]
            self.assertEqual(self.ended(run).result, 1)

    def test_a_connection_that_died_in_one_run_does_not_fail_the_next(self):
        if connection.vendor != "postgresql":
            return  # whose driver knows that it was closed
        with app.running():
            for _ in range(3):
                self.assertEqual(self.ended(app.enqueue(orders_on_a_dead_connection)).state, "succeeded")

    def test_schedules_of_its_modules_are_declared(self):
        with app.running():
            coming = app.schedules.next("at night", 1)[0]
        self.assertEqual(coming.astimezone(ZoneInfo("Europe/Berlin")).hour, 3)
