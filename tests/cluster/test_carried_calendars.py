"""A process is killed in the midst of carrying a new revision to two thousand schedules: a node goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.patience import LONGEST_S

from onthedot import App, calendar, cron, dates
from onthedot.app.schedules import Put
from onthedot.stores.base import Store
from onthedot.triggers.pinned import direct_pins

MANY = 2000

KILLED = """
import os, signal, sys
from onthedot import App, dates
from onthedot.stores.engine import Engine

change, batches = Engine.change, []

def killed(self, names, edit, by):
    if len(batches) == 2:
        os.kill(os.getpid(), signal.SIGKILL)  # between two batches
    batches.append(len(names))
    assert len(names) <= 500
    return change(self, names, edit, by)

Engine.change = killed
App(sys.argv[1]).calendars.put("de", dates("2027-12-24..2027-12-26"))
"""


def _behind(store: Store) -> int:
    schedules = [*store.users("calendar/de", limit=2 * MANY)]
    assert len(schedules) == MANY
    return sum(pin.rev < 2 for each in schedules for _, pin in direct_pins(each.trigger))


def test_a_revision_whose_process_was_killed_is_carried_on_by_a_node(tmp_path: Path) -> None:
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    app.task(name="job")(lambda: None)
    store = app.open_store(create=True)
    app.calendars.put("de", dates("2027-12-25"))
    trigger = cron("0 9 * * *") - calendar("de")
    app.schedules.put_many(Put(f"s{number:04}", "job", trigger) for number in range(MANY))
    done = subprocess.run([sys.executable, "-c", KILLED, app.url], check=False, capture_output=True, timeout=LONGEST_S)
    assert done.returncode == -9, done.stderr
    assert _behind(store) == MANY - 1000
    (new,) = store.values(new=True)
    assert new.rev == 2
    from onthedot.node.carrying import carry_new

    assert carry_new(store) == MANY - 1000
    assert _behind(store) == 0
    assert store.values(new=True) == []
    assert {each.next_run_ms for each in store.schedules(limit=MANY)} == {app.schedules.get("s0000").next_run_ms}
    app.close()
