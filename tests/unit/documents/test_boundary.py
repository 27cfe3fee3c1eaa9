"""One bad document, handler or hook stops nothing else."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from threading import Event
from typing import Any, NoReturn

import pytest
from tests.patience import LONGEST_S

from onthedot.documents import Documents, MemoryJobStore

PAST = datetime(2026, 1, 1, tzinfo=UTC)


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def _exits(_: Any) -> NoReturn:
    sys.exit(1)


async def _exits_async(_: Any) -> NoReturn:
    sys.exit(1)


async def _exits_in_a_task(_: Any) -> None:
    await asyncio.create_task(_exits_async(None))


def _unshowable(_: Any) -> NoReturn:
    raise Unshowable


def _bad_text(_: Any) -> NoReturn:
    raise ValueError("bad \0 text \ud800")


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (_exits, "SystemExit: 1"),
        (_exits_async, "SystemExit: 1"),
        (_exits_in_a_task, "SystemExit: 1"),
        (_unshowable, "Unshowable: a Unshowable that cannot be shown"),
        (_bad_text, "ValueError: bad \ufffd text \\ud800"),
    ],
)
def test_whatever_a_handler_raises_is_kept_on_its_document_and_the_others_are_worked(handler: Any, said: str) -> None:
    store = MemoryJobStore([{"id": number, "sleep_until": PAST} for number in range(20)])
    errors: list[BaseException] = []
    all_told = Event()
    documents = Documents(store, workers=1)
    documents.on_document(handler)

    @documents.on_error
    def told(error: BaseException, document: Any) -> None:
        errors.append(error)
        if len(errors) == 20:
            all_told.set()

    with documents.running():
        assert all_told.wait(LONGEST_S)
    assert {(store.get(number) or {})["last_error"] for number in range(20)} == {said}


def test_a_hook_that_exits_ends_no_thread() -> None:
    store = MemoryJobStore([])
    documents = Documents(store, idle_delay="10ms")
    idle, worked = Event(), Event()
    documents.on_document(lambda _: worked.set())
    documents.on_start(lambda: sys.exit(1))

    @documents.on_idle
    def exits() -> None:
        idle.set()
        sys.exit(1)

    with documents.running():
        assert idle.wait(LONGEST_S)
        store.put({"id": 1, "sleep_until": PAST})
        assert worked.wait(LONGEST_S)
