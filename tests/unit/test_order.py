"""Which worker gets which tests first, where scripts/test has several of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.order import LONG, WAITING, in_shares
from tests.sabotage.sabotage import ROOT


@dataclass(frozen=True)
class Item:
    path: Path
    number: int = 0


def items_of(place: str, count: int) -> list[Item]:
    return [Item(ROOT / "tests" / place, number) for number in range(count)]


def shares(tests: list[Item], workers: int) -> list[list[Item]]:
    """As pytest-xdist cuts them."""
    left, cut = in_shares(tests, workers), []
    for number in range(workers):
        size = len(left) // (workers - number)
        cut.append(left[:size])
        left = left[size:]
    return cut


def test_half_of_the_workers_begin_with_what_waits_and_the_others_with_what_computes_long() -> None:
    quick = items_of("unit/test_quick.py", 40)
    waiting = [*items_of("cluster/test_one.py", 3), *items_of("cluster/test_other.py", 2)]
    long = [*items_of("properties/test_any.py", 2), *items_of("properties/test_simulation_roads.py", 1)]
    first, second, third, fourth = shares([*quick, *waiting, *long], 4)
    assert (first[:3], second[:2]) == (waiting[:3], waiting[3:])
    assert (third[:1], fourth[:2]) == (long[2:], long[:2])
    assert [*first[3:], *second[2:], *third[1:], *fourth[2:]] == quick


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("waiting", [0, 1, 30])
@pytest.mark.parametrize("quick", [0, 5, 21])
def test_each_test_is_given_once(workers: int, waiting: int, quick: int) -> None:
    tests = [*items_of("cluster/test_it.py", waiting), *items_of("unit/test_it.py", quick)]
    tests += items_of("properties/test_it.py", 4)
    assert sorted(in_shares(tests, workers), key=repr) == sorted(tests, key=repr)


def test_one_worker_takes_them_as_they_come() -> None:
    tests = [*items_of("unit/test_it.py", 2), *items_of("cluster/test_it.py", 2)]
    assert in_shares(tests, 1) == tests


def test_every_place_is_there() -> None:
    assert [place for place in (*WAITING, *LONG) if not (ROOT / "tests" / place).exists()] == []
