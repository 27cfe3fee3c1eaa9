from unittest import skipUnless

from django.contrib.auth.models import User
from django.db import IntegrityError
from django.test import TestCase

import django
from onthedot.django import app
from onthedot.testing import inline
from shop.models import Order


class Orders(TestCase):
    def test_an_order_gets_its_invoice(self) -> None:
        with inline(app):
            self.client.post("/orders/7")
        self.assertIsNotNone(Order.objects.get(number=7).invoiced_at)

    def test_an_order_that_is_refused_has_no_run(self) -> None:
        self.client.post("/orders/7")
        with self.assertRaises(IntegrityError):
            self.client.post("/orders/7")
        self.assertEqual(len(app.runs.list()), 1)

    @skipUnless(django.VERSION >= (6,), "Django has tasks from 6.0 on")
    def test_the_nightly_task_shows_in_the_admin(self) -> None:
        app.sync()
        self.client.force_login(User.objects.create_superuser("ada"))
        page = self.client.get("/admin/onthedot/schedule/nightly_report/")
        self.assertContains(page, "at 03:00 every day")
