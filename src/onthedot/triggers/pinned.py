"""What triggers name: calendars and named triggers, each by its revision. Revisions never change, so a process that has
read the content of one need not read it again.

A trigger pins a revision by its number and by the digest of its content. The digest makes what is remembered here true
whatever store it came from: two stores may both have a revision 3 of calendar de.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from onthedot.errors import TriggerError

ValueKind = Literal["calendar", "trigger"]
KINDS: tuple[ValueKind, ...] = get_args(ValueKind)
Content = Mapping[str, Any]

_MOST = 100_000
_TYPES: dict[str, ValueKind] = {"calendar": "calendar", "named": "trigger"}
"""What a part of an encoded trigger is, and what it names."""


class Use(NamedTuple):
    """What a trigger names."""

    kind: ValueKind
    name: str

    def __str__(self) -> str:
        """As a schedule keeps it: no name has a slash."""
        return f"{self.kind}/{self.name}"

    @property
    def told(self) -> str:
        """ "calendar de", "trigger hourly"."""
        return f"{self.kind} {self.name}"


class Pin(NamedTuple):
    """The revision that a trigger goes by."""

    rev: int
    digest: str


class Pinned(NamedTuple):
    """One revision of what triggers name."""

    use: Use
    pin: Pin


T = TypeVar("T")
_contents: dict[Pinned, Content] = {}
_read: dict[Pinned, Any] = {}
"""What they are read as; the same for all triggers that pin them."""


def digest_of(content: Content) -> str:
    """The same for the same content, in every process."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def remember(pinned: Pinned, content: Content) -> None:
    """From now on whoever decodes a trigger that pins it knows what it says."""
    while len(_contents) >= _MOST:
        forgotten = next(iter(_contents))
        _contents.pop(forgotten, None)
        _read.pop(forgotten, None)
    _contents[pinned] = content


def forget_all() -> None:
    """As in a process that has just begun."""
    _contents.clear()
    _read.clear()


def read_as(pinned: Pinned, read: Callable[[Content], T]) -> T:
    """What the revision says, read once in a process; `TriggerError` where no store has told it here."""
    known: T | None = _read.get(pinned)
    if known is None:
        known = _read[pinned] = read(content_of(pinned))
    return known


def content_of(pinned: Pinned) -> Content:
    """What the revision says; `TriggerError` where no store has told it here."""
    try:
        return _contents[pinned]
    except KeyError:
        use, pin = pinned
        raise TriggerError(
            f"revision {pin.rev} of {use.told} is not known here", hint="the store that keeps it was not asked"
        ) from None


def unknown_in(triggers: Iterable[Content]) -> set[Pinned]:
    """What these encoded triggers pin, also by way of named triggers, and nobody has read here yet."""
    return {each for trigger in triggers for each in pinned_in(trigger) if each not in _contents}


def pinned_in(trigger: Content) -> Iterator[Pinned]:
    """What an encoded trigger pins; also what is pinned by the named triggers in it, as far as they are known."""
    for each in direct_pins(trigger):
        yield each
        if each.use.kind == "trigger" and each in _contents:
            yield from pinned_in(_contents[each].get("trigger", {}))


@lru_cache(maxsize=4096)
def uses_in(words: tuple[str, ...]) -> tuple[Use, ...]:
    """What a schedule's words stand for."""
    found = (word.partition("/") for word in words)
    return tuple(Use(kind, name) for kind, _, name in found if kind in KINDS)


def direct_pins(part: Any) -> Iterator[Pinned]:
    """What an encoded trigger, or a part of one, pins itself."""
    if isinstance(part, Mapping):
        kind = _TYPES.get(part.get("type", ""))
        if kind is not None and isinstance(part.get("rev"), int):
            yield Pinned(Use(kind, str(part.get("name"))), Pin(part["rev"], str(part.get("digest", ""))))
        for each in (part.get("parts"), part.get("base"), part.get("without")):
            yield from direct_pins(each)
    elif isinstance(part, list | tuple):
        for each in part:
            yield from direct_pins(each)
