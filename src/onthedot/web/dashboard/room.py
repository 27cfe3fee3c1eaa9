"""Pages stay small whatever is in the store: how much of a text there is room for."""

from __future__ import annotations

from markupsafe import escape

_ELLIPSIS = "…"


def size(text: str) -> int:
    """How many bytes of HTML it is."""
    return len(str(escape(text)).encode("utf-8", "replace"))


def cut(text: str, most: int) -> str:
    """As much of its beginning as fits into so many bytes of HTML."""
    if size(text) <= most:
        return text
    kept = text[:most]
    while kept and size(kept) > most - len(_ELLIPSIS.encode()):
        kept = kept[: max(len(kept) * most // (size(kept) + 4), 0)]
    return kept + _ELLIPSIS


def cut_front(text: str, most: int) -> str:
    """The same of its end: the last lines of a traceback say the most."""
    return cut(text[::-1], most)[::-1]
