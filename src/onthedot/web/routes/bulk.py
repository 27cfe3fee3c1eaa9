"""One act on many schedules, with what would come of it beforehand."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.app.app import App
from onthedot.app.bulk import Done, bulk, check_expected, names_found
from onthedot.errors import SettingsError
from onthedot.model.token import Role
from onthedot.web import models
from onthedot.web.problems import Refused, problem_of
from onthedot.web.reading import now_ms_of, run_model, schedule_model
from onthedot.web.routes.router import OPERATOR, new_router
from onthedot.web.security import TheApp, TheCaller

router = new_router()


@router.post("/bulk", **OPERATOR)
def act_on_many(app: TheApp, caller: TheCaller, given: models.BulkAct) -> models.BulkResult:
    """Each stands for itself: done, or a problem. `dry_run` says what would come of it; deleting needs an admin."""
    if given.act == "delete" and not caller.may(Role.ADMIN):
        raise Refused(403, "role", f"admin is needed to delete; {caller.name} is {caller.role}")
    names = _names(app, given)
    check_expected(names, given.expect)
    done = bulk(app.schedules, given.act, names, note=given.note, dry_run=given.dry_run)
    now_ms = now_ms_of(app)
    return models.BulkResult(act=given.act, dry_run=given.dry_run, results=[_told(each, now_ms) for each in done])


def _names(app: App, given: models.BulkAct) -> Sequence[str]:
    wanted = given.filter if given.tag is None else models.ScheduleFilter(tag=given.tag)
    ways = (given.names, given.tag, given.filter, given.pattern)
    if sum(each is not None for each in ways) != 1 or wanted == _NOTHING:
        raise SettingsError("bulk: give names, a pattern of names, or a filter with q, state, tag or task")
    if given.pattern is not None:
        return app.schedules.matching(given.pattern) or [given.pattern]
    if wanted is None:
        return [*dict.fromkeys(given.names or [])]
    return names_found(app.schedules, **wanted.model_dump(exclude_none=True))


_NOTHING = models.ScheduleFilter()


def _told(done: Done, now_ms: int) -> models.BulkDone:
    if done.error is not None:
        return models.BulkDone(name=done.name, problem=problem_of(done.error).document())
    told = models.BulkDone(name=done.name, run=None if done.run is None else run_model(done.run))
    if done.affected is None:
        return told
    told.schedule = schedule_model(done.affected.schedule, now_ms)
    told.skipped, told.running = done.affected.skipped, done.affected.running
    return told
