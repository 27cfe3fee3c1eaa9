"""How it stands, what is wrong, and what is coming."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query, Request

from onthedot.app.app import App
from onthedot.app.json_documents import finding_document, finite, minute_document, statistics_document, status_document
from onthedot.app.outlook import StoreOutlook, needs_of, notes_on, outlook
from onthedot.clock import SystemClock
from onthedot.durations import format_duration, to_duration_ms
from onthedot.errors import MomentError
from onthedot.insight.doctor import examine
from onthedot.insight.status import Status
from onthedot.moments import ceil_ms, from_ms, iso
from onthedot.stores.open import mask_url
from onthedot.web import models
from onthedot.web.keeper import Keeper
from onthedot.web.reading import now_ms_of
from onthedot.web.routes.router import VIEWER, new_router
from onthedot.web.security import TheApp
from onthedot.web.watching import TheWatcher, Watcher

router = new_router()

_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000
_MOST_DAYS = 31
_MOST_BUCKETS = 10_080
_MOST_COMING = 1000
_BUSIEST = 5


@router.get("/status", **VIEWER)
def status(request: Request, app: TheApp) -> dict[str, Any]:
    """Whether all is well, what is late, what failed lately and who is alive; as `onthedot status --json`. `at` is when
    it was so: a while ago, where there is so much to look at that reading takes long."""
    kept: Keeper[Status] = request.app.state.status
    document: dict[str, Any] = finite(status_document(kept.read(app.open_store()), mask_url(app.url)))
    return document


@router.get("/doctor", **VIEWER)
def doctor(app: TheApp) -> models.Findings:
    """What is wrong with the store and its nodes; as `onthedot doctor --json`."""
    found = examine(app.open_store(), SystemClock())
    return models.Findings(store=mask_url(app.url), findings=[finding_document(each) for each in found])


@router.get("/lateness", **VIEWER)
def lateness(
    app: TheApp,
    start: Annotated[str | None, Query(alias="from", description="An hour before the end, if left out.")] = None,
    end: Annotated[str | None, Query(alias="to", description="Now, if left out; 7 days later at most.")] = None,
) -> models.Lateness:
    """How many runs began and ended in each minute, and how late they began: as nodes have counted them."""
    end_ms = now_ms_of(app) if end is None else ceil_ms(end)
    start_ms = end_ms - _HOUR_MS if start is None else ceil_ms(start)
    minutes = app.lateness(from_ms(start_ms), from_ms(end_ms))
    return models.Lateness(
        start=iso(start_ms),
        end=iso(end_ms),
        begun=sum(each.begun for each in minutes),
        minutes=[models.MinuteCounts(**minute_document(each)) for each in minutes],
    )


@router.get("/statistics", **VIEWER)
def statistics(
    app: TheApp,
    *,
    schedule: Annotated[str | None, Query(description="Of this schedule.")] = None,
    task: Annotated[str | None, Query(description="Of the runs that this task has without a schedule.")] = None,
    step: Annotated[str, Query(description="Of this step of the schedule's flow.")] = "",
    since: Annotated[str, Query(description="A moment, or how long ago; 31 days at most.")] = "30d",
    by: Annotated[Literal["hour", "day"] | None, Query(description="By the hour up to two days, if left out.")] = None,
    tz: Annotated[str | None, Query(description="In which days begin; the server's, if left out.")] = None,
) -> models.Statistics:
    """How runs ended, how late they began and how long they took: as a whole and by the hour or day. What ended is
    counted a minute or two later; `counted_until` says how far that is."""
    found = app.statistics(schedule=schedule, task=task, step=step, since=since, by=by, timezone=tz)
    return models.Statistics(**statistics_document(found))


@router.get("/forecast", **VIEWER)
def forecast(
    app: TheApp,
    watcher: TheWatcher,
    *,
    start: Annotated[str | None, Query(alias="from", description="Now, if left out.")] = None,
    end: Annotated[str | None, Query(alias="to", description="A day later, if left out.")] = None,
    bucket: str = "1h",
    tag: str | None = None,
    at: Annotated[str | None, Query(description="The runs of the bucket that begins here.")] = None,
) -> models.Forecast:
    """How many runs begin when, and the busiest of these stretches."""
    first_ms = now_ms_of(app) if start is None else ceil_ms(start)
    end_ms = first_ms + _DAY_MS if end is None else ceil_ms(end)
    step_ms = to_duration_ms(bucket)
    _check_window(first_ms, end_ms, step_ms)
    seen = _outlook(watcher, app, first_ms, end_ms, tag)
    chosen = None if at is None else seen.runs_in(ceil_ms(at), ceil_ms(at) + step_ms, _MOST_COMING)
    return models.Forecast(
        start=iso(first_ms),
        end=iso(end_ms),
        bucket=format_duration(step_ms),
        runs=len(seen),
        counts=seen.counts(step_ms),
        busiest=[models.Bucket(at=iso(ms), runs=runs) for ms, runs in seen.busiest(step_ms, _BUSIEST)],
        notes=_notes(watcher),
        coming=None if chosen is None else [models.ComingRun(at=iso(ms), name=name) for ms, name in chosen],
    )


def _outlook(watcher: Watcher, app: App, first_ms: int, end_ms: int, tag: str | None) -> StoreOutlook:
    """From the index that the watcher keeps, where that reaches so far."""
    if tag is not None:
        return watcher.outlook_tagged(tag, first_ms, end_ms)
    kept = watcher.outlook()
    if kept.covers(first_ms, end_ms):
        return kept.within(first_ms, end_ms)
    return outlook(app.open_store, first_ms, end_ms)


def _notes(watcher: Watcher) -> list[str]:
    seen = watcher.snapshot()
    return notes_on(needs_of(watcher.planned()), seen.nodes, seen.schedules.undeclared, watcher.now_ms())


def _check_window(first_ms: int, end_ms: int, step_ms: int) -> None:
    if not first_ms < end_ms <= first_ms + _MOST_DAYS * _DAY_MS:
        raise MomentError(f"forecast: `to` must be later than `from`, by {_MOST_DAYS} days at most")
    if step_ms <= 0 or (end_ms - first_ms) // step_ms > _MOST_BUCKETS:
        raise MomentError(f"forecast: that is more than {_MOST_BUCKETS:,} buckets; take a longer one")
