"""Runs: look at them, ask for one, for one again, or for one to stop."""

from __future__ import annotations

from typing import Annotated, Any

import anyio
from fastapi import Header, Query, Request

from onthedot.model.states import State
from onthedot.web import models
from onthedot.web.following import MOST_LINES, followed_log
from onthedot.web.places import look
from onthedot.web.reading import line_model, options_of, run_model
from onthedot.web.repeating import IDEMPOTENCY_KEY, check_same_enqueue, one_key
from onthedot.web.routes.router import OPERATOR, VIEWER, new_router
from onthedot.web.security import TheApp, TheCaller
from onthedot.web.watching import TheWatcher

router = new_router()

_LOOK_S = 0.25
_MOST_AFTER = 1_000_000_000
_EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}
After = Annotated[int, Query(ge=0, le=_MOST_AFTER)]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.get("/runs", **VIEWER)
def list_runs(
    app: TheApp,
    *,
    schedule: str | None = None,
    task: str | None = None,
    node: Annotated[str | None, Query(description="The id or the name of who runs it, or did last.")] = None,
    parent: Annotated[
        str | None, Query(description="A broadcast: its shards. A flow: its steps. A run: what followed it.")
    ] = None,
    step: Annotated[str | None, Query(description="Of this step of a flow.")] = None,
    steps: Annotated[bool, Query(description="false: without the steps of flows.")] = True,
    state: Annotated[str | None, Query(description=", ".join(State))] = None,
    late: Annotated[bool, Query(description="Only those that began more than a second after they were due.")] = False,
    start: Annotated[str | None, Query(alias="from", description="Made at this moment or later.")] = None,
    end: Annotated[str | None, Query(alias="to", description="Made before this moment.")] = None,
    cursor: str | None = None,
    limit: Limit = 50,
) -> models.RunPage:
    """A page of runs, newest first; all that is given must hold."""
    page = app.runs.list(
        schedule=schedule,
        task=task,
        node=node,
        parent=parent,
        step=step,
        steps=steps,
        state=state,
        late=late,
        since=start,
        until=end,
        cursor=cursor,
        limit=limit,
    )
    return models.RunPage(runs=[run_model(run) for run in page], cursor=page.cursor)


@router.post("/runs", status_code=202, **OPERATOR)
def enqueue(
    app: TheApp,
    given: models.Enqueue,
    idempotency_key: Annotated[str | None, Header(description=IDEMPOTENCY_KEY)] = None,
) -> models.Run:
    """One-off work, now or later; of a task that somebody has declared."""
    run = app.enqueue(
        given.task,
        args=given.args,
        delay=given.delay,
        at=given.at,
        key=one_key(given.key, idempotency_key, "enqueue: the key"),
        **options_of(given.options),
    )
    if idempotency_key is not None:
        check_same_enqueue(app, run, given)
    return run_model(run)


@router.get("/runs/{run_id}", **VIEWER)
async def show_run(
    request: Request, app: TheApp, run_id: str, wait: Annotated[float, Query(ge=0, le=30)] = 0
) -> models.Run:
    """One run; with `wait` as soon as it has ended, or after so many seconds."""
    looks = int(wait / _LOOK_S)
    run = await look(app.runs.get, run_id)
    while not run.is_final and looks > 0:  # no thread waits: as many may ask as like
        await anyio.sleep(_LOOK_S)
        if await request.is_disconnected():
            break
        run = await look(app.runs.get, run_id)
        looks -= 1
    return run_model(run)


@router.get("/runs/{run_id}/story", **VIEWER)
def show_story(app: TheApp, run_id: str) -> models.RunStory:
    """One run in words: what it came to, which node had it, and what came between; as `onthedot runs show`."""
    told = app.runs.story(run_id)
    return models.RunStory(story=told.text, node=told.node, notes=list(told.notes))


@router.post("/runs/{run_id}/cancel", **OPERATOR)
def cancel(app: TheApp, run_id: str, given: models.Reason | None = None) -> models.Run:
    """A waiting run ends at once; a running one is asked to stop."""
    asked = given or models.Reason()
    return run_model(app.runs.cancel(run_id, reason=asked.reason, now=asked.now))


@router.post("/runs/{run_id}/retry", **OPERATOR)
def retry(app: TheApp, run_id: str, given: models.Again | None = None) -> models.Run:
    """Have an ended run done again, under the same id."""
    return run_model(app.runs.retry(run_id, claim_no=None if given is None else given.claim_no))


@router.get("/runs/{run_id}/logs", response_model=models.Log, responses=_EVENTS, **VIEWER)
async def show_logs(
    app: TheApp,
    caller: TheCaller,
    watcher: TheWatcher,
    *,
    run_id: str,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_LINES)] = MOST_LINES,
    follow: Annotated[bool, Query(description="As events: lines as they come, until the run has ended.")] = False,
    last_event_id: Annotated[int, Header(ge=0, le=_MOST_AFTER, description="With `follow`, in place of `after`.")] = 0,
) -> Any:
    """Lines of what the run said, after so many. With `follow` each is an event `line`, and the last event is `end`."""
    await look(app.runs.get, run_id)
    if follow:
        return await followed_log(app, watcher, caller, run_id, last_event_id or after)
    lines = await look(app.runs.log_page, run_id, after=after, limit=limit)
    return models.Log(lines=[line_model(line) for line in lines], after=after + len(lines))
