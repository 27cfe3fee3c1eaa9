"""What every store can keep, and what is cut or refused before it comes near one."""

from __future__ import annotations

import pytest

from onthedot.storable import MOST_BYTES, MOST_DEPTH, NotStorable, TooLarge, beginning, clean, end, plain


def test_a_value_of_too_many_bytes_is_refused_with_its_size() -> None:
    assert plain("x" * (MOST_BYTES - 2)) == "x" * (MOST_BYTES - 2)
    with pytest.raises(TooLarge, match="65,537 bytes"):
        plain("x" * (MOST_BYTES - 1))


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    value: list[object] = []
    for _ in range(MOST_DEPTH - 1):
        value = [value]
    assert plain(value) == value
    with pytest.raises(NotStorable, match="nested deeper"):
        plain([value])


def test_texts_are_cleaned_of_what_some_database_refuses() -> None:
    assert clean("a\0b\ud800c") == "a\N{REPLACEMENT CHARACTER}b?c"
    assert plain({"a\0": ["\ud800", 1]}) == {"a\N{REPLACEMENT CHARACTER}": ["?", 1]}


@pytest.mark.parametrize("cut", [beginning, end])
def test_a_text_that_is_too_long_is_cut_to_what_is_kept_and_says_so(cut: object) -> None:
    assert callable(cut)
    kept = cut("ä" * MOST_BYTES)
    assert len(kept.encode()) <= MOST_BYTES
    assert "65,536 characters" in kept
    assert cut("short") == "short"
