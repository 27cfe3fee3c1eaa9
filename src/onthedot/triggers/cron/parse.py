"""Reads cron texts: 5 fields (minute first), 6 (second first) or 7 (second first, year last)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from onthedot.errors import TriggerError
from onthedot.triggers.cron import slips
from onthedot.triggers.cron.fields import (
    ALL_DAYS_OF_MONTH,
    ALL_YEARS,
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    FIRST_YEAR,
    FIVE,
    SECOND,
    SEVEN,
    SIX,
    YEAR,
    DayRule,
    Fields,
    FieldSpec,
)
from onthedot.triggers.keys import spread_over

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_HASH = re.compile(r"h(?:\((\d+)-(\d+)\))?")
_NEAREST = re.compile(r"(\d+)w")
_FROM_LAST = re.compile(r"l(?:-(\d+))?")


@dataclass(frozen=True, slots=True)
class _Word:
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


@lru_cache(maxsize=65_536)
def parse(text: str, key: str = "") -> Fields:
    """What the text means; `H` is settled by the key. O(length); the same text is read once."""
    return _Reader(text, key).read()


class _Reader:
    def __init__(self, text: str, key: str) -> None:
        self.text = text
        self.key = key
        self.days = _Days()
        self.hashed = False

    def read(self) -> Fields:
        words = self._words()
        specs = {5: FIVE, 6: SIX, 7: SEVEN}.get(len(words))
        if specs is None:
            raise slips.wrong_count(self.text, [word.text for word in words])
        masks = {spec.name: self._field(spec, word) for spec, word in zip(specs, words, strict=True)}
        by_name = {spec.name: word.text for spec, word in zip(specs, words, strict=True)}
        clock = [by_name.get(name, "0") for name in ("second", "minute", "hour")]
        return Fields(
            seconds=masks.get(SECOND.name, 1),
            minutes=masks["minute"],
            hours=masks["hour"],
            day_rule=self._day_rule(masks, by_name),
            fixed=not any(field.startswith("*") for field in clock),
            hashed=self.hashed,
        )

    def _words(self) -> list[_Word]:
        macro = self.text.strip()
        if macro.startswith("@"):
            if macro not in MACROS:
                raise slips.unknown_macro(self.text, list(MACROS))
            return [_Word(word, self.text.index("@")) for word in MACROS[macro].split()]
        return [_Word(match[0].lower(), match.start()) for match in re.finditer(r"\S+", self.text)]

    def _day_rule(self, masks: dict[str, int], by_name: dict[str, str]) -> DayRule:
        days = self.days
        weekdays = masks[DAY_OF_WEEK.name]
        return DayRule(
            days=masks[DAY_OF_MONTH.name],
            months=masks["month"],
            weekdays=(weekdays | weekdays >> 7) & 127,
            years=masks[YEAR.name] >> FIRST_YEAR if YEAR.name in masks else ALL_YEARS,
            from_last=days.from_last,
            nearest=days.nearest,
            last_workday=days.last_workday,
            last_weekdays=days.last_weekdays,
            nth_weekdays=days.nth_weekdays,
            both=by_name[DAY_OF_MONTH.name][0] in "*?" or by_name[DAY_OF_WEEK.name][0] in "*?",
        )

    def _field(self, spec: FieldSpec, word: _Word) -> int:
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
            raise slips.step_too_large(self.text, head.column, spec, step, high - low + 1)
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
