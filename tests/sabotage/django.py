"""`onthedot.django`: what is enqueued inside `atomic` is a part of it, and Django's connection stays Django's."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage


def _promises(of: str, place: str = "sqlite") -> tuple[str, ...]:
    return (f"tests/sabotage/django_sites.py::test_they_hold[{of}-{place}]",)


TRANSACTIONS = (
    Sabotage(
        name="django-rolled-back-by-us",
        rule="Who asks the store inside a transaction of Django's does not undo it.",
        file="django/borrowed.py",
        find="    def do_rollback(self, dbapi_connection: Any) -> None: ...\n",
        replace="",
        tests=_promises("transactions"),
    ),
    Sabotage(
        name="django-closed-by-us",
        rule="Django's connection is open after we have asked by it.",
        file="django/borrowed.py",
        find="    def do_close(self, dbapi_connection: Any) -> None: ...\n",
        replace="",
        tests=_promises("transactions"),
    ),
    Sabotage(
        name="django-connection-set-up-anew",
        rule="Nothing is changed about Django's connection.",
        file="django/borrowed.py",
        find='REGEXP in the place of Django\'s."""\n        return None',
        replace='REGEXP in the place of Django\'s."""\n        return super().on_connect_url(url)',
        tests=_promises("transactions"),
    ),
    Sabotage(
        name="django-transaction-left-out",
        rule="A run that is enqueued inside a transaction of Django's is undone with it.",
        file="django/site_app.py",
        find="        return site.ready()\n",
        replace="        return self._open_for_node(create=create, upgrade=upgrade)\n",
        tests=_promises("transactions", "postgresql"),
    ),
    Sabotage(
        name="django-savepoint-committed",
        rule="A run that is enqueued inside a savepoint is undone with it.",
        file="django/store.py",
        find="            with transaction.atomic(using=self._alias):\n                yield\n            return\n",
        replace="            yield\n            connections[self._alias].connection.commit()\n            return\n",
        tests=_promises("transactions"),
    ),
    Sabotage(
        name="django-broken-and-used",
        rule="A transaction that Django holds for broken is not written in.",
        file="django/store.py",
        find="        theirs.validate_no_broken_transaction()\n",
        replace="",
        tests=_promises("transactions"),
    ),
    Sabotage(
        name="django-not-waited",
        rule="Where the store is another database, a run is there after the commit, and only then.",
        file="django/site_app.py",
        find="        if waits is None:\n",
        replace="        if waits is None or run:\n",
        tests=_promises("transactions"),
    ),
    Sabotage(
        name="django-another-id-after-the-commit",
        rule="The run that is given before the commit is the one that is kept after it.",
        file="django/site_app.py",
        find="partial(super()._enqueue, store, run, None)",
        replace='partial(super()._enqueue, store, __import__("dataclasses").replace(run, id=run.id[::-1]), None)',
        tests=_promises("transactions"),
    ),
)

CONNECTIONS = (
    Sabotage(
        name="django-test-cut-off",
        rule="A run inside a test's transaction leaves its connection open.",
        file="django/idle.py",
        find="        if not connection.in_atomic_block:\n",
        replace="        if connection:\n",
        tests=_promises("tests"),
    ),
    Sabotage(
        name="django-dead-connection-kept",
        rule="A connection that died in one run does not fail the next.",
        file="django/idle.py",
        find="            connection.close_if_unusable_or_obsolete()\n",
        replace="            pass\n",
        tests=_promises("nodes", "postgresql"),
    ),
    Sabotage(
        name="django-connections-outlive-their-node",
        rule="A node that stops closes what its threads have kept.",
        file="django/idle.py",
        find="                each.close()\n",
        replace="                pass\n",
        tests=_promises("nodes", "postgresql"),
    ),
    Sabotage(
        name="django-committed-by-a-savepoint",
        rule="Without autocommit SQLite commits nothing before the user does.",
        file="django/store.py",
        find='        connection.connection.execute("BEGIN IMMEDIATE")\n',
        replace="        pass\n",
        tests=_promises("transactions"),
    ),
    Sabotage(
        name="django-unknown-to-processes",
        rule="A process for tasks knows the models.",
        file="django/site_app.py",
        find="            in_children.append(django.setup)\n",
        replace="            pass\n",
        tests=("tests/django/test_commands.py::test_a_node_of_manage_py_runs_what_another_process_enqueues[5.2]",),
    ),
)

TASKS = (
    Sabotage(
        name="django-result-of-its-own-id",
        rule="The result of a task of Django's has the id of its run.",
        file="django/tasks.py",
        find="        id=run.id,\n",
        replace="        id=run.id[::-1],\n",
        tests=_promises("tasks", "django 6"),
    ),
    Sabotage(
        name="django-policy-of-a-task-lost",
        rule="A task's queue is the group of nodes that may run it.",
        file="django/tasks.py",
        find='            own["group"] = task.queue_name\n',
        replace="            pass\n",
        tests=_promises("tasks", "django 6"),
    ),
)
