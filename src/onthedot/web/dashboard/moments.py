"""How moments and durations are told: filters for templates, and plain functions for charts."""

from __future__ import annotations

from datetime import datetime, tzinfo

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from onthedot.durations import spoken_duration
from onthedot.moments import END_MS, FIRST_MS, from_ms, iso
from onthedot.texts import many
from onthedot.web.dashboard.zones import Zone

_SECOND, _MINUTE = 1000, 60_000
_WEEK_DAYS = 6
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
NEVER = "–"


def told(ms: int, now_ms: int, zone: tzinfo, form: str = "auto") -> str:
    """A moment as short as it can be told beside now: 14:30, Fri 02:30, 1 Apr 06:00, 1 Apr 2027 06:00.

    Where clocks were set back, what comes the second time says so: 02:30 CET.
    Forms: auto; time (the clock alone); exact (with milliseconds); full (with its day and seconds); day.
    """
    moment, now = from_ms(ms).astimezone(zone), from_ms(now_ms).astimezone(zone)
    match form:
        case "time":
            return _clock(moment)
        case "exact":
            return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}{second_time(moment)}"
        case "full":
            return f"{moment:%Y-%m-%d %H:%M:%S}{second_time(moment)}"
        case "day":
            return _day(moment, now)
        case _:
            return (
                _clock(moment) if moment.date() == now.date() else f"{_day(moment, now)} {_clock(moment, short=True)}"
            )


def _clock(moment: datetime, *, short: bool = False) -> str:
    is_short = short or (moment.second == 0 and moment.microsecond == 0)
    return f"{moment:%H:%M}{second_time(moment)}" if is_short else f"{moment:%H:%M:%S}{second_time(moment)}"


def second_time(moment: datetime) -> str:
    """What tells an hour that the clock shows for the second time from the first: " CET"; else nothing."""
    return f" {moment:%Z}" if moment.fold else ""


def _day(moment: datetime, now: datetime) -> str:
    days = (moment.date() - now.date()).days
    if 0 < days <= _WEEK_DAYS:
        return _DAYS[moment.weekday()]
    year = "" if moment.year == now.year else f" {moment.year}"
    return f"{moment.day} {_MONTHS[moment.month - 1]}{year}"


def duration(ms: float | None) -> str:
    """Two units at most: 5 ms, 3.1 s, 41 s, 7 min 20 s, 46 min, 11 h 30 min, 5 d 14 h."""
    if ms is None:
        return NEVER
    if ms < 0:
        return f"−{duration(-ms)}"
    return spoken_duration(round(ms))


# filters


@pass_context
def moment(context: Context, ms: int | None, form: str = "auto", *, own: str | None = None) -> Markup:
    """`{{ run.due_ms|moment }}`: in the page's zone; `own` is the zone of its schedule. The title is ISO, in UTC."""
    if ms is None:
        return Markup(NEVER)
    if not FIRST_MS <= ms < END_MS:
        return Markup("another age")
    zone: Zone = context["zone"]
    text = told(ms, context["now_ms"], zone.at(own), form)
    return _time(ms, text)


def _time(ms: int, text: str, **data: str) -> Markup:
    more = Markup("").join(Markup(' data-{}="{}"').format(name, value) for name, value in data.items())
    return Markup('<time datetime="{0}" title="{0}" data-ms="{1}"{2}>{3}</time>').format(iso(ms), ms, more, text)


@pass_context
def until(context: Context, ms: int | None) -> Markup:
    """`{{ schedule.next_run_ms|until }}`: how long it is till then, "now" when it has come. times.js counts on."""
    return _counting(context, ms, "until")


@pass_context
def coming(context: Context, ms: int | None) -> Markup:
    """`{{ schedule.next_run_ms|coming }}`: the same with the word: in 5 s, now."""
    return _counting(context, ms, "coming")


@pass_context
def ago(context: Context, ms: int | None) -> Markup:
    """`{{ node.renewed_ms|ago }}`: how long it is since then; add the word "ago" yourself. times.js counts on."""
    return _counting(context, ms, "ago")


@pass_context
def since(context: Context, ms: int | None) -> Markup:
    """`{{ change.at_ms|since }}`: the same with the word: 5 s ago, just now."""
    return _counting(context, ms, "since")


def _counting(context: Context, ms: int | None, how: str) -> Markup:
    if ms is None:
        return Markup(NEVER)
    left = ms - context["now_ms"]
    time = in_seconds(left if how in ("until", "coming") else -left)
    with_word = {
        "since": "just now" if time == "now" else f"{time} ago",
        "coming": time if time == "now" else f"in {time}",
    }
    return _time(ms, with_word.get(how, time), counts=how)


def in_seconds(ms: int) -> str:
    """For what counts in sight: no tenths, and "now" below a second."""
    if ms < _SECOND:
        return "now"
    return f"{ms // _SECOND} s" if ms < _MINUTE else duration(ms)


FILTERS = {
    "moment": moment,
    "until": until,
    "coming": coming,
    "ago": ago,
    "since": since,
    "duration": duration,
    "many": many,
}
