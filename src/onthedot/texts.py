"""Texts that people read, wherever they are shown."""

from __future__ import annotations


def visible(text: str) -> str:
    """One line without characters that a terminal would obey instead of show."""
    return "".join(letter if letter.isprintable() else " " if letter.isspace() else "?" for letter in text.strip())


def many(count: int, most: int = 10_000) -> str:
    """A count that stopped at `most`: 9,999, then 10,000+."""
    return f"{most:,}+" if count >= most else f"{count:,}"


def counted(number: int, noun: str) -> str:
    """ "1 run", "1,234 runs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
