"""Attempts and progress of a run, as they are kept and read again."""

from __future__ import annotations

import pytest

from onthedot.model.attempt import MOST_KEPT, Attempt, attempts_from
from onthedot.model.run import Run
from onthedot.model.values import replace

ONE = Attempt(1, 3, "node", 1000, 2000, "failed", "OSError: no")


def test_attempts_are_read_as_they_were_written() -> None:
    assert attempts_from([ONE.as_json(), [2, 5, "node", 3000]]) == (ONE, Attempt(2, 5, "node", 3000))


@pytest.mark.parametrize(
    "bad",
    [None, 7, "x", {}, [None], [7], ["abcdefg"], [{}], [{"a": 1}], [[]], [[1, 2]], [["a", 1, "n", 2]], [[1, 2, 3, 4]]],
)
def test_what_is_no_attempt_is_left_out(bad: object) -> None:
    assert attempts_from(bad) == ()


def test_what_is_no_attempt_hides_no_other() -> None:
    assert attempts_from([{}, ONE.as_json(), "abcdefg"]) == (ONE,)


def test_the_last_attempts_are_kept() -> None:
    run = Run("r", "job", "enqueue", 0, 0, owner="node")
    for number in range(1, MOST_KEPT + 6):
        run = replace(run, attempt=number, claim_no=number, started_ms=number)
        run = replace(run, earlier=run.earlier_with(number, "failed", "no"))
    assert [each.number for each in run.earlier] == list(range(6, MOST_KEPT + 6))


@pytest.mark.parametrize(
    ("said", "part", "note"),
    [
        (None, None, ""),
        ("", None, ""),
        ("62% ledger 11 of 14", 0.62, "ledger 11 of 14"),
        ("100%", 1.0, ""),
        ("half of it", None, ""),
        ("-5% x", None, "x"),
        ("9" * 5000 + "% far", 1.0, "far"),
        ("²% x", None, "x"),
    ],
)
def test_what_a_run_says_of_its_progress_is_never_too_odd_to_show(said: str | None, part: float, note: str) -> None:
    run = Run("r", "job", "enqueue", 0, 0, progress=said)
    assert (run.progress_part, run.progress_note) == (part, note)
