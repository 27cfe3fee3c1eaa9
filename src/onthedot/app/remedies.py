"""What to say about keys and words that do not fit: always with what was probably meant, or with all there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "did you mean overlap?", or "there are store, timezone and schedules" where none is near."""
    words = list(known)
    near = get_close_matches(word.lower().replace("-", "_"), words, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"there are {', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else f"there is {''.join(words)}"


def exactly_one(found: Sequence[str], known: Sequence[str]) -> str:
    """For keys of which one must stand there, and none or several do."""
    if found:
        return f"{' and '.join(found)}: only one of them can stand here"
    return f"{', '.join(known[:-1])} or {known[-1]} is missing"
