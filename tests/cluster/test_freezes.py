"""A process is killed in the midst of freezing two thousand schedules: the next one that looks goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.patience import LONGEST_S

from onthedot import every
from onthedot.model.change import Author
from onthedot.rules import edits
from onthedot.stores.base import Store
from onthedot.stores.open import open_store

BY = Author("test", "test", "put")
MANY = 2000

FREEZE = """
import os, signal, sys
from onthedot.model.freeze import Freeze
from onthedot.model.change import Author
from onthedot.stores.engine import freezing
from onthedot.stores.open import open_store

store = open_store(sys.argv[1], create=False)
now_ms = store.now_ms()
store.put_freeze(Freeze("xmas", now_ms - 1000, now_ms + 3_600_000, tag="prod"), Author("ann", "test", "freeze"))
assert store.carry_out_freezes()
walked = freezing.walked

def killed(*args):
    walked(*args)
    os.kill(os.getpid(), signal.SIGKILL)  # its transaction is open: what it noted is lost, what it froze is not

freezing.walked = killed
store.carry_out_freezes()
"""


def _frozen(store: Store) -> int:
    return sum(bool(each.frozen) for each in store.schedules(limit=2 * MANY))


def test_a_freeze_whose_process_was_killed_is_carried_out_by_the_next(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    store = open_store(url, create=True)
    names = [f"s{number:04}" for number in range(MANY)]
    definition = edits.Definition("job", every("1h"), tags=("prod",))
    for first in range(0, MANY, 500):
        store.change(names[first : first + 500], edits.put(definition), BY)
    done = subprocess.run([sys.executable, "-c", FREEZE, url], check=False, capture_output=True, timeout=LONGEST_S)
    assert done.returncode == -9, done.stderr
    assert _frozen(store) == 1000
    (freeze,) = store.freezes()
    assert freeze.through == names[499]
    while store.carry_out_freezes():
        pass
    assert _frozen(store) == MANY
    store.close()
