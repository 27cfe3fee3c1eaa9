"""Worker processes that die or freeze over their documents: none is lost, and no ghost writes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.cluster.test_processes import hear, tell
from tests.documents.places import InMongo, InSql, ago, mails
from tests.patience import LONGEST_S

ROOT = Path(__file__).parents[2]
Place = InMongo | InSql

HEADER = """
import os
import sys
from onthedot.documents import Documents
from tests.documents.places import InMongo, InSql
kind, url, database, lock = sys.argv[1:]

def say(text):
    os.write(1, f"{text}\\n".encode())  # at once, whatever the other threads say

options = {"idle_delay": "20ms", "lock_duration": lock, "on_error": lambda error, _: say(type(error).__name__)}
if kind == "mongodb":
    import pymongo
    documents = Documents(pymongo.MongoClient(url)[database].mails, workers=3, **options)
else:
    documents = InSql(url).documents(workers=3, **options)
"""

BEGIN_AND_WAIT = """
@documents.on_document
def work(document):
    say(f"began {document['id']}")
    sys.stdin.readline()

documents.run()
"""

WORK_ALL = """
@documents.on_document
def work(document):
    say(f"worked {document['id']}")

documents.on_start(lambda: say("started"))
documents.run()
"""


@pytest.fixture(params=["sqlite", "mongodb"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made: Place
    if request.param == "sqlite":
        made = InSql(f"sqlite:///{tmp_path}/mails.db")
    else:
        made = InMongo(request.getfixturevalue("mongodb_standalone"))
    yield made
    made.close()


class Workers:
    """Processes that work the same documents."""

    def __init__(self, place: Place) -> None:
        self._arguments = (
            ["mongodb", place.url, place.database] if isinstance(place, InMongo) else ["sql", str(place.engine.url), ""]
        )
        self._running: list[subprocess.Popen[str]] = []

    def start(self, body: str, lock: str = "1s") -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HEADER + body, *self._arguments, lock],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._running.append(process)
        return process

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.communicate()


@pytest.fixture
def workers(place: Place) -> Iterator[Workers]:
    workers = Workers(place)
    yield workers
    workers.close()


INTERRUPTED_PROGRAM = """
import sys, threading
from datetime import UTC, datetime
from onthedot.documents import Documents, MemoryJobStore

store = MemoryJobStore([{"id": 1, "sleep_until": datetime.now(UTC)}])
documents = Documents(store, idle_delay="20ms")

@documents.on_document
def work(document):
    print("began", flush=True)
    threading.Event().wait()

documents.on_stop(lambda: print("stopped", flush=True))
if sys.argv[1:]:  # a hook in which it is stuck
    documents.on_stop(threading.Event().wait)
documents.run()
"""


def _interrupted(*arguments: str) -> subprocess.Popen[str]:
    """A program with a document under way that does not end, after the first Ctrl-C."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", INTERRUPTED_PROGRAM, *arguments]
    process = subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    assert hear(process) == "began"
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert process.stderr.readline() == "stopping 1 document left\n"
    return process


def test_ctrl_c_says_what_it_waits_for_and_the_second_waits_no_longer() -> None:
    with _interrupted() as process:
        process.send_signal(signal.SIGINT)
        said, told = process.communicate(timeout=LONGEST_S)
    assert told == "stopping 1 document not waited for: worked again when the lock is over\n"
    assert (process.returncode, said) == (0, "stopped\n")


def test_the_third_ctrl_c_ends_a_process_that_is_stuck_at_once() -> None:
    with _interrupted("stuck") as process:
        process.send_signal(signal.SIGINT)
        assert hear(process) == "stopped"
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 130
    assert told.endswith("ended at once: what was worked here is worked again when its lock is over\n")


def until(answer: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_S
    while not answer():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def is_done(place: Place, key: int) -> bool:
    return "sleep_until" not in (place.get(key) or {})


def test_documents_of_a_killed_process_are_worked_again_when_their_lock_is_over(place: Place, workers: Workers) -> None:
    place.put(*mails([1, 2, 3]))
    victim = workers.start(BEGIN_AND_WAIT)
    assert {hear(victim) for _ in range(3)} == {"began 1", "began 2", "began 3"}
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    locks = {key: (place.get(key) or {})["locked_until"] for key in (1, 2, 3)}
    again: dict[int, Any] = {}
    all_done = Event()

    def work(document: dict[str, Any]) -> None:
        again[document["id"]] = (place.get(document["id"]) or {})["locked_until"]
        if len(again) == 3:
            all_done.set()

    documents = place.documents(on_document=work, lock_duration="1s", idle_delay="10ms")
    with documents.running():
        assert all_done.wait(LONGEST_S)
    for key, lock in locks.items():
        assert (again[key] - lock).total_seconds() >= 1
        assert is_done(place, key)


def test_a_process_frozen_past_its_lock_cannot_write_when_it_wakes(place: Place, workers: Workers) -> None:
    place.put(*mails([1], interval="1h"))
    ghost = workers.start(BEGIN_AND_WAIT)
    assert hear(ghost) == "began 1"
    ghost.send_signal(signal.SIGSTOP)
    worked = Event()
    documents = place.documents(on_document=lambda _: worked.set(), idle_delay="10ms")
    with documents.running():
        assert worked.wait(LONGEST_S)
    written = place.get(1)
    assert written is not None
    assert written["sleep_until"] > ago(0)
    tell(ghost)
    ghost.send_signal(signal.SIGCONT)
    assert hear(ghost) == "Conflict"
    assert place.get(1) == written


def test_processes_killed_wherever_they_are_lose_nothing(place: Place, workers: Workers) -> None:
    place.put(*mails(range(500)))
    for _ in range(3):
        victim = workers.start(WORK_ALL)
        assert hear(victim) == "started"
        assert all(hear(victim).startswith("worked") for _ in range(50))
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    # Their own locks last: on a starved machine one would else take over from the other, which is then told so.
    survivors = [workers.start(WORK_ALL, lock="10m") for _ in range(2)]
    assert [hear(process) for process in survivors] == ["started"] * 2
    until(lambda: all(is_done(place, key) for key in range(500)))
    for process in survivors:
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=LONGEST_S)
        assert process.returncode == 0
        assert "Conflict" not in said
