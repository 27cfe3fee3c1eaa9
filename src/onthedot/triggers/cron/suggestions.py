"""Errors for the slips that people make in cron texts, each with what was probably meant."""

from __future__ import annotations

import re
from difflib import get_close_matches

from onthedot.errors import TriggerError
from onthedot.triggers.cron.fields import DAY_OF_WEEK, FIVE, MINUTE, MONTH, SECOND, SEVEN, SIX, YEAR, FieldSpec

_RANGE_HINTS = {
    ("second", 60): "the seconds are 0 to 59; for once a minute write 0",
    ("minute", 60): "the minutes are 0 to 59; for once an hour write 0",
    ("hour", 24): "midnight is hour 0",
    ("day of month", 0): "the first day is 1, the last is L",
    ("month", 0): "January is 1",
    ("day of week", 8): "Sunday is 0 or 7, Monday 1, Saturday 6",
}
_FIELD = re.compile(r"[\d*?/,#LWH()~-]*(?:[a-z]{3}[\d/,#-]*)*", re.IGNORECASE)
"""What may be a field, if it stands at the right place; "every" and "at" may not."""
_EVERY = re.compile(r"(?:every\s+)?(\d+)\s*([smhd])\w*", re.IGNORECASE)


def wrong_count(text: str, words: list[str]) -> TriggerError:
    """Neither 5, 6 nor 7 fields."""
    if not words:
        return TriggerError("the cron text is empty", text, 0, "write five fields, such as 0 9 * * mon-fri")
    fields = "1 field" if len(words) == 1 else f"{len(words)} fields"
    reason = f"{fields} where 5 (minute hour day month weekday), 6 (second first) or 7 (year last) are wanted"
    every = _EVERY.fullmatch(text.strip())
    if every:
        hint = f'did you mean every("{every[1]}{every[2].lower()}")?'
    elif len(words) < 5 and not all(_FIELD.fullmatch(word) for word in words):
        hint = "write five fields, such as 0 9 * * mon-fri"
    elif len(words) < 5:
        hint = f"did you mean {' '.join([*words, *['*'] * (5 - len(words))])}?"
    else:
        hint = "does the command still stand behind it?"
    column = len(text.rstrip()) if len(words) < 5 else [match.start() for match in re.finditer(r"\S+", text)][7]
    return TriggerError(reason, text, column, hint)


def unknown_macro(text: str, known: list[str]) -> TriggerError:
    """A word with @ that is none of ours."""
    word = text.strip().lower()
    if word == "@reboot":
        hint = 'no moment belongs to it; run it when a node starts, with app.on("start")'
    elif word.split()[0] != "@every" and (near := get_close_matches(word, known, n=1)):
        hint = f"did you mean {near[0]}?"
    else:
        hint = f"there are {', '.join(known)} and @every 90s"
    return TriggerError(f"{text.strip().split()[0]} is not known", text, text.index("@"), hint)


def not_a_number(text: str, column: int, spec: FieldSpec, word: str) -> TriggerError:
    """Something unreadable; perhaps a name that belongs in another field."""
    wanted = _wanted(spec)
    if not word:
        return TriggerError(f"{spec.name}: a number is missing; expected {wanted}", text, column)
    for other in (DAY_OF_WEEK, MONTH):
        if other is not spec and word in other.names:
            return TriggerError(f"{spec.name}: {word!r} is a {other.name}", text, column, _moved(text, column, other))
    names = get_close_matches(word, spec.names, n=1)
    hint = f"did you mean {names[0]}?" if names else _dialect_hint(spec, word)
    return TriggerError(f"{spec.name}: {word!r} is not {wanted}", text, column, hint)


def out_of_range(text: str, column: int, spec: FieldSpec, number: int) -> TriggerError:
    """A number that the field does not have."""
    hint = _RANGE_HINTS.get((spec.name, number))
    if hint is None and spec is DAY_OF_WEEK and number >= YEAR.low:
        hint = "a year needs all seven fields: second first, year last"
    return TriggerError(f"{spec.name}: {number} is not {_wanted(spec)}", text, column, hint)


def step_too_large(text: str, column: int, spec: FieldSpec, step: int, count: int) -> TriggerError:
    """`*/90` in minutes would fire every hour, which nobody means."""
    unit = {"second": "s", "minute": "m", "hour": "h"}.get(spec.name)
    hint = (
        f'a step starts anew with each range; for every {step} {spec.name}s use every("{step}{unit}")'
        if unit
        else "a step starts anew with each range"
    )
    return TriggerError(
        f"{spec.name}: a step of {step} is larger than the {count} values it walks over", text, column, hint
    )


def never_fires(text: str, *, has_days: bool) -> TriggerError:
    """No day has it; or, with `gap="skip"`, the wall clock jumps over it on the days that do."""
    words = [(match.start(), match[0]) for match in re.finditer(r"\S+", text)]
    place = -3 if len(words) < 7 else -4
    column, day = words[place]
    if has_days:
        hint = 'the wall clock jumps over its time, a gap; with gap="shift" it fires at the end of it'
    elif day in ("29", "30", "31"):
        words[place] = (column, "L")
        hint = f"the last day of the month is L: {' '.join(word for _, word in words)}"
    else:
        hint = "no day from 1970 to 2199 matches all of its fields"
    return TriggerError("this can never fire", text, column, hint)


def _wanted(spec: FieldSpec) -> str:
    names = {"month": " or jan-dec", "day of week": " or sun-sat"}.get(spec.name, "")
    return f"{spec.low}-{spec.high}{names}"


def _dialect_hint(spec: FieldSpec, word: str) -> str | None:
    if re.fullmatch(r"\d*[lw]|l-\d+|lw", word):
        return f"{word.upper()} stands only in a day field"
    if "#" in word:
        return "'#' stands only in day of week: 5#2 is the second Friday"
    if "~" in word:
        return "a random value is written H, which stays the same for the same key"
    return None


def _moved(text: str, column: int, other: FieldSpec) -> str:
    """Where a word belongs, and the text with the word that stands at the column moved there."""
    words = [(match.start(), match[0]) for match in re.finditer(r"\S+", text)]
    specs = {5: FIVE, 6: SIX, 7: SEVEN}[len(words)]
    moved = [word for _, word in words]
    here = max(place for place, (start, _) in enumerate(words) if start <= column)
    there = specs.index(other)
    moved[there], moved[here] = moved[here], "0" if specs[here] in (SECOND, MINUTE) else "*"
    return f"the {other.name} is field {there + 1} of {len(specs)}: {' '.join(moved)}"
