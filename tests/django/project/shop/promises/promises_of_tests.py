"""The tests of a user, who knows nothing of all this."""

from django.db import transaction
from django.test import TestCase

from onthedot.django import app
from onthedot.testing import inline
from shop.jobs import send_invoice
from shop.models import Order


class Tests(TestCase):
    databases = {"default", "archive"}

    def test_what_is_enqueued_can_be_seen_inside_the_transaction_of_a_test(self):
        run = app.enqueue(send_invoice, args={"order": 1})
        self.assertEqual([each.id for each in app.runs.list()], [run.id])

    def test_nothing_is_left_for_the_next_test(self):
        self.test_what_is_enqueued_can_be_seen_inside_the_transaction_of_a_test()

    def test_inline_does_it_at_once_in_the_tests_own_transaction(self):
        order = Order.objects.create(item="a book")
        with inline(app), transaction.atomic():
            run = app.enqueue(send_invoice, args={"order": order.pk})
        self.assertEqual((run.state, run.result), ("succeeded", 1))
        order.refresh_from_db()
        self.assertIsNotNone(order.invoiced_at)

    def test_schedules_can_be_steered(self):
        app.sync()
        app.schedules.pause("at night", note="moving")
        self.assertFalse(app.schedules.get("at night").enabled)
