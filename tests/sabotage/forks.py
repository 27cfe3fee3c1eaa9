"""A fork after `start()`: what is the parent's stays the parent's."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, unit

FORKS = (
    Sabotage(
        name="node-inherited",
        rule="A child of a process with a node has none, and may start its own.",
        file="app/app.py",
        find="        self._runner = self._leaving = self._watching = self._store = None\n",
        replace="",
        tests=("tests/cluster/test_forks.py::test_on_sqlite",),
    ),
    Sabotage(
        name="sqlite-open-across-a-fork",
        rule="No connection to SQLite is open while the process forks.",
        file="stores/sql/sqlite_forks.py",
        find="        pool.close_idle()\n",
        replace="        pass\n",
        tests=unit("stores/sql/test_store.py::test_a_store_that_was_opened_before_a_fork_works_on_both_sides"),
    ),
    Sabotage(
        name="sqlite-forked-and-used",
        rule="A child whose parent had SQLite open when it forked does not touch the file.",
        file="stores/sql/sqlite.py",
        find="    refuse_inherited(path)\n",
        replace="",
        tests=unit(
            "stores/sql/test_store.py::test_a_child_of_who_forks_inside_a_transaction_is_told_so_and_touches_nothing"
        ),
    ),
    Sabotage(
        name="child-ends-the-parents-processes",
        rule="Processes for tasks are the parent's: a child that ends lets them live.",
        file="execution/targets/process.py",
        find="            popen.returncode = 0\n",
        replace="            pass\n",
        tests=("tests/cluster/test_forks.py::test_on_sqlite",),
    ),
)
