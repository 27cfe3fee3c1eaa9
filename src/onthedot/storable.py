"""What every store can keep: plain JSON values, and texts without characters that some database refuses.

What a task produces is repaired or cut here, before it comes near a store; what people write is refused, with the
reason. One bad value in a batch would otherwise fail its neighbours too.
"""

from __future__ import annotations

import json
from reprlib import Repr
from typing import Any

MOST_BYTES = 65_536
"""What is kept of a result, an error, a reason or a line of a log."""
MOST_CHARACTERS = 200
"""How long a name or a label may be."""
MOST_DEPTH = 100
"""How deep a JSON value may be nested: a reader further down its stack must be able to read what was written."""

_MOST_SHOWN = 200
_short = Repr()
_short.maxstring = _short.maxother = 80
_NO_NUMBER = "NaN and infinities are no numbers of JSON"
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class NotStorable(ValueError):
    """No JSON value, or one that not everybody could read again; says why in one line."""


class TooLarge(NotStorable):
    """More bytes, as JSON, than are kept."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"{size:,} bytes; the most is {most:,}")
        self.size = size
        self.most = most


# values


def plain(value: Any, most_bytes: int = MOST_BYTES) -> Any:
    """A copy of the value as JSON has it, with all its texts repaired; `NotStorable` if there is none.

    Whatever the value's own methods do happens here and never again: nobody who writes the copy can be surprised.
    """
    if value is None or value is True or value is False:
        return value
    text = _as_text(value)
    if len(text) > most_bytes:
        raise TooLarge(len(text), most_bytes)
    copy = json.loads(text)
    return _repaired(copy) if "\\u0000" in text or "\\ud" in text else copy


def json_size(value: Any) -> int:
    """How many bytes it takes as JSON; `NotStorable` if it is none."""
    return len(_as_text(value))


def _as_text(value: Any) -> str:
    try:
        text = _encode(value)
    except RecursionError:
        raise NotStorable(f"it is nested deeper than {MOST_DEPTH} levels") from None
    except (TypeError, ValueError) as error:
        said = shown(error)
        raise NotStorable(_NO_NUMBER if said.startswith("Out of range float") else said) from None
    except BaseException as error:  # methods of the user's own classes may raise anything, SystemExit too
        raise NotStorable(f"{type(error).__name__}: {shown(error)}") from None
    if text.count("[") + text.count("{") > MOST_DEPTH and _depth(text) > MOST_DEPTH:
        raise NotStorable(f"it is nested deeper than {MOST_DEPTH} levels")
    return text


def _depth(text: str) -> int:
    """How deep the value of a JSON text is nested; not counted inside its texts."""
    depth = deepest = 0
    outside = text.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    for letter in "".join(outside):
        if letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    return deepest


def _repaired(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case list():
            return [_repaired(each) for each in value]
        case dict():
            return {clean(name): _repaired(each) for name, each in value.items()}
        case _:
            return value


# texts


def clean(text: str) -> str:
    """The text as every store can keep it: neither NUL nor half a surrogate pair, and of no class but `str`."""
    text = str.__str__(text)
    if "\0" in text:
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def beginning(text: str, most_bytes: int = MOST_BYTES) -> str:
    """The text, cleaned; of one that is too long the beginning, with a word about the rest."""
    text = str.__str__(text)
    if len(text) <= most_bytes and text.isascii() and "\0" not in text:
        return text
    kept = clean(text[: most_bytes + 1])
    if len(kept.encode()) <= most_bytes:
        return kept
    note = f" … (of {len(text):,} characters)"
    room = max(most_bytes - len(note.encode()), 0)
    return kept.encode()[:room].decode("utf-8", "ignore") + note


def end(text: str, most_bytes: int = MOST_BYTES) -> str:
    """The same, for a text whose end says most."""
    text = str.__str__(text)
    kept = clean(text[-most_bytes - 1 :])
    if len(kept.encode()) <= most_bytes:
        return kept
    note = f"(of {len(text):,} characters) … "
    left_out = len(kept.encode()) + len(note.encode()) - most_bytes
    return note + kept.encode()[left_out:].decode("utf-8", "ignore")


def text_problem(text: object, most_bytes: int = MOST_BYTES) -> str | None:
    """What is wrong with a text that somebody has written, in one line; None if every store can keep it."""
    if not isinstance(text, str):
        return f"{brief(text)} is not text"
    if "\0" in text:
        return f"its character {text.index(chr(0)) + 1:,} is NUL, which not every store can keep; remove it"
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        return f"its character {error.start + 1:,} is half of a pair ({half}); was it read with another encoding?"
    return f"it has {size:,} bytes; the most is {most_bytes:,}" if size > most_bytes else None


def label_problem(text: object) -> str | None:
    """The same for a name or a label, which is short and not empty."""
    problem = text_problem(text)
    if problem is not None or not isinstance(text, str):
        return problem
    if not text:
        return "it is empty"
    return None if len(text) <= MOST_CHARACTERS else f"it has {len(text):,} characters; the most is {MOST_CHARACTERS}"


def can_be_kept(text: object) -> bool:
    """Whether a store could hold anything under this text: else nobody need look for it there."""
    return text_problem(text) is None


def brief(value: object) -> str:
    """`repr()` of a value for a message: short, in one line, also where `repr()` raises."""
    try:
        text = " ".join(_short.repr(value).split())
    except BaseException:  # it is the user's own, and may do anything
        return f"a {type(value).__name__}"
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def shown(value: object) -> str:
    """`str()` of the value, also where that raises."""
    try:
        return str(value)
    except BaseException:  # it is the user's own, and may do anything
        return f"a {type(value).__name__} that cannot be shown"
