"""Hypothesis strategies: random cron texts over the whole dialect, awkward zones, and moments near their jumps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from zoneinfo import available_timezones

from hypothesis import assume
from hypothesis import strategies as st

from onthedot.errors import TriggerError
from onthedot.triggers import cron
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.zones import FOLDS, GAPS, get_zone

END = 7_258_118_400
"""2200-01-01T00:00Z in epoch seconds."""

AWKWARD_ZONES = (
    "Australia/Lord_Howe",  # 30 minutes
    "America/Havana",  # midnight is missing, or twice
    "Pacific/Apia",  # a whole day is missing in 2011
    "Pacific/Kwajalein",  # and in 1993
    "Africa/Casablanca",  # four changes a year, and negative daylight saving
    "America/St_Johns",  # changes at 00:01, and once by two hours
    "Asia/Kathmandu",  # 15 minutes in 1986
    "Antarctica/Troll",  # two hours
    "Africa/Monrovia",  # 44 minutes and 30 seconds, in 1972
    "Europe/Dublin",  # summer is standard time
    "America/Nuuk",  # changes on Saturday evening
    "Pacific/Chatham",  # 45 minutes off
    "America/New_York",
    "Europe/London",
    "Europe/Berlin",
    "Africa/Cairo",
    "Asia/Beirut",
    "America/Santiago",
    "Asia/Gaza",
    "UTC",
)


@dataclass(frozen=True, slots=True)
class Names:
    """The numbers of a field, and how they may be written."""

    low: int
    high: int
    words: tuple[str, ...] = ()

    def write(self, number: int, named: bool) -> str:
        return self.words[number - self.low] if named and number - self.low < len(self.words) else str(number)


SECONDS = MINUTES = Names(0, 59)
HOURS = Names(0, 23)
DAYS = Names(1, 31)
MONTHS = Names(1, 12, ("jan", "FEB", "march", "apr", "May", "jun", "JULY", "aug", "sep", "oct", "nov", "december"))
WEEKDAYS = Names(0, 7, ("sun", "Monday", "TUE", "wed", "thu", "friday", "Sat"))

zones = st.sampled_from(AWKWARD_ZONES) | st.sampled_from(sorted(available_timezones() - {"localtime"}))
gaps = st.sampled_from(GAPS)
folds = st.sampled_from(FOLDS)


@st.composite
def _plain(draw: st.DrawFn, names: Names, wraps: bool = True) -> str:
    """`a`, `a-b`, `a-b/n`, `a/n`, or `*/n`."""
    named = draw(st.booleans())
    first, last = draw(st.integers(names.low, names.high)), draw(st.integers(names.low, names.high))
    if first > last and not wraps:
        first, last = last, first
    top = 6 if names is WEEKDAYS else names.high
    shape = draw(st.sampled_from(("number", "number", "range", "range", "stepped range", "start", "star")))
    if shape == "number":
        return names.write(first, named)
    if shape == "star":
        return f"*/{draw(st.integers(1, top - names.low + 1))}"
    if shape == "start":
        start = min(first, top)
        return f"{names.write(start, named)}/{draw(st.integers(1, top - start + 1))}"
    span = f"{names.write(first, named)}-{names.write(last, named)}"
    if shape == "range":
        return span
    low = 0 if names is WEEKDAYS and first == 7 > last else first
    count = last - low + 1 if low <= last else top - low + 1 + last - names.low + 1
    return f"{span}/{draw(st.integers(1, count))}"


def _listed(item: st.SearchStrategy[str], most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(item, min_size=1, max_size=most).map(",".join)


def _field(names: Names, *specials: st.SearchStrategy[str], wraps: bool = True) -> st.SearchStrategy[str]:
    return st.one_of(st.just("*"), _plain(names, wraps), _listed(st.one_of(_plain(names, wraps), *specials)))


def _hashed(names: Names, high: int) -> st.SearchStrategy[str]:
    ends = st.tuples(st.integers(names.low, high), st.integers(names.low, high)).map(sorted)
    return st.one_of(
        st.just("H"),
        st.integers(1, high - names.low + 1).map("H/{}".format),
        ends.map(lambda pair: "H({}-{})".format(*pair)),
    )


_day_specials = (
    st.sampled_from(("L", "LW", "l", "lw")),
    st.integers(0, 30).map("L-{}".format),
    st.integers(1, 31).map("{}W".format),
)
_weekday_specials = (
    st.builds("{}#{}".format, st.sampled_from(("0", "1", "5", "7", "Mon", "sunday")), st.integers(1, 5)),
    st.sampled_from(("0L", "5L", "7l", "friL", "MONl")),
)
_years = st.one_of(
    st.just("*"),
    st.integers(1970, 2199).map(str),
    st.tuples(st.integers(1970, 2199), st.integers(0, 60)).map(lambda pair: f"{pair[0]}-{min(sum(pair), 2199)}"),
    st.integers(1, 12).map("*/{}".format),
    st.integers(2000, 2030).map("{0}/4".format),
)


@st.composite
def texts(draw: st.DrawFn, hashed: bool = True) -> str:
    """A cron text of 5, 6 or 7 fields; perhaps one that can never fire."""
    second = draw(st.one_of(st.just("0"), st.integers(0, 59).map(str), _field(SECONDS)))
    words = [draw(_field(MINUTES)), draw(_field(HOURS))]
    words.append(draw(st.one_of(st.just("*"), st.just("?"), _field(DAYS, *_day_specials))))
    words.append(draw(st.one_of(st.just("*"), _field(MONTHS))))
    words.append(draw(st.one_of(st.just("*"), st.just("?"), _field(WEEKDAYS, *_weekday_specials))))
    if hashed and draw(st.integers(0, 3)) == 0:
        place, names, high = draw(st.sampled_from(((0, MINUTES, 59), (1, HOURS, 23), (2, DAYS, 28), (4, WEEKDAYS, 6))))
        words[place] = draw(_hashed(names, high))
    match draw(st.sampled_from((5, 5, 6, 7))):
        case 6:
            words = [second, *words]
        case 7:
            words = [second, *words, draw(_years)]
    return " ".join(words)


@st.composite
def triggers(draw: st.DrawFn, hashed: bool = True, most_a_day: int | None = None) -> Cron:
    """A cron trigger that can fire, in a random zone, often with the default rule; thinned out if it is too dense."""
    text, tz = draw(texts(hashed)), draw(zones)
    gap, fold = draw(st.none() | gaps), draw(st.none() | folds)
    key = draw(st.sampled_from(("", "digest-eu", "a"))) if "H" in text else ""
    made = _made(text, tz, gap, fold, key)
    if made is not None and most_a_day is not None and ticks_a_day(made) > most_a_day:
        made = _made(draw(_thinned(text)), tz, gap, fold, key)
    assume(made is not None)
    assert made is not None
    return made


@st.composite
def _thinned(draw: st.DrawFn, text: str) -> str:
    """The text on the same days, but only a few times in the hours in which wall clocks jump."""
    words = text.split()
    seconds, rest = (words[:1], words[3:]) if len(words) > 5 else ([], words[2:])
    second = [draw(st.sampled_from(("0", "30", "*/20")))] if seconds else []
    minute = draw(st.sampled_from(("0", "30", "59", "*/15", "0,1", "H")))
    hour = draw(st.sampled_from(("0", "1,2", "0-3", "23-1", "*/2", "2", "*")))
    return " ".join([*second, minute, hour, *rest])


@cache
def _made(text: str, tz: str, gap: object, fold: object, key: str) -> Cron | None:
    try:
        made = cron(text, tz=tz, gap=gap, fold=fold)  # type: ignore[arg-type]
        assert isinstance(made, Cron)
        return made.with_key(key)
    except TriggerError as error:
        if "can never fire" in error.reason:
            return None
        raise


def ticks_a_day(trigger: Cron) -> int:
    """How many labels of a matching day match."""
    fields = trigger.fields
    return fields.seconds.bit_count() * fields.minutes.bit_count() * fields.hours.bit_count()


@cache
def jumps(tz: str) -> tuple[int, ...]:
    """The instants from 1970 to 2199 at which the zone's wall clock jumps; the two ends of time where it never does."""
    found = tuple(instant for instant in get_zone(tz).instants if 0 <= instant < END)
    return found or (0, END - 1)


def moments(tz: str) -> st.SearchStrategy[int]:
    """Epoch seconds from 1970 to 2199, most of them within a day or two of a jump of the zone."""
    near = st.builds(
        lambda jump, away: min(max(jump + away, 0), END - 1),
        st.sampled_from(jumps(tz)),
        st.one_of(st.integers(-3, 3), st.integers(-9000, 9000), st.integers(-180_000, 180_000)),
    )
    return st.one_of(near, near, near, st.integers(0, END - 1), st.sampled_from((0, 1, END - 1, END - 86_400)))
