"""What an operator does with one schedule."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Response

from onthedot.app.schedules import Affected
from onthedot.moments import ceil_ms, iso
from onthedot.web import models
from onthedot.web.reading import etag, now_ms_of, run_model, schedule_model
from onthedot.web.repeating import IDEMPOTENCY_KEY, check_same_trigger, one_key
from onthedot.web.routes.router import OPERATOR, new_router
from onthedot.web.security import TheApp

router = new_router()


@router.post("/schedules/{name}/pause", **OPERATOR)
def pause(app: TheApp, name: str, given: models.Note | None = None) -> models.Affected:
    """From now on no tick of it starts; says what was skipped and what still runs."""
    note = None if given is None else given.note
    return _told(app.schedules.pause_counted(name, note=note), now_ms_of(app))


@router.post("/schedules/{name}/resume", **OPERATOR)
def resume(app: TheApp, name: str) -> models.Affected:
    """Go on from now."""
    return _told(app.schedules.resume_counted(name), now_ms_of(app))


@router.post("/schedules/{name}/trigger", status_code=202, **OPERATOR)
def trigger(
    app: TheApp,
    name: str,
    given: models.TriggerArgs | None = None,
    idempotency_key: Annotated[str | None, Header(description=IDEMPOTENCY_KEY)] = None,
) -> models.Run:
    """A run now, also while it is paused."""
    asked = given or models.TriggerArgs()
    token = one_key(asked.token, idempotency_key, "trigger: the token")
    run = app.schedules.trigger(name, args=asked.args, token=token)
    if idempotency_key is not None:
        check_same_trigger(app, run, name, asked)
    return run_model(run)


@router.post("/schedules/{name}/reschedule", **OPERATOR)
def reschedule(app: TheApp, name: str, given: models.NewMoment, response: Response) -> models.Schedule:
    """Run next at this moment instead; it must lie ahead."""
    moved = app.schedules.reschedule(name, given.at)
    response.headers["ETag"] = etag(moved)
    return schedule_model(moved, now_ms_of(app))


@router.post("/schedules/{name}/skip", **OPERATOR)
def skip_next(app: TheApp, name: str, response: Response, given: models.Skip | None = None) -> models.Schedule:
    """Leave out the next ticks, one if none is said; 0 takes that back."""
    moved = app.schedules.skip_next(name, 1 if given is None else given.n)
    response.headers["ETag"] = etag(moved)
    return schedule_model(moved, now_ms_of(app))


@router.post("/schedules/{name}/backfill", status_code=202, **OPERATOR)
def backfill(app: TheApp, name: str, given: models.BackfillRange) -> models.Backfill:
    """Do ticks of the past that did not run, or went wrong, with their own moments."""
    done = app.schedules.backfill(name, given.start, given.end, **given.model_dump(exclude={"start", "end"}))
    ticks = [models.FilledTick(at=iso(ceil_ms(each.at)), why=each.why) for each in done.ticks]
    return models.Backfill(schedule=name, ticks=ticks, run=None if done.run is None else run_model(done.run))


def _told(affected: Affected, now_ms: int) -> models.Affected:
    schedule = schedule_model(affected.schedule, now_ms)
    return models.Affected(schedule=schedule, skipped=affected.skipped, running=affected.running)
