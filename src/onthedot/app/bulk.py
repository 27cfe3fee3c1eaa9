"""One act on many schedules: each stands for itself, and a dry run says what would come of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from onthedot.errors import Conflict, OnthedotError, SettingsError, StoreError
from onthedot.model.run import Run

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


def check_expected(names: Sequence[str], expect: int | None) -> None:
    """`Conflict` if they are not as many as somebody was shown."""
    if expect is not None and expect != len(names):
        raise Conflict(f"bulk: it would be {len(names):,} schedules now, not {expect:,}; look again, then decide")


def bulk(
    schedules: Schedules, act: Act, names: Sequence[str], *, note: str | None = None, dry_run: bool = False
) -> list[Done]:
    """Do it to each; what one refuses stops no other. What the store itself refuses stops all that is left."""
    if len(names) > MOST_NAMES:
        raise SettingsError(f"bulk: {len(names):,} names; at most {MOST_NAMES:,} at once")
    if note is not None and act != "pause":
        raise SettingsError(f"bulk: a note goes with pause, not with {act}")
    return [_each(_act(schedules, act, note, dry_run=dry_run), name) for name in dict.fromkeys(names)]


def _each(act: Callable[[str], Done], name: str) -> Done:
    try:
        return act(name)
    except StoreError:
        raise
    except OnthedotError as error:
        return Done(name, error=error)


def _act(schedules: Schedules, act: Act, note: str | None, *, dry_run: bool) -> Callable[[str], Done]:
    match act:
        case "pause":
            return lambda name: Done(name, schedules.pause_counted(name, note=note, dry_run=dry_run))
        case "resume":
            return lambda name: Done(name, schedules.resume_counted(name, dry_run=dry_run))
        case "delete":
            return lambda name: Done(name, schedules.delete_counted(name, dry_run=dry_run))
        case "trigger" if dry_run:
            return lambda name: Done(schedules.get(name).name)
        case "trigger":
            return lambda name: Done(name, run=schedules.trigger(name))
