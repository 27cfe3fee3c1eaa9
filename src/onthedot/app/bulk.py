"""One act on many schedules: each stands for itself, and a dry run says what would come of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from onthedot.errors import Conflict, OnthedotError, SettingsError
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule

if TYPE_CHECKING:
    from onthedot.app.schedules import Affected, Schedules

Act = Literal["pause", "resume", "trigger", "delete"]
ACTS: tuple[Act, ...] = get_args(Act)
MOST_NAMES = 1000
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one schedule: what was done, or would be; or why not."""

    name: str
    affected: Affected | None = None
    run: Run | None = None
    error: OnthedotError | None = None


def names_found(schedules: Schedules, **wanted: str) -> list[str]:
    """The names of all schedules that are so (see `list`); `SettingsError` if more than are changed at once."""
    names: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = schedules.list(**wanted, cursor=cursor, limit=_PAGE)
        names += [each.name for each in page]
        cursor = page.cursor
        if len(names) > MOST_NAMES:
            asked = ", ".join(f"{key}={value!r}" for key, value in wanted.items())
            raise SettingsError(f"bulk: more than {MOST_NAMES:,} schedules have {asked}; name them in parts")
    return names


def check_many(names: Sequence[str], what: str = "names") -> None:
    """`SettingsError` if they are more than are changed at once."""
    if len(names) > MOST_NAMES:
        raise SettingsError(f"bulk: {len(names):,} {what}; at most {MOST_NAMES:,} at once")


def check_expected(names: Sequence[str], expect: int | None) -> None:
    """`Conflict` if they are not as many as somebody was shown."""
    if expect is not None and expect != len(names):
        raise Conflict(f"bulk: it would be {len(names):,} schedules now, not {expect:,}; look again, then decide")


def bulk(
    schedules: Schedules, act: Act, names: Sequence[str], *, note: str | None = None, dry_run: bool = False
) -> list[Done]:
    """Do it to each; what one refuses stops no other. What the store itself refuses stops all that is left.

    The names are looked up by one question, and those that there are changed in batches.
    """
    check_many(names)
    if note is not None and act != "pause":
        raise SettingsError(f"bulk: a note goes with pause, not with {act}")
    looked_up = schedules.get_many(names)
    known = [each for each in looked_up.values() if isinstance(each, Schedule)]
    done = _done(schedules, act, known, note, dry_run=dry_run)
    return [_refused(name, each) if isinstance(each, OnthedotError) else done[name] for name, each in looked_up.items()]


def _refused(name: str, error: OnthedotError) -> Done:
    return Done(name, error=error)


def _done(
    schedules: Schedules, act: Act, known: Sequence[Schedule], note: str | None, *, dry_run: bool
) -> dict[str, Done]:
    names = [each.name for each in known]
    if act == "trigger":
        runs: Sequence[Run | None] = [None] * len(known) if dry_run else schedules.trigger_each(known)
        return {name: Done(name, run=run) for name, run in zip(names, runs, strict=True)}
    told = schedules.each_counted(act, names, note=note, dry_run=dry_run)
    return {
        name: _refused(name, each) if isinstance(each, OnthedotError) else Done(name, each)
        for name, each in told.items()
    }
