"""A node that is stopped in the middle of planning holds locks: the server cuts it off, and the others go on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.cluster.cluster import TICKING, Cluster
from tests.patience import LONGEST_S

STOPS_WHILE_PLANNING = """
import signal, threading
from onthedot.stores.engine import planning
from onthedot.stores.sql.store import SqlStore
from onthedot.stores.sql.transaction import SqlTransaction

alive = planning.alive
stops = "STOPS" in os.environ
if app.url.startswith("postgresql"):
    SqlStore.plans_ahead = False  # that is one statement there, within which nobody can be stopped

def noting(lock):
    def locking(tx, *args):
        found = lock(tx, *args)
        tx.has_locked = bool(found[0] if isinstance(found, tuple) else found)
        return found
    return locking

SqlTransaction.unchanged = noting(SqlTransaction.unchanged)  # what was decided ahead
SqlTransaction.due_schedules = noting(SqlTransaction.due_schedules)

def stop_while_it_is_locked(tx, node_id):
    global stops
    if stops and getattr(tx, "has_locked", False):
        stops = False
        note("stops")
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # so that this thread goes no further
        note("wakes")
    return alive(tx, node_id)

planning.alive = stop_while_it_is_locked
"""


@pytest.mark.parametrize("url", ["postgresql_15", "mariadb"])
def test_a_planner_that_is_stopped_inside_its_transaction_is_cut_off_and_goes_on_when_it_wakes(
    url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    world = Cluster(tmp_path, request.getfixturevalue(url), TICKING + STOPS_WHILE_PLANNING)
    try:
        stopped = world.start(STOPS="yes")
        world.until(lambda: ["stops", str(stopped.pid)] in world.notes())
        other = world.start()
        world.until(lambda: len(_ticks(world, other.pid)) >= 2)  # nobody could, while the schedule is locked
        assert ["wakes", str(stopped.pid)] not in world.notes()
        stopped.send_signal(signal.SIGCONT)
        world.until(lambda: ["wakes", str(stopped.pid)] in world.notes())
        other.send_signal(signal.SIGTERM)
        assert other.wait(LONGEST_S) == 0
        world.until(lambda: len(_ticks(world, stopped.pid)) >= 2)
        stopped.send_signal(signal.SIGTERM)
        assert stopped.wait(LONGEST_S) == 0
        world.expect_every_tick_once("tick")
        ran = [(words[0], words[1]) for words in world.notes() if words[0].isdecimal()]
        assert len(ran) == len(set(ran)), "an attempt was made twice"
    finally:
        world.close()


def _ticks(world: Cluster, pid: int) -> list[str]:
    """What this process has run."""
    return [words[0] for words in world.notes() if words[0].isdecimal() and words[-1] == str(pid)]
