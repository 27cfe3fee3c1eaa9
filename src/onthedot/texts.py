"""Texts that people read, wherever they are shown."""

from __future__ import annotations


def visible(text: str) -> str:
    """One line without characters that a terminal would obey instead of show."""
    return "".join(letter if letter.isprintable() else " " if letter.isspace() else "?" for letter in text.strip())


def counted(number: int, noun: str) -> str:
    """ "1 run", "1,234 runs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
