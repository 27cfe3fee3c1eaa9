"""A kept trigger as people write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PLAIN = {
    "cron": {"v", "type", "text", "tz", "gap", "fold", "key"},
    "every": {"v", "type", "interval", "at", "tz", "gap", "fold", "key"},
}
"""With no other fields than these a trigger can be typed in one line, beside its zone, gap and fold."""


def written(value: Mapping[str, Any]) -> str:
    """Short, for people: "30 2 * * *", "@every 30s", "2026-12-24T18:00:00Z", "0 9 * * * except calendar de"."""
    match value:
        case {"type": "cron", "text": text}:
            return str(text)
        case {"type": "every", "interval": interval, "at": time}:
            return f"every {interval} at {time}"
        case {"type": "every", "interval": interval}:
            return f"@every {interval}"
        case {"type": "at", "at": moment}:
            return str(moment)
        case {"type": "union", "parts": list() as parts}:
            return " | ".join(written(part) for part in parts)
        case {"type": "exclusion", "base": Mapping() as base, "without": list() as without}:
            return f"{written(base)} except {', '.join(written(each) for each in without)}"
        case {"type": "dates", "dates": list() as days}:
            return ", ".join(map(str, days))
        case {"type": "calendar", "name": name}:
            return f"calendar {name}"
        case {"type": "named", "name": name}:
            return f"trigger {name}"
        case _:
            return str(value.get("type", "?"))


def can_be_typed(value: Mapping[str, Any]) -> bool:
    """Whether its text, zone, gap and fold are all there is to it."""
    return not set(value) - _PLAIN.get(str(value.get("type")), set())
