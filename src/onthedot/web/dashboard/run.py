"""`/runs/{id}`: the story of one run, its attempts, what it said, what it was given and what came of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import tzinfo
from functools import partial
from typing import Any

from fastapi import Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, StreamingResponse

from onthedot.app.app import App
from onthedot.errors import MomentError, RunNotFound
from onthedot.insight.flow_steps import run_of_step
from onthedot.insight.run_report import RunReport, Try
from onthedot.model.ids import made_ms
from onthedot.model.log_line import LogLine
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.states import State
from onthedot.model.step_status import StepStatus
from onthedot.moments import floor_ms, iso
from onthedot.rules import backfill
from onthedot.web.dashboard.addresses import Addresses
from onthedot.web.dashboard.charts.attempts import MOST_ROWS, Course, draw
from onthedot.web.dashboard.charts.flow import draw as draw_flow
from onthedot.web.dashboard.filling import filling_of
from onthedot.web.dashboard.frame import render
from onthedot.web.dashboard.moments import told
from onthedot.web.dashboard.own_zones import own_zones
from onthedot.web.dashboard.page_route import new_pages
from onthedot.web.dashboard.prose import prose
from onthedot.web.dashboard.room import cut, cut_front
from onthedot.web.dashboard.run_log import LONGEST, LogPage, Wanted, headings_of, kind_of, read_page
from onthedot.web.dashboard.zones import zone_of
from onthedot.web.places import look
from onthedot.web.routes.router import VIEWER
from onthedot.web.security import TheApp

router = new_pages()

_MOST_JSON, _MOST_TRACE = 3000, 6000
"""Bytes of HTML."""
_PAGE = 1000
_MOST_SHARDS = 40


@router.get("/runs/{run_id}", **VIEWER)
def run_page(request: Request, app: TheApp, run_id: str) -> HTMLResponse:
    """All that is known of it; where nothing is kept any more, that."""
    try:
        report = app.runs.report(run_id)
    except RunNotFound:
        return _pruned(request, run_id)
    run, store = report.run, app.open_store()
    of = report.filled_in[0].run if report.filled_in else run  # a backfill is told in the zone of its schedule
    own = own_zones(store, [of]).get(of.schedule or "")
    zone = zone_of(request).at(own)
    log = read_page(partial(_read, app, run.id), _wanted(request, report.tries), report.tries)
    return render(
        request,
        "run.html",
        page="runs",
        live="runs",
        report=report,
        run=run,
        own=own,
        is_readable=not isinstance(run, UnreadableRun),
        story=prose(report.story, Addresses.of(request), report.now_ms, zone),
        chart=draw(course_of(report), zone) if report.tries else None,
        undrawn=max(len(report.tries) - MOST_ROWS, 0),
        of=_most_attempts(run),
        log=log,
        claims=headings_of(report.tries),
        kind_of=kind_of,
        log_time=partial(_log_time, zone),
        cut_line=partial(cut, most=LONGEST),
        warnings=request.query_params.get("log") == "warnings",
        failure=_failure(report),
        args=_shown_json(backfill.given(run)),
        result=None if run.result is None else _shown_json(run.result),
        said_progress=_said_progress(log),
        then=_followers(app, run),
        shards=report.shards[:_MOST_SHARDS],
        shards_told=_shards_told(report),
        filling=filling_of(report),
        graph=_graph(run, Addresses.of(request)),
        flow=_flow(app, run),
        step_link=partial(_step_link, run, Addresses.of(request)),
    )


@router.get("/runs/{run_id}/log", **VIEWER)
async def run_log(app: TheApp, run_id: str) -> StreamingResponse:
    """All that it said, as plain text. Who reads it slowly keeps no place before the store."""
    run = await look(app.runs.get, run_id)
    return StreamingResponse(_lines(app, run.id), media_type="text/plain; charset=utf-8")


def _log_time(zone: tzinfo, at_ms: int) -> Markup:
    """Shorter than others: there are many on a page."""
    return Markup('<time title="{}">{}</time>').format(iso(at_ms), told(at_ms, at_ms, zone, "exact"))


async def _lines(app: App, run_id: str) -> AsyncIterator[str]:
    after = 0
    while page := await look(app.runs.log_page, run_id, after=after, limit=_PAGE):
        yield "".join(f"{iso(line.at_ms)} {line.claim_no} {line.level} {line.text}\n" for line in page)
        after += len(page)


def _read(app: App, run_id: str, after: int, limit: int) -> Sequence[LogLine]:
    return app.runs.log_page(run_id, after=after, limit=limit)


def _wanted(request: Request, tries: Sequence[Try]) -> Wanted:
    """What is no number counts for nothing: the address was changed by hand."""
    before, attempt = (_number(request.query_params.get(name)) for name in ("before", "attempt"))
    claims = [each.attempt.claim_no for each in tries if each.attempt.number == attempt]
    return Wanted(
        warnings=request.query_params.get("log") == "warnings", claim_no=claims[-1] if claims else None, before=before
    )


def _number(text: str | None) -> int | None:
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) < 12
    return int(text) if text is not None and is_number else None


def course_of(report: RunReport) -> Course:
    """What is drawn of its attempts."""
    run = report.run
    waits = run.state is State.WAITING
    first_due_ms = run.due_ms if not run.earlier else min(run.scheduled_ms, report.tries[0].attempt.started_ms)
    return Course(
        tries=report.tries,
        due_ms=first_due_ms,
        now_ms=report.now_ms,
        is_live=not run.is_final,
        next_ms=max(run.due_ms, report.now_ms) if waits else None,
        usual_ms=report.usual_ms,
        progress=run.progress_part,
    )


def _most_attempts(run: Run) -> int | None:
    """How many it may have, as things stand; None where an operator has given it more, or one is all."""
    most = run.policy.retries + 1 + run.crashes
    return most if max(run.attempt, 1) <= most and most > 1 else None


def _failure(report: RunReport) -> tuple[str, str, str] | None:
    """Which attempt failed last, where it came from, and the line that says what."""
    run = report.run
    if run.error is None or run.state is State.SUCCEEDED:
        return None
    failed = [each.attempt.number for each in report.tries if each.attempt.outcome in ("failed", "timed_out")]
    *trace, last = run.error.strip().split("\n") if run.error.strip() else [""]
    which = f"attempt {failed[-1]}" if failed and len(report.tries) > 1 else ""
    return which, cut_front("\n".join(trace), _MOST_TRACE), cut(last, _MOST_TRACE // 4)


def _shown_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) > 60:
        text = json.dumps(value, ensure_ascii=False, default=str, indent=2)
    return cut(text, _MOST_JSON)


def _said_progress(log: LogPage) -> int | None:
    """When it last said how far it is, if that is in sight."""
    said = [line.at_ms for part in log.parts for line in part.lines if line.level == "PROGRESS"]
    return said[-1] if said else None


def _graph(run: Run, addresses: Addresses) -> tuple[Markup, Markup] | None:
    """A flow as a picture, for wide pages and narrow ones."""
    if not run.steps:
        return None
    link = partial(_step_link, run, addresses)
    return draw_flow(run.steps, link, live=True), draw_flow(run.steps, link, live=True, down=True)


def _step_link(run: Run, addresses: Addresses, step: StepStatus) -> str | None:
    """To the step's run, or to the runs of a map."""
    if step.mapped and step.total:
        return addresses("/runs", parent=run.id, step=step.name)
    found = run_of_step(run, step)
    return None if found is None else addresses.run(found)


def _flow(app: App, run: Run) -> Run | None:
    """Of a step: its flow, if it is kept."""
    found = app.open_store().runs(ids=[run.parent_id]) if run.is_step and run.parent_id is not None else []
    return found[0] if found else None


def _shards_told(report: RunReport) -> str:
    """ "2 failed, 1 running, 9 succeeded": of all of them."""
    states = Counter(each.run.state for each in report.shards)
    return ", ".join(f"{states[state]:,} {state.value.replace('_', ' ')}" for state in State if states[state])


def _followers(app: App, run: Run) -> tuple[str, ...]:
    """What comes after it, as its schedule has it now."""
    if run.schedule is None:
        return ()
    found = app.open_store().schedules(names=[run.schedule])
    if not found:
        return ()
    return found[0].on_failure if run.state in (State.FAILED, State.TIMED_OUT, State.LOST) else found[0].then


def _pruned(request: Request, run_id: str) -> HTMLResponse:
    """Its id says when it was made; an address that names its tick leads to what is known of that."""
    made = made_ms(run_id)
    name, tick_ms = request.query_params.get("schedule"), _tick_ms(request.query_params.get("tick", ""))
    return render(
        request, "run_pruned.html", 404, page="runs", run_id=run_id[:100], made_ms=made, schedule=name, tick_ms=tick_ms
    )


def _tick_ms(text: str) -> int | None:
    try:
        return floor_ms(text) if text else None
    except MomentError:
        return None
