"""Patterns of names: `*` stands for any text, all else for itself, brackets too (`digest[*]`)."""

from __future__ import annotations

import re
from functools import lru_cache


def is_pattern(text: str) -> bool:
    """Whether it may stand for several names. A schedule that has this very name comes first."""
    return "*" in text


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Two stars in a row are one: without this, "a**********b" would try every way to share a text among them.
    parts = re.sub(r"\*+", "*", pattern).split("*")
    return re.compile(".*".join(map(re.escape, parts)), re.DOTALL)


def matches(pattern: str, name: str) -> bool:
    """Whether the whole name is such."""
    return _compiled(pattern).fullmatch(name) is not None


def longest_part(pattern: str) -> str:
    """The longest text that every such name contains: what a store can look for."""
    return max(pattern.split("*"), key=len)
