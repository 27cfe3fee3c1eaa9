"""What is enqueued inside `atomic` is a part of it. The databases are real, and so are their commits."""

from django.db import connection, transaction
from django.db.transaction import TransactionManagementError
from django.test import TransactionTestCase

from onthedot.django import app
from onthedot.errors import Conflict
from shop.jobs import at_night, order_and_enqueue, send_invoice
from shop.models import Order


def runs() -> list:
    return [run.id for run in app.runs.list()]


class Undo(Exception):
    pass


class Transactions(TransactionTestCase):
    def setUp(self) -> None:
        with connection.cursor() as cursor:
            for table in ("onthedot_runs", "onthedot_history", "onthedot_keys"):
                cursor.execute(f"DELETE FROM {table}")

    def order(self, item="a book", **more):
        order = Order.objects.create(item=item)
        return app.enqueue(send_invoice, args={"order": order.pk}, **more)

    def test_a_rolled_back_transaction_leaves_neither_order_nor_run(self):
        with self.assertRaises(Undo), transaction.atomic():
            self.order()
            raise Undo
        self.assertEqual((Order.objects.count(), runs()), (0, []))

    def test_what_was_written_before_and_after_it_is_undone_too(self):
        with self.assertRaises(Undo), transaction.atomic():
            Order.objects.create(item="before")
            app.enqueue(send_invoice, args={"order": 1})
            app.runs.list()
            Order.objects.create(item="after")
            raise Undo
        self.assertEqual((Order.objects.count(), runs()), (0, []))

    def test_a_committed_transaction_leaves_both(self):
        with transaction.atomic():
            run = self.order()
            self.assertEqual(app.runs.get(run.id).state, "waiting")  # seen from inside
        self.assertEqual((Order.objects.count(), runs()), (1, [run.id]))

    def test_a_savepoint_that_is_undone_takes_its_run_with_it(self):
        with transaction.atomic():
            kept = self.order()
            with self.assertRaises(Undo), transaction.atomic():
                self.order()
                raise Undo
            also = self.order()
        self.assertEqual((Order.objects.count(), sorted(runs())), (2, sorted([kept.id, also.id])))

    def test_without_autocommit_it_is_there_when_the_user_commits(self):
        transaction.set_autocommit(False)
        try:
            self.order()
            self.assertEqual(len(runs()), 1)  # seen from inside
            transaction.rollback()
            app.enqueue(send_invoice, args={"order": 1})  # before any statement of the user's
            transaction.rollback()
            self.assertEqual((Order.objects.count(), runs()), (0, []))
            kept = self.order()
            transaction.commit()
            transaction.rollback()
            self.assertEqual((Order.objects.count(), runs()), (1, [kept.id]))
        finally:
            transaction.rollback()
            transaction.set_autocommit(True)

    def test_outside_of_a_transaction_it_is_there_at_once(self):
        run = self.order()
        self.assertEqual(runs(), [run.id])
        self.assertTrue(connection.get_autocommit())

    def test_a_key_that_is_known_gives_the_run_that_has_it(self):
        first = self.order(key="1")
        with transaction.atomic():
            self.assertEqual(self.order(key="1").id, first.id)
        with transaction.atomic():
            second = self.order(key="2")
            self.assertEqual(self.order(key="2").id, second.id)

    def test_a_refused_argument_leaves_the_transaction_as_it_was(self):
        with transaction.atomic():
            Order.objects.create(item="a book")
            with self.assertRaisesMessage(Exception, "has no parameter 'odrer'"):
                app.enqueue(send_invoice, args={"odrer": 1})
        self.assertEqual(Order.objects.count(), 1)

    def test_a_broken_transaction_says_so_in_djangos_words(self):
        for ask in (lambda: app.enqueue(send_invoice, args={"order": 1}), app.runs.list):
            with self.assertRaises(TransactionManagementError), transaction.atomic():
                transaction.set_rollback(True)
                ask()

    def test_steering_inside_a_transaction_is_undone_with_it(self):
        app.sync()
        with self.assertRaises(Undo), transaction.atomic():
            app.schedules.pause("at night")
            app.schedules.trigger("at night")
            self.assertFalse(app.schedules.get("at night").enabled)
            raise Undo
        self.assertTrue(app.schedules.get("at night").enabled)
        self.assertEqual(runs(), [])

    def test_the_connection_stays_djangos(self):
        """SQLAlchemy would set up another REGEXP on SQLite, and notice handlers on PostgreSQL."""
        with transaction.atomic():
            self.order(item="a book")
        self.assertEqual(Order.objects.filter(item__regex="^a b").count(), 1)
        self.assertEqual(Order.objects.filter(item__iregex="^A B").count(), 1)
        self.assertEqual(Order.objects.filter(pk__regex="^[0-9]+$").count(), 1)  # SQLAlchemy's takes texts only
        raw = connection.connection
        self.order()
        self.assertIs(connection.connection, raw)

    def test_a_transaction_on_another_database_is_waited_for(self):
        with self.assertRaises(Undo), transaction.atomic(using="archive"):
            app.enqueue(send_invoice, args={"order": 1})
            raise Undo
        self.assertEqual(runs(), [])
        with transaction.atomic(using="archive"):
            run = app.enqueue(send_invoice, args={"order": 1})
            self.assertEqual(runs(), [])
        self.assertEqual(runs(), [run.id])

    databases = {"default", "archive"}

    def test_a_connection_that_was_cut_off_is_made_anew(self):
        self.order()
        if connection.vendor == "sqlite":
            return  # there is nobody who could
        asked, kill = {
            "postgresql": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%s)"),
            "mysql": ("SELECT CONNECTION_ID()", "KILL %s"),
        }[connection.vendor]
        with connection.cursor() as cursor:
            cursor.execute(asked)
            (number,) = cursor.fetchone()
        other = connection.copy()
        with other.cursor() as cursor:
            cursor.execute(kill, [number])
        other.close()
        self.assertEqual(len(runs()), 1)
        self.assertEqual(self.order().state, "waiting")


class InAtomicByHand(TransactionTestCase):
    def test_a_clash_of_keys_is_told_and_the_rest_stands(self):
        """Two transactions at once under one key: the second sees the run of the first, or is told to try again."""
        from threading import Thread

        if connection.vendor == "sqlite":
            return  # one writer at a time
        found: list = []

        def other() -> None:
            try:
                with transaction.atomic():
                    found.append(app.enqueue(send_invoice, args={"order": 1}, key="both").id)
            except Conflict as error:
                found.append(error)
            finally:
                connection.close()

        with transaction.atomic():
            mine = app.enqueue(send_invoice, args={"order": 1}, key="both").id
            thread = Thread(target=other)
            thread.start()
        thread.join()
        self.assertEqual(found, [mine])


assert at_night, order_and_enqueue
