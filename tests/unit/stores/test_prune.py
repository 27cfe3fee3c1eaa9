"""Shares, culprits and rounds: what all stores share when they forget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from onthedot.errors import StoreError, StoreUnavailable
from onthedot.stores.prune import LOOKS, Groups, Kind, Pruner, Surplus, Walk, fair_shares, is_needed
from onthedot.stores.retention import Pruned
from onthedot.stores.transaction import TryAgain


class Rows:
    """Numbers as rows of a kind, some of which the database refuses to delete."""

    def __init__(self, rows: Iterable[int], refused: Iterable[int] = ()) -> None:
        self.rows = list(rows)
        self.refused = set(refused)
        self.batches: list[list[int]] = []

    def kind(self, name: str = "run", batch: int = 1000) -> Kind[int]:
        return Kind(name, lambda most: self.rows[:most], self.forget, batch)

    def forget(self, items: Sequence[int]) -> Pruned:
        self.batches.append(list(items))
        if self.refused & set(items):
            raise StoreError("a trigger of yours says no")
        self.rows = [row for row in self.rows if row not in items]
        return Pruned(runs=len(items))


NOTHING: Any = None
"""Where a test brings kinds of its own."""


def shared(kinds: Sequence[Kind[Any]], limit: int) -> Pruned:
    return Pruner(NOTHING, NOTHING).share(kinds, limit)


# shares


@pytest.mark.parametrize(
    ("wanted", "limit", "shares"),
    [
        ([0, 0], 10, [0, 0]),
        ([3, 2], 10, [3, 2]),
        ([100, 100], 10, [5, 5]),
        ([100, 1], 10, [9, 1]),
        ([100, 4, 100], 10, [3, 4, 3]),
        ([1, 1, 1], 2, [1, 1, 0]),
        ([7], 5, [5]),
        ([], 5, []),
    ],
)
def test_a_share_is_equal_and_what_one_does_not_need_is_the_others(
    wanted: list[int], limit: int, shares: list[int]
) -> None:
    assert fair_shares(wanted, limit) == shares


def test_no_kind_is_left_out_for_ever_however_small_the_limit() -> None:
    wanted = [50, 3, 2]
    for _ in range(55):
        wanted = [want - share for want, share in zip(wanted, fair_shares(wanted, 1), strict=True)]
    assert wanted == [0, 0, 0]


# batches and culprits


def test_a_kind_goes_in_batches_and_no_further_than_the_limit() -> None:
    rows = Rows(range(10))
    done = shared([rows.kind(batch=3)], 7)
    assert rows.batches == [[0, 1, 2], [3, 4, 5], [6]]
    assert (done, rows.rows) == (Pruned(runs=7, more=True), [7, 8, 9])


def test_one_row_that_cannot_be_deleted_is_told_and_passed_over_and_the_rest_goes() -> None:
    rows, pruner = Rows(range(100), refused=[42]), Pruner(NOTHING, NOTHING)
    done = pruner.share([rows.kind()], 1000)
    assert (done.runs, rows.rows) == (99, [42])
    assert done.refused == ("run 42: a trigger of yours says no",)
    rows.rows, rows.batches = [42, *range(200, 210)], []
    assert pruner.share([rows.kind()], 5) == Pruned(runs=5, more=True)
    assert rows.batches == [[200, 201, 202, 203, 204]]


def test_a_row_that_cannot_be_deleted_leaves_the_other_kinds_alone() -> None:
    bad, good = Rows([1], refused=[1]), Rows(range(10))
    done = shared([bad.kind("key"), good.kind()], 1000)
    assert (done.runs, done.refused) == (10, ("key 1: a trigger of yours says no",))


def test_where_many_cannot_be_deleted_some_are_found_out_with_each_call_and_the_rest_goes_in_the_end() -> None:
    rows, good, pruner = Rows(range(1000), refused=range(100)), Rows(range(10)), Pruner(NOTHING, NOTHING)
    first = pruner.share([rows.kind(), good.kind("key")], 1000)
    assert 20 <= len(first.refused) < 40
    assert (good.rows, len(rows.batches) < 100) == ([], True)
    for _ in range(5):
        pruner.share([rows.kind()], 1000)
    assert rows.rows == list(range(100))


def test_a_table_that_cannot_be_read_leaves_the_others_alone() -> None:
    def damaged(_: int) -> list[int]:
        raise StoreError("it is malformed")

    rows = Rows(range(3))
    done = shared([Kind("key", damaged, rows.forget), rows.kind()], 10)
    assert (done.runs, done.refused) == (3, ("key: it is malformed",))


def test_a_store_that_is_away_is_not_taken_for_a_bad_row() -> None:
    def away(_: Sequence[int]) -> Pruned:
        raise StoreUnavailable("it does not answer")

    with pytest.raises(StoreUnavailable):
        shared([Kind("run", lambda most: [1, 2], away)], 10)


def test_what_somebody_else_works_on_is_left_and_nothing_calls_again_at_once_for_it() -> None:
    def clash(_: Sequence[int]) -> Pruned:
        raise TryAgain

    assert shared([Kind("run", lambda most: [1, 2], clash)], 10) == Pruned()


# what is too many


class Table:
    """Groups of numbered rows, and how often they were looked at."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.rows = {group: [(group, number) for number in range(size)] for group, size in sizes.items()}
        self.latest: list[str] = []
        self.looks: list[str] = []

    def groups(self) -> Groups[tuple[str, int]]:
        return Groups(
            newest=lambda most: self.latest[:most],
            following=lambda after: min((each for each in self.rows if each > after), default=None),
            beyond=self._beyond,
        )

    def _beyond(self, group: str, keep: int, most: int) -> list[tuple[str, int]]:
        self.looks.append(group)
        return self.rows[group][: max(len(self.rows[group]) - keep, 0)][:most]


def test_some_groups_are_looked_at_each_time_and_all_in_the_end() -> None:
    names = [f"g{number:03}" for number in range(3 * LOOKS)]
    table, surplus = Table(dict.fromkeys(names, 5)), Surplus()
    for _ in range(3):
        assert surplus.find(table.groups(), 5, 100, thorough=False) == []
    assert table.looks == names
    surplus.find(table.groups(), 5, 100, thorough=False)
    surplus.find(table.groups(), 5, 100, thorough=False)
    assert table.looks[3 * LOOKS :] == names[:LOOKS], "it has gone round"


def test_the_group_that_grows_just_now_is_looked_at_each_time() -> None:
    names = {f"g{number:03}": 5 for number in range(5 * LOOKS)}
    table, surplus = Table({**names, "z": 9}), Surplus()
    table.latest = ["z"]
    assert surplus.find(table.groups(), 5, 100, thorough=False) == [("z", number) for number in range(4)]


def test_where_it_finds_much_it_goes_on() -> None:
    names = {f"g{number:03}": 6 for number in range(5 * LOOKS)}
    table, surplus = Table(names), Surplus()
    assert len(surplus.find(table.groups(), 5, 1000, thorough=False)) == 5 * LOOKS


def test_a_group_of_which_more_is_left_comes_first_the_next_time() -> None:
    table, surplus = Table({"a": 30, "b": 30}), Surplus()
    assert surplus.find(table.groups(), 5, 10, thorough=False) == [("a", number) for number in range(10)]
    del table.rows["a"][:10]
    assert surplus.find(table.groups(), 5, 20, thorough=False)[:15] == [("a", number) for number in range(10, 25)]


def test_a_group_is_cut_down_when_a_tenth_is_too_many() -> None:
    table, surplus = Table({"a": 110}), Surplus()
    assert surplus.find(table.groups(), 100, 1000, thorough=False) == []
    table.rows["a"].append(("a", 110))
    assert len(surplus.find(table.groups(), 100, 1000, thorough=False)) == 11


def test_a_thorough_look_sees_every_group_wherever_the_last_one_stopped() -> None:
    names = [f"g{number:03}" for number in range(4 * LOOKS)]
    table, surplus = Table(dict.fromkeys(names, 5)), Surplus()
    surplus.find(table.groups(), 5, 100, thorough=False)
    table.rows[names[3]].append((names[3], 5))
    assert len(surplus.find(table.groups(), 5, 100, thorough=True)) == 1


# page by page

PAGES = {0: ([], 1), 1: ([10], 2), 2: ([20, 21], 3), 3: ([], 4), 4: ([40], None)}


def _page(place: int) -> tuple[list[int], int | None]:
    return PAGES[place]


def test_a_walk_goes_on_while_it_finds_something_and_begins_anew_at_the_end() -> None:
    walk = Walk(0)
    assert [walk.find(_page, 100, thorough=False) for _ in range(4)] == [[], [10, 20, 21], [40], []]


def test_a_walk_comes_back_to_a_page_of_which_it_took_a_part() -> None:
    walk = Walk(1)
    assert walk.find(_page, 2, thorough=False) == [10, 20]
    assert walk.find(_page, 100, thorough=False) == [20, 21]


def test_a_thorough_walk_sees_every_page_wherever_the_last_one_stopped() -> None:
    walk = Walk(0)
    walk.find(_page, 100, thorough=False)
    assert set(walk.find(_page, 100, thorough=True)) == {10, 20, 21, 40}


# definitions


@pytest.mark.parametrize(
    ("oldest_run", "oldest_decision_ms", "needed"),
    [
        (None, None, False),
        (3, None, True),
        (2, None, True),
        (4, None, False),
        (None, 999, True),
        (None, 1000, False),
        (4, 999, True),
    ],
)
def test_a_definition_is_needed_by_what_is_as_old_as_it(
    oldest_run: int | None, oldest_decision_ms: int | None, needed: bool
) -> None:
    assert is_needed(3, 1000, oldest_run, oldest_decision_ms) is needed
