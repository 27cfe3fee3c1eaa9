"""A year of a calendar: a row of squares for each month, those of its days filled."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from html import escape

from markupsafe import Markup

from onthedot.triggers.calendar_days import CalendarDays
from onthedot.triggers.dates import iso_day
from onthedot.web.dashboard.charts.shapes import number, text

_EPOCH = date(1970, 1, 1)
_CELL = 20
_LEFT = 34
_TOP = 18
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def days_in(days: CalendarDays, year: int) -> list[tuple[date, str]]:
    """Each day of the year that it holds, and what it is called."""
    first = (date(year, 1, 1) - _EPOCH).days
    found = range(first, (date(year + 1, 1, 1) - _EPOCH).days)
    return [(_EPOCH + timedelta(days=day), days.name_of(day)) for day in found if days.span_of(day) is not None]


def year_chart(days: CalendarDays, year: int) -> Markup:
    """The figure; the list beside it says the same in words."""
    held = dict(days_in(days, year))
    wide, high = _LEFT + 31 * _CELL, _TOP + 12 * _CELL
    parts = [text(_LEFT + (day - 0.5) * _CELL, 12, str(day), "middle", "dim") for day in (1, 8, 15, 22, 29)]
    for month in range(1, 13):
        y = _TOP + (month - 1) * _CELL
        parts.append(text(_LEFT - 8, y + _CELL * 0.7, _MONTHS[month - 1], "end", "dim"))
        parts += [_square(date(year, month, day), y, held) for day in range(1, monthrange(year, month)[1] + 1)]
    head = f'<svg class="year" viewBox="0 0 {wide} {high}" role="img" aria-label="{len(held)} days of {year}">'
    return Markup(head + "".join(parts) + "</svg>")


def _square(day: date, y: float, held: dict[date, str]) -> str:
    kind = "in" if day in held else "rest" if day.weekday() >= 5 else "out"
    place = f'x="{number(_LEFT + (day.day - 1) * _CELL + 1.5)}" y="{number(y + 1.5)}"'
    square = f'<rect class="{kind}" {place} width="{_CELL - 3}" height="{_CELL - 3}" rx="3"'
    if day not in held:
        return f"{square}/>"
    told = f"{iso_day((day - _EPOCH).days)} {held[day]}".strip()
    return f"{square}><title>{escape(told)}</title></rect>"
