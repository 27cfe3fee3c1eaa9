"""Values and texts as every store can keep them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.execution.bad_behaviour import Shy, Trap, nested

from onthedot.storable import (
    MOST_BYTES,
    MOST_DEPTH,
    NotStorable,
    TooLarge,
    beginning,
    brief,
    can_be_kept,
    clean,
    end,
    json_size,
    label_problem,
    plain,
    shown,
    text_problem,
)

any_text = st.text(st.characters(), max_size=50)  # with NUL and halves of pairs
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    max_leaves=20,
)


@given(values)
def test_the_copy_of_a_value_can_be_written_and_read_and_is_its_own_copy(value: Any) -> None:
    copy = plain(value)
    text = json.dumps(copy)
    assert "\\u0000" not in text
    assert json.loads(text) == copy == plain(copy)
    json.dumps(copy, ensure_ascii=False).encode()  # no half of a pair is left


@pytest.mark.parametrize("value", [None, True, 0, -1.5, "", "text", [], {}, {"a": [1, {"b": None}]}])
def test_what_is_plain_already_stays_as_it_is(value: Any) -> None:
    assert plain(value) == value


def test_what_json_does_not_have_is_refused() -> None:
    for value in (float("nan"), float("inf"), {1, 2}, object(), nested(5000), Shy(), b"bytes", 1 << 100_000):
        with pytest.raises(NotStorable):
            plain(value)


def test_a_value_may_be_so_deep_and_no_deeper() -> None:
    assert plain(nested(MOST_DEPTH - 1)) == nested(MOST_DEPTH - 1)
    with pytest.raises(NotStorable, match="nested deeper than 100 levels"):
        plain(nested(MOST_DEPTH))
    brackets = {"text": '[{"\\' * 100, "more": ["]"] * 100}
    assert plain(brackets) == brackets


def test_a_value_may_be_so_large_and_no_larger() -> None:
    assert plain("x" * (MOST_BYTES - 2)) == "x" * (MOST_BYTES - 2)
    with pytest.raises(TooLarge) as caught:
        plain("x" * MOST_BYTES)
    assert (caught.value.size, caught.value.most) == (MOST_BYTES + 2, MOST_BYTES)
    assert json_size({"a": "ä"}) == len('{"a":"\\u00e4"}')


def test_whatever_the_methods_of_a_value_raise_is_one_refusal() -> None:
    for error in (RuntimeError("no items"), SystemExit(1), KeyboardInterrupt(), RecursionError()):
        with pytest.raises(NotStorable):
            plain({"a": [Trap(error)]})


@given(any_text, st.integers(0, 100))
def test_a_text_is_cut_to_so_many_bytes_and_can_be_kept(text: str, most: int) -> None:
    for cut in (beginning(text, most), end(text, most)):
        assert can_be_kept(cut)
        assert len(cut.encode()) <= max(most, 40), "the note of what was cut has at most 40 bytes"
    if can_be_kept(text) and len(text.encode()) <= most:
        assert beginning(text, most) == end(text, most) == clean(text) == text


def test_of_a_long_text_the_part_that_says_most_is_kept() -> None:
    text = "first" + "x" * 17_000_000 + "last"
    assert beginning(text).startswith("first")
    assert beginning(text).endswith("… (of 17,000,009 characters)")
    assert end(text).startswith("(of 17,000,009 characters) …")
    assert end(text).endswith("last")
    assert len(beginning(text).encode()) == len(end(text).encode()) == MOST_BYTES


def test_a_text_of_a_class_of_its_own_becomes_a_plain_one() -> None:
    class Loud(str):
        def __str__(self) -> str:
            raise RuntimeError("not now")

        __repr__ = __contains__ = __getitem__ = isascii = __str__  # type: ignore[assignment]

    assert [type(each) for each in (clean(Loud("a")), beginning(Loud("a")), end(Loud("a")))] == [str] * 3
    assert shown(Loud("a")) == "a Loud that cannot be shown"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("fine ä 😀", None),
        ("", None),
        ("a\0b", "its character 2 is NUL"),
        ("ab\udcff", r"its character 3 is half of a pair (\udcff)"),
        pytest.param("ä" * 40_000, "it has 80,000 bytes; the most is 65,536", id="long"),
        (7, "7 is not text"),
        (None, "None is not text"),
    ],
)
def test_what_is_wrong_with_a_text_is_told_in_one_line(text: object, problem: str | None) -> None:
    found = text_problem(text)
    assert found == problem if problem is None else (found or "").startswith(problem)


def test_a_label_is_short_and_not_empty() -> None:
    assert [label_problem(text) for text in ("a", "", "x" * 201)] == [
        None,
        "it is empty",
        "it has 201 characters; the most is 200",
    ]


def test_a_value_in_a_message_is_short_and_never_raises() -> None:
    for value in ("x" * 17_000_000, {"a": ["b" * 1000] * 1000}, Shy(), nested(5000), Trap(SystemExit(1))):
        assert len(brief(value)) < 500
        assert "\n" not in brief(value)
