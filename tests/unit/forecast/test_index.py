"""What the index of coming runs promises."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

from onthedot.forecast import ComingRun, IndexHolder, RunIndex
from onthedot.forecast import index as index_module
from onthedot.moments import from_ms

START = datetime(2026, 11, 15, tzinfo=UTC)
SECOND = int(START.timestamp())


def moment(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def index_of(*runs: tuple[float, str]) -> RunIndex:
    names = list(dict.fromkeys(name for _, name in runs))
    index = RunIndex.from_arrays(
        np.array([SECOND + seconds for seconds, _ in runs]),
        np.array([names.index(name) for _, name in runs], int),
        names,
    )
    index._check()
    return index


def test_runs_come_in_the_order_of_moment_then_name_however_they_were_given() -> None:
    index = index_of((60, "b"), (0, "c"), (60, "a"), (0, "b"))
    assert index.query(moment(0), moment(61)) == [
        ComingRun(moment(0), "b"),
        ComingRun(moment(0), "c"),
        ComingRun(moment(60), "a"),
        ComingRun(moment(60), "b"),
    ]


def test_a_query_holds_its_start_and_not_its_end() -> None:
    index = index_of((0, "a"), (60, "a"), (120, "a"))
    assert [run.at for run in index.query(moment(60), moment(120))] == [moment(60)]
    assert index.query(moment(1), moment(60)) == []
    assert index.query(moment(500), moment(600)) == []
    assert len(index.query(moment(-1), moment(121))) == 3


def test_the_results_of_a_query_are_a_view_whose_runs_are_made_when_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    def counted(ms: int) -> datetime:
        made.append(ms)
        return from_ms(ms)

    many = RunIndex.from_arrays(SECOND + np.arange(100_000), np.zeros(100_000, int), ["a"])
    monkeypatch.setattr(index_module, "from_ms", counted)
    found = many.query(moment(10_000), moment(90_000))
    assert len(found) == 80_000
    assert found[1:].__len__() == 79_999
    assert made == []
    assert found[0] == ComingRun(moment(10_000), "a")
    assert len(made) == 1
    assert next(iter(found)) == found[0]
    assert len(made) < 10_000


def test_a_view_is_read_like_a_list() -> None:
    found = index_of((0, "a"), (60, "b"), (120, "a"), (180, "c")).query(moment(0), moment(200))
    runs = [ComingRun(moment(60 * n), name) for n, name in enumerate("abac")]
    assert [*found] == runs
    assert (found[0], found[-1], found[2]) == (runs[0], runs[3], runs[2])
    assert found[1:3] == runs[1:3]
    assert found[::-1] == runs[::-1]
    assert found[1:][0] == runs[1]
    assert list(reversed(found)) == runs[::-1]
    assert runs[1] in found
    assert ComingRun(moment(1), "a") not in found
    assert found.index(runs[2]) == 2
    assert found.count(runs[0]) == 1
    assert isinstance(found, Sequence)
    for out_of_it in (4, -5):
        with pytest.raises(IndexError):
            found[out_of_it]


def test_a_view_equals_whatever_sequence_has_the_same_runs() -> None:
    index = index_of((0, "a"), (60, "b"))
    found = index.query(moment(0), moment(61))
    runs = [ComingRun(moment(0), "a"), ComingRun(moment(60), "b")]
    assert found == runs
    assert runs == found
    assert found == tuple(runs)
    assert found == index.query(moment(-5), moment(100))
    assert found != runs[:1]
    assert found != index.query(moment(1), moment(61))
    assert found != "ab"
    assert found != 2
    assert not index.query(moment(5), moment(6))
    with pytest.raises(TypeError):
        hash(found)


def test_a_view_tells_what_it_holds() -> None:
    index = index_of((0, "a"), (60, "b"))
    assert repr(index.query(moment(0), moment(61))) == (
        "<2 coming runs, from 2026-11-15 00:00:00+00:00 to 2026-11-15 00:01:00+00:00>"
    )
    assert repr(index.query(moment(5), moment(6))) == "<no coming runs>"


def test_milliseconds_are_kept() -> None:
    index = index_of((0.25, "a"), (0.5, "a"))
    assert [run.at for run in index.query(moment(0.251), moment(1))] == [moment(0.5)]


def test_peek_gives_the_first_run_or_nothing() -> None:
    assert index_of((60, "b"), (0, "c")).peek() == ComingRun(moment(0), "c")
    assert RunIndex.from_arrays([], [], []).peek() is None


def test_an_empty_index_answers_every_question() -> None:
    index = RunIndex.from_arrays([], [], ["a"])
    index._check()
    assert (len(index), list(index.query(moment(0), moment(1))), index.busiest("1m", 3)) == (0, [], [])
    assert index.per_name() == {"a": 0}
    assert index.counts("1m", moment(0), moment(120)).tolist() == [0, 0]


def test_the_busiest_minutes_come_fullest_first_and_the_earlier_of_two_equals_first() -> None:
    index = index_of((0, "a"), (30, "a"), (60, "a"), (120, "a"), (121, "b"), (122, "c"), (180, "a"), (181, "b"))
    assert index.busiest("1m", 3) == [(moment(120), 3), (moment(0), 2), (moment(180), 2)]


def test_counts_are_taken_from_the_start_that_was_asked_for_and_end_where_asked() -> None:
    index = index_of((10, "a"), (40, "a"), (70, "a"), (99, "b"), (100, "b"))
    assert index.counts("30s", moment(10), moment(100)).tolist() == [1, 1, 2]
    assert index.counts("1m", moment(10), moment(100)).tolist() == [2, 2]


def test_runs_are_counted_by_name() -> None:
    assert index_of((0, "b"), (1, "a"), (2, "b")).per_name() == {"a": 1, "b": 2}


def test_the_runs_of_a_part_are_counted_by_name() -> None:
    index = index_of((0, "b"), (1, "a"), (2, "b"), (3, "b"), (9, "late"))
    assert [*index.query(moment(1), moment(4)).per_name().items()] == [("a", 1), ("b", 2)]
    assert index.query(moment(4), moment(9)).per_name() == {}


def test_counts_are_those_of_queries_one_after_the_other() -> None:
    index = index_of(*((number * 1.7 % 60, "abc"[number % 3]) for number in range(50)))
    edges = [moment(7 * step) for step in range(-3, 12)]
    told = index.counts("7s", edges[0], edges[-1]).tolist()
    assert told == [len(index.query(first, end)) for first, end in pairwise(edges)]
    assert sum(told) == 50
    assert index.counts("1h", moment(-7200), moment(0)).tolist() == [0, 0]
    assert index.counts("1h", moment(60), moment(7260)).tolist() == [0, 0]
    far = moment(1 << 33)  # beyond what the type of the index holds
    assert index.counts("10000d", moment(0), far).tolist()[0] == 50


def test_a_run_costs_at_most_sixteen_bytes() -> None:
    index = RunIndex.from_arrays(np.arange(100_000), np.arange(100_000) % 1000, [f"n{i}" for i in range(1000)])
    assert index.nbytes <= 16 * len(index)


def test_the_arrays_given_can_be_changed_afterwards_without_changing_the_index() -> None:
    seconds, numbers = np.array([SECOND, SECOND + 1]), np.array([0, 0])
    index = RunIndex.from_arrays(seconds, numbers, ["a"])
    seconds[:] = 0
    numbers[:] = 0
    assert index.peek() == ComingRun(moment(0), "a")


@pytest.mark.parametrize(
    ("seconds", "numbers", "names", "says"),
    [
        ([1, 2], [0], ["a"], "of one length"),
        ([1], [1], ["a"], "0 to 0"),
        ([1], [-1], ["a"], "0 to 0"),
        ([1], [0.5], ["a"], "whole numbers"),
        ([float("nan")], [0], ["a"], "finite"),
        ([1], [0], ["a", "a"], "two names"),
    ],
)
def test_arrays_that_fit_together_in_no_way_are_refused(
    seconds: list[float], numbers: list[float], names: list[str], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        RunIndex.from_arrays(seconds, numbers, names)


def test_a_naive_moment_is_refused() -> None:
    with pytest.raises(ValueError, match="has no zone"):
        index_of((0, "a")).query(datetime(2026, 1, 1), moment(1))  # noqa: DTZ001


def test_readers_see_one_whole_index_while_others_swap_it() -> None:
    """Each index holds runs of one name only: a reader that saw two would have seen half of each."""
    count, swaps = 500, 2000
    indexes = [RunIndex.from_arrays(np.full(count, SECOND), np.zeros(count, int), [name]) for name in "abcd"]
    holder = IndexHolder(indexes[0])
    stop = threading.Event()
    mixed: list[set[str]] = []

    def read() -> None:
        while not stop.is_set():
            names = {run.name for run in holder.current.query(moment(0), moment(1))}
            if len(names) != 1:
                mixed.append(names)

    def swap(first: int) -> None:
        for turn in range(swaps):
            assert holder.swap(indexes[(first + turn) % 4]) in indexes

    readers = [threading.Thread(target=read) for _ in range(3)]
    writers = [threading.Thread(target=swap, args=(first,)) for first in range(2)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert mixed == []


def test_a_reader_keeps_the_index_that_it_holds() -> None:
    old, new = index_of((0, "old")), index_of((0, "new"))
    holder = IndexHolder(old)
    held = holder.current
    assert holder.swap(new) is old
    assert held.peek() == ComingRun(moment(0), "old")
    assert holder.current.peek() == ComingRun(moment(0), "new")
