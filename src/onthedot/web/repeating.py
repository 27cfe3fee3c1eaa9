"""`Idempotency-Key`: the same request again gives the first run, and another request under the same key is refused.

A `key` of a body is what `app.enqueue(key=)` has: it names the work, and whoever brings it gets the run that has it.
The header names a request: whoever brings it with something else has made a mistake, and must not take the run of the
first request for theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

from onthedot.app.app import App
from onthedot.app.options import checked_for_runs, policy_fields
from onthedot.durations import to_duration_ms
from onthedot.errors import SettingsError
from onthedot.model.ids import made_ms
from onthedot.model.run import Run, UnreadableRun
from onthedot.moments import ceil_ms
from onthedot.web import models
from onthedot.web.problems import Refused

IDEMPOTENCY_KEY = "The same request again gives the first run; another request under the same key is refused."


def one_key(given: str | None, header: str | None, name: str) -> str | None:
    """The key of a request, which may stand in its body or in the header."""
    if given is not None and header not in (None, given):
        raise SettingsError(f"{name} and the header Idempotency-Key differ; give one of them")
    return header if given is None else given


def check_same_enqueue(app: App, run: Run, given: models.Enqueue) -> None:
    """`Refused` if the run that has the key was asked for with something else."""
    _, args = app.tasks.checked(given.task, given.args, unchecked=False)
    _refuse(run, [*_other_enqueue(run, given), *(["args"] if run.args != args else [])])


def _other_enqueue(run: Run, given: models.Enqueue) -> Iterator[str]:
    fields = policy_fields(checked_for_runs(given.options, "options"))
    if any(getattr(run.policy, name) != value for name, value in fields.items()):
        yield "options"
    if given.at is not None and run.scheduled_ms != ceil_ms(given.at):
        yield "at"
    begun_ms = made_ms(run.id)  # the moment from which the delay was counted
    delay_ms = 0 if given.delay is None else to_duration_ms(given.delay)
    if given.at is None and begun_ms is not None and run.scheduled_ms - begun_ms != delay_ms:
        yield "delay"


def check_same_trigger(app: App, run: Run, name: str, given: models.TriggerArgs) -> None:
    """The same. Where nothing is given the schedule's own arguments are meant, as they were in the run's revision."""
    schedule = app.schedules.get(name)
    if given.args is not None:
        _, args = app.tasks.checked(schedule.task, given.args, unchecked=False)
    elif schedule.revision == run.revision:
        args = dict(schedule.args)
    else:
        return
    _refuse(run, ["args"] if run.args != args else [])


def _refuse(run: Run, others: list[str]) -> None:
    """Of a run that cannot be read, or whose history is gone, nobody knows what was asked."""
    if not others or not run.task or isinstance(run, UnreadableRun):
        return
    said = f"this Idempotency-Key stands for run {run.id}, which was asked for with other {' and '.join(others)}"
    raise Refused(422, "idempotency-key", f"{said}; a new request needs a new key")
