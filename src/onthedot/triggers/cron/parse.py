"""Reads cron texts: 5 fields (minute first), 6 (second first) or 7 (second first, year last)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from onthedot.errors import TriggerError
from onthedot.triggers.cron import suggestions as slips
from onthedot.triggers.cron.fields import (
    ALL_DAYS_OF_MONTH,
    ALL_YEARS,
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    FIRST_YEAR,
    FIVE,
    SEVEN,
    SIX,
    YEAR,
    DayRule,
    Fields,
    FieldSpec,
)
from onthedot.triggers.stable_hash import spread_over

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_SPECS = {5: FIVE, 6: SIX, 7: SEVEN}
_MOST_PLAIN = 20_000
MOST_CHARACTERS = 2000
"""All numbers of all fields are fewer. What was read is kept, so it may not be of any length."""
_plain_masks: dict[tuple[str, str], int] = {}
"""Fields read before whose mask says it all: no H, L, W or #. There are few, and they come again and again."""

_SPECIAL = re.compile("[hlw#]")  # also in some names, which are then read anew each time
_HASH = re.compile(r"h(?:\((\d+)-(\d+)\))?")
_NEAREST = re.compile(r"(\d+)w")
_FROM_LAST = re.compile(r"l(?:-(\d+))?")


class _Word(NamedTuple):
    """A piece of the text, and where it stands."""

    text: str
    column: int


@dataclass(slots=True)
class _Days:
    """What day of month and day of week gather beside their plain numbers."""

    from_last: int = 0
    nearest: int = 0
    last_workday: bool = False
    last_weekdays: int = 0
    nth_weekdays: int = 0


def parse(text: str, key: str) -> Fields:
    """What the text means; `H` is settled by the key. O(length); the same text is read once."""
    if len(text) > MOST_CHARACTERS:
        raise TriggerError(f"a cron text has {MOST_CHARACTERS:,} characters at most, and this one {len(text):,}")
    return _parse(text, key)


@lru_cache(maxsize=65_536)
def _parse(text: str, key: str) -> Fields:
    macro = text.strip().lower()
    if macro.startswith("@") and macro not in MACROS:
        raise slips.unknown_macro(text, list(MACROS))
    return _Reader(MACROS.get(macro, text), key).read()


class _Reader:
    def __init__(self, text: str, key: str) -> None:
        self.text = text
        self.key = key
        self.days = _Days()
        self.hashed = False

    def read(self) -> Fields:
        words = self.text.lower().split()
        specs = _SPECS.get(len(words))
        if specs is None:
            raise slips.wrong_count(self.text, words)
        masks = [self._field(spec, words, place) for place, spec in enumerate(specs)]
        if specs is FIVE:
            words, masks = ["0", *words], [1, *masks]
        second, minute, hour, day, month, weekday = masks[:6]
        year = masks[6] >> FIRST_YEAR if specs is SEVEN else ALL_YEARS
        both = words[3][0] in "*?" or words[5][0] in "*?"
        fixed = "*" not in (words[0][0], words[1][0], words[2][0])
        return Fields(second, minute, hour, self._day_rule(day, month, weekday, year, both), fixed, self.hashed)

    def _day_rule(self, day: int, month: int, weekday: int, year: int, both: bool) -> DayRule:
        special = self.days
        return DayRule(
            days=day,
            months=month,
            weekdays=(weekday | weekday >> 7) & 127,
            years=year,
            from_last=special.from_last,
            nearest=special.nearest,
            last_workday=special.last_workday,
            last_weekdays=special.last_weekdays,
            nth_weekdays=special.nth_weekdays,
            both=both,
        )

    def _field(self, spec: FieldSpec, words: list[str], place: int) -> int:
        known = _plain_masks.get((spec.name, words[place]))
        if known is not None:
            return known
        column = [match.start() for match in re.finditer(r"\S+", self.text)][place]
        mask = self._items(spec, _Word(words[place], column))
        if not _SPECIAL.search(words[place]) and len(_plain_masks) < _MOST_PLAIN:
            _plain_masks[spec.name, words[place]] = mask
        return mask

    def _items(self, spec: FieldSpec, word: _Word) -> int:
        mask, column = 0, word.column
        for part in word.text.split(","):
            mask |= self._item(spec, _Word(part, column))
            column += len(part) + 1
        return mask

    def _item(self, spec: FieldSpec, item: _Word) -> int:
        if not item.text:
            raise self._error(spec, item, "something is missing beside the comma")
        if item.text == "?":
            if "?" not in spec.specials:
                raise self._error(spec, item, "'?' stands only for a day", "write *")
            return self._all(spec)
        if self._special(spec, item):
            return 0
        base, slash, step_text = item.text.partition("/")
        step = self._step(spec, _Word(step_text, item.column + len(base) + 1), slash)
        head = _Word(base, item.column)
        if base.startswith("h") and (found := _HASH.fullmatch(base)):
            return self._hash(spec, head, found, step)
        numbers = self._numbers(spec, head, slash)
        if step is not None and step > len(numbers):
            raise slips.step_too_large(self.text, item.column + len(base) + 1, spec, step, len(numbers))
        return sum(1 << number for number in set(numbers[:: step or 1]))

    def _numbers(self, spec: FieldSpec, head: _Word, slash: str) -> list[int]:
        """All numbers of `*`, `a`, `a-b` or `a/`, in their order; a range may wrap around."""
        if head.text == "*":
            return list(range(spec.low, self._top(spec) + 1))
        first_text, dash, last_text = head.text.partition("-")
        first = self._number(spec, _Word(first_text, head.column))
        if not dash:
            return list(range(first, self._top(spec) + 1)) if slash else [first]
        last = self._number(spec, _Word(last_text, head.column + len(first_text) + 1))
        if spec is DAY_OF_WEEK and first == 7 > last:
            first = 0
        if first <= last:
            return list(range(first, last + 1))
        if spec is YEAR:
            raise self._error(spec, head, f"{head.text} runs backwards")
        return [*range(first, self._top(spec) + 1), *range(spec.low, last + 1)]

    def _number(self, spec: FieldSpec, word: _Word) -> int:
        if word.text in spec.names:
            return spec.names[word.text]
        if not (word.text.isascii() and word.text.isdigit()):
            raise slips.not_a_number(self.text, word.column, spec, word.text)
        number = int(word.text)
        if not spec.low <= number <= spec.high:
            raise slips.out_of_range(self.text, word.column, spec, number)
        return number

    def _step(self, spec: FieldSpec, word: _Word, slash: str) -> int | None:
        if not slash:
            return None
        if not (word.text.isascii() and word.text.isdigit()) or int(word.text) == 0:
            raise self._error(spec, word, f"the step {word.text!r} is not a number from 1 up")
        return int(word.text)

    def _hash(self, spec: FieldSpec, head: _Word, found: re.Match[str], step: int | None) -> int:
        if spec.hash_high is None:
            raise self._error(spec, head, "'H' cannot stand here", "write *")
        low, high = spec.low, spec.hash_high
        if found[1]:
            low, high = (
                self._number(spec, _Word(number, head.column + found.start(i)))
                for i, number in enumerate(found.groups(), 1)
            )
            if low > high:
                raise self._error(spec, head, f"H({low}-{high}) runs backwards")
        self.hashed = True
        if step is None:
            return 1 << low + spread_over(self.key, spec.name, high - low + 1)
        if step > high - low + 1:
            raise slips.step_too_large(self.text, head.column + len(head.text) + 1, spec, step, high - low + 1)
        return sum(1 << number for number in range(low + spread_over(self.key, spec.name, step), high + 1, step))

    def _special(self, spec: FieldSpec, item: _Word) -> bool:
        """Takes in L, L-3, LW, 15W, 5L and 5#2; says whether the item was one of them."""
        if spec is DAY_OF_MONTH:
            return self._special_day(spec, item)
        if spec is DAY_OF_WEEK:
            return self._special_weekday(spec, item)
        return False

    def _special_day(self, spec: FieldSpec, item: _Word) -> bool:
        if item.text == "lw":
            self.days.last_workday = True
        elif found := _FROM_LAST.fullmatch(item.text):
            before = int(found[1] or 0)
            if before > 30:
                raise self._error(spec, item, f"no month has {before} days before its last", "L-30 is the most")
            self.days.from_last |= 1 << before
        elif found := _NEAREST.fullmatch(item.text):
            self.days.nearest |= 1 << self._number(spec, _Word(found[1], item.column))
        else:
            return False
        return True

    def _special_weekday(self, spec: FieldSpec, item: _Word) -> bool:
        weekday, sharp, nth = item.text.partition("#")
        if sharp:
            if nth not in {"1", "2", "3", "4", "5"}:
                raise self._error(
                    spec,
                    _Word(nth, item.column + len(weekday) + 1),
                    f"'#{nth}' is not #1 to #5",
                    "5#2 is the second Friday",
                )
            number = self._number(spec, _Word(weekday, item.column)) % 7
            self.days.nth_weekdays |= 1 << number * 5 + int(nth) - 1
            return True
        if item.text == "l":
            raise self._error(
                spec,
                item,
                "'L' alone names no weekday",
                "5L is the last Friday; the last day of the month is L in day of month",
            )
        if item.text.endswith("l") and (item.text[:-1] in spec.names or item.text[:-1].isdigit()):
            self.days.last_weekdays |= 1 << self._number(spec, _Word(item.text[:-1], item.column)) % 7
            return True
        return False

    def _error(self, spec: FieldSpec, word: _Word, reason: str, hint: str | None = None) -> TriggerError:
        return TriggerError(f"{spec.name}: {reason}", self.text, word.column, hint)

    @staticmethod
    def _top(spec: FieldSpec) -> int:
        return 6 if spec is DAY_OF_WEEK else spec.high

    @staticmethod
    def _all(spec: FieldSpec) -> int:
        return ALL_DAYS_OF_MONTH if spec is DAY_OF_MONTH else 127
