"""In which order the tests are given to the workers, so that no processor is idle while there is something to do.

A test that waits for other processes leaves its processor to others. Were all workers to wait at the same time, nobody
would compute; so half of them begin with what waits, and the other half with what computes longest. Who is done early
takes over from the end of another's share, where the short ones are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Protocol, TypeVar

WAITING = (
    "cluster",
    "engines",
    "chaos/test_real.py",
    "celery",
    "stores/test_frozen_servers.py",
    "stores/test_busy_processes.py",
    "stores/test_redis_faults.py",
    "documents/test_redis_fail_over.py",
)
"""Folders and files whose tests take long by the wall clock and little of a processor."""
LONG = ("properties/test_simulation_roads.py", "properties", "browser")
"""Folders and files with tests that compute for a minute: at the end of the run one of them would be alone."""


class Item(Protocol):
    @property
    def path(self) -> Path: ...


T = TypeVar("T", bound=Item)


def in_shares(tests: Sequence[T], workers: int) -> list[T]:
    """The same tests, so that the first share is for the first worker, and so on; pytest-xdist cuts them evenly."""
    if workers == 1:
        return list(tests)
    sizes = [(len(tests) + number) // workers for number in range(workers)]
    waiters = (workers + 1) // 2
    waiting, long = _among(tests, WAITING), _among(tests, LONG)
    beginnings = [*_dealt(waiting, waiters), *_dealt(long, workers - waiters)]
    too_many = [test for beginning, size in zip(beginnings, sizes, strict=True) for test in beginning[size:]]
    placed = {id(test) for test in (*waiting, *long)}
    rest = iter([*too_many, *(test for test in tests if id(test) not in placed)])
    shares = [
        [*beginning[:size], *islice(rest, max(0, size - len(beginning)))]
        for beginning, size in zip(beginnings, sizes, strict=True)
    ]
    return [test for share in shares for test in share]


def _among(tests: Sequence[T], places: Sequence[str]) -> list[T]:
    """Those that lie there, in the order of the places."""
    ranked = [(rank, test) for test in tests if (rank := _rank(test, places)) is not None]
    return [test for _, test in sorted(ranked, key=itemgetter(0))]


def _rank(test: Item, places: Sequence[str]) -> int | None:
    _, _, inside = test.path.as_posix().rpartition("/tests/")
    return next((rank for rank, place in enumerate(places) if f"{inside}/".startswith(f"{place}/")), None)


def _dealt(tests: Sequence[T], workers: int) -> list[list[T]]:
    """File by file, to whom has the fewest: tests of one file share what it takes long to start."""
    hands: list[list[T]] = [[] for _ in range(workers)]
    for _, file in groupby(tests, attrgetter("path")):
        min(hands, key=len).extend(file)
    return hands
