"""What anything that users name may be called: schedules, tasks, flows, steps, calendars."""

from __future__ import annotations

import unicodedata

from onthedot.storable import MOST_CHARACTERS, brief


def name_problem(name: object) -> str | None:
    """What is wrong with a name, in one line, or None."""
    if not isinstance(name, str):
        return f"a name is text, not {brief(name)}"
    if not name.strip():
        return "a name is missing"
    if name != name.strip():
        return f"the name {name!r} begins or ends with a blank, which nobody would see; write {name.strip()!r}"
    if len(name) > MOST_CHARACTERS:
        return f"the name has {len(name)} characters; the most is {MOST_CHARACTERS}"
    if "/" in name:
        return f"'/' cannot stand in a name; write {name.replace('/', '-')!r}"
    if not name.isprintable():
        return f"the name {name!r} has characters that cannot be seen; remove them"
    if not unicodedata.is_normalized("NFC", name):
        return f"the name {name!r} is not in Unicode form NFC; write its letters and accents as single characters"
    return None
