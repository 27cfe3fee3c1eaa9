"""How runs ended, how late they began and how long they took: of everything, a schedule, or a task without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from onthedot.app.app import App
from onthedot.durations import spoken_duration
from onthedot.errors import NotFound
from onthedot.insight.statistics import Counts, Percentiles, Period, Statistics
from onthedot.texts import counted
from onthedot.web.dashboard.charts.series import Ends, Span, draw_ends, draw_spans
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.schedule_rows import when_of
from onthedot.web.dashboard.zones import zone_of
from onthedot.web.routes.router import VIEWER
from onthedot.web.security import TheApp

router = new_pages()

CHOICES = (("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days"))
_WIDTHS = (1120.0, 360.0)
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Charts:
    """A figure for wide screens, and one for narrow ones."""

    title: str
    about: str
    wide: Markup
    narrow: Markup


@router.get("/statistics", **VIEWER)
def statistics_page(
    request: Request,
    app: TheApp,
    *,
    schedule: Annotated[str, Query(max_length=_LONGEST)] = "",
    task: Annotated[str, Query(max_length=_LONGEST)] = "",
    step: Annotated[str, Query(max_length=_LONGEST)] = "",
    since: Annotated[str, Query(max_length=100)] = "30d",
) -> HTMLResponse:
    """As it is counted: a minute or two behind."""
    name = schedule.strip() or None
    found = app.statistics(
        schedule=name, task=task.strip() or None, step=step, since=since, timezone=_zone(request, app, name)
    )
    return render(
        request,
        "statistics.html",
        page="statistics",
        live="minute",
        found=found,
        since=since,
        choices=CHOICES,
        span=dict(CHOICES).get(since),
        charts=charts_of(found),
        rate=rate_text,
        said=said,
        label=_label_of(found),
    )


def _zone(request: Request, app: App, name: str | None) -> str:
    zone = zone_of(request)
    if zone.kind != "own" or name is None:
        return zone.name
    try:
        return when_of(app.schedules.remembered(name)).zone or "UTC"
    except NotFound:
        return "UTC"


def charts_of(found: Statistics) -> list[Charts]:
    """Ends, lateness and durations; nothing where nothing ended."""
    if not found.counts.total:
        return []
    label = _label_of(found)
    first, last = label(found.series[0]), label(found.series[-1])
    ends = [_ends(each, label) for each in found.series]
    late = [_span(each, each.counts.lateness, label, "late") for each in found.series]
    took = [_span(each, each.counts.duration, label, "took") for each in found.series]
    each = "day" if found.by == "day" else "hour"
    about = f"each {each}: from the median to the 99th percentile, the small mark is the 95th"
    return [
        Charts("Ended", f"each {each}: well, badly, and neither", *(draw_ends(ends, w, first, last) for w in _WIDTHS)),
        Charts("Began late by", about, *(draw_spans(late, w, first, last) for w in _WIDTHS)),
        Charts("Took", about, *(draw_spans(took, w, first, last) for w in _WIDTHS)),
    ]


def _label_of(found: Statistics) -> Callable[[Period], str]:
    form = "%a %d %b" if found.by == "day" else "%a %d %b %H:%M"
    return lambda period: f"{period.start_at:{form}}"


def _ends(period: Period, label: Callable[[Period], str]) -> Ends:
    counts = period.counts
    good = counts.ended.get("succeeded", 0)
    other = counts.total - good - counts.wrong
    parts = [
        counted(counts.total, "run"),
        *(f"{count:,} {how.replace('_', ' ')}" for how, count in counts.ended.items()),
    ]
    return Ends(good, counts.wrong, other, f"{label(period)}: {', '.join(parts)}")


def _span(period: Period, found: Percentiles | None, label: Callable[[Period], str], word: str) -> Span:
    if found is None:
        return Span(None, None, None, label(period))
    named = ((found.p50_ms, "median"), (found.p95_ms, "95 %"), (found.p99_ms, "99 %"))
    told = ", ".join(f"{said(ms)} ({of})" for ms, of in named)
    return Span(found.p50_ms, found.p95_ms, found.p99_ms, f"{label(period)}: {word} {told}")


def said(ms: int) -> str:
    """A duration in words."""
    return spoken_duration(ms)


def rate_text(counts: Counts) -> str:
    """ "99.9 %": never 100 where one was bad, never 0 where one was good; nothing where none ended well or badly."""
    rate = counts.success_rate
    if rate is None:
        return "–"
    if rate in (0, 1):
        return f"{int(rate) * 100} %"
    return f"{max(min(int(rate * 1000) / 10, 99.9), 0.1):.1f} %"


def brief(app: App, name: str) -> Statistics | None:
    """For the page of a schedule: the last week; None where nothing was counted."""
    try:
        found = app.statistics(schedule=name, since="7d")
    except NotFound:
        return None
    return found if found.counts.total else None
