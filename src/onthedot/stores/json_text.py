"""JSON and other text as databases keep it. What many rows share is encoded and decoded once.

Nothing that a task can return or raise is refused by a database: JSON is plain ASCII, and other text is cleaned.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from onthedot.model.policy import Policy
from onthedot.storable import beginning

_encoder = json.JSONEncoder(separators=(",", ":"))
# Between two words stands a line break, which no JSON text has inside: so a search for '"word"' finds words only.
_word_encoder = json.JSONEncoder(separators=(",\n", ":"))
_decoder = json.JSONDecoder()
UNREADABLE = (ValueError, TypeError, RecursionError)
"""What reading a text raises that is not what it should be."""


class Unreadable(dict[str, Any]):
    """Stands for JSON that cannot be read: no trigger, and no arguments of anything."""

    def __init__(self, why: object) -> None:
        super().__init__({"v": 1, "type": f"unreadable ({why})"})


encode = _encoder.encode
"""As short as it can be; `TypeError` if the value is none of JSON."""


def decode(text: str) -> Any:
    """Whatever it is."""
    value, end = _decoder.raw_decode(text)  # half the time of `loads`, which looks for white space that we never write
    return value if end == len(text) else _decoder.decode(text)


def value_or_sign(text: str) -> Any:
    """Whatever it is, or an `Unreadable`."""
    try:
        return decode(text)
    except UNREADABLE as error:
        return Unreadable(error)


# objects


def json_object(text: str) -> dict[str, Any]:
    """A new one each time, for whoever may change it in place."""
    if text == "{}":
        return {}
    value = decode(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def object_or_sign(text: str) -> dict[str, Any]:
    """A new one, or an `Unreadable`."""
    try:
        return json_object(text)
    except UNREADABLE as error:
        return Unreadable(error)


# policies


@lru_cache(maxsize=4096)
def policy_from(text: str) -> Policy:
    """One for all rows that have this text."""
    return Policy.from_json(json_object(text))


UNREADABLE_POLICY = Policy()
"""Stands for one that cannot be read, and is written so that it stays unreadable."""
_policy_texts: dict[int, tuple[Policy, str]] = {id(UNREADABLE_POLICY): (UNREADABLE_POLICY, "unreadable")}


def policy_text(policy: Policy) -> str:
    """Found by identity, since rows share their policies: the hash of twenty fields costs more than all else here."""
    known = _policy_texts.get(id(policy))
    if known is not None and known[0] is policy:
        return known[1]
    text = encode(policy.as_json())
    if len(_policy_texts) >= 4096:
        _policy_texts.clear()
        _policy_texts[id(UNREADABLE_POLICY)] = UNREADABLE_POLICY, "unreadable"
    _policy_texts[id(policy)] = policy, text
    return text


# lists of words


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """One for all rows that have this text."""
    return tuple(decode(text))


@lru_cache(maxsize=4096)
def words_text(words: tuple[str, ...]) -> str:
    """A list, in which a search finds whole words."""
    return _word_encoder.encode(words)


def word_in_words(word: str) -> str:
    """What stands in the text of a list of words if, and only if, this word is one of them."""
    return encode(word)


# other text


def clean(text: str | None) -> str | None:
    """Text from outside, as a database takes it: the last net, since those who make texts have looked already."""
    return None if text is None else beginning(text)
