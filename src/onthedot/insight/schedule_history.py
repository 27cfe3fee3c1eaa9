"""What people did to a schedule, from its audit: who paused it, when it did not exist, whose node died."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from onthedot.insight.node_history import at
from onthedot.model.change import Change
from onthedot.stores.base import Store

MOST_CHANGES = 10_000


@dataclass(frozen=True, slots=True)
class Pause:
    """From one change to another."""

    began: Change
    again: tuple[Change, ...] = ()
    """Who paused it once more while it was paused, with another note."""
    ended: Change | None = None

    def __str__(self) -> str:
        told = " and ".join(
            f"paused {'again ' if number else ''}by {_who(each)} at {at(each.at_ms)}{_note(each)}"
            for number, each in enumerate((self.began, *self.again))
        )
        if self.ended is not None:
            how = "deleted" if self.ended.after.get("deleted") is True else "resumed"
            told += f", and {how} by {_who(self.ended)} at {at(self.ended.at_ms)}"
        return told


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which the schedule did not exist: it had been deleted or removed."""

    since_ms: int
    deleted: Change | None = None
    """None where it had removed itself, or the line is forgotten."""
    revived: Change | None = None
    """Who put it again; None while nobody has."""

    def __str__(self) -> str:
        deleted = "" if self.deleted is None else f" by {_who(self.deleted)}"
        how = "was deleted" if self.deleted is not None else "was gone"
        told = f"it {how}{deleted} at {at(self.since_ms)}"
        if self.revived is not None:
            told += f", and put again by {_who(self.revived)} at {at(self.revived.at_ms)}"
        return told


@dataclass(frozen=True, slots=True)
class Loss:
    """A node died or stopped while it had a run, and the run was given back."""

    change: Change

    @property
    def died(self) -> bool:
        """It crashed, or was cut off; else it stopped of its own accord."""
        return bool(self.change.after.get("died"))

    def __str__(self) -> str:
        after = self.change.after
        began_ms, when = self.change.before.get("started_ms"), at(self.change.at_ms)
        told = "" if began_ms is None else f"it had begun at {at(began_ms)}; "
        if not self.died:
            return f"{told}node {after['node']} stopped, and gave it back at {when}"
        heard = at(max(int(after["renewed_ms"]), began_ms or 0))
        return f"{told}node {after['node']} died, last heard of at {heard}, and {self._taker()} took over at {when}"

    def _taker(self) -> str:
        who = self.change.by.who
        if who == self.change.after["node"]:  # it was started again under its name
            return "another node of that name"
        return who if who == "another node" else f"node {who}"


class ScheduleHistory:
    """The audit of one schedule, oldest first."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = sorted(changes, key=lambda change: (change.at_ms, change.id))

    def pause_at(self, moment_ms: int, until_ms: int) -> Pause | None:
        """The pause in which the moment lies; else the first that began after it, up to `until_ms`: a tick that no
        planner had seen before it is left out by it too."""
        pauses = self._pauses()
        inside = [each for each in pauses if each.began.at_ms <= moment_ms and not _is_over(each, moment_ms)]
        later = [each for each in pauses if moment_ms < each.began.at_ms <= until_ms]
        return next(iter((*inside, *later)), None)

    def gap_at(self, moment_ms: int, *, gone_ms: int | None = None) -> Gap | None:
        """The time around the moment in which there was no such schedule; None if there was. `gone_ms`: since when
        there is none now."""
        if gone_ms is not None and moment_ms > gone_ms:
            return Gap(gone_ms, self._deletion_at(gone_ms))
        for change in self._changes:
            if not (change.before.get("deleted") is True and change.after.get("deleted") is False):
                continue
            since_ms = int(change.before.get("settled_ms", change.at_ms))
            if since_ms < moment_ms < change.at_ms:
                return Gap(since_ms, self._deletion_at(since_ms), change)
        return None

    def losses_of(self, run_id: str) -> list[Loss]:
        """The nodes that went while they had this run, and gave it back."""
        return [Loss(each) for each in self._of_nodes(run_id) if "heir" not in each.after]

    def handed_over(self, run_id: str) -> list[tuple[int, str]]:
        """When another node went on watching this run at its engine, and which."""
        lines = [each for each in self._of_nodes(run_id) if "heir" in each.after]
        told = "node {} watches it since {}, as {} did before"
        return [(each.at_ms, told.format(each.after["heir"], at(each.at_ms), each.after["node"])) for each in lines]

    def _of_nodes(self, run_id: str) -> list[Change]:
        return [each for each in self._changes if each.after.get("run") == run_id and "node" in each.after]

    def asked_for(self, run_id: str) -> str | None:
        """Who asked for this run by hand."""
        found = [each for each in self._of_run(run_id) if not each.before and "state" in each.after]
        return _who(found[0]) if found else None

    def stopped_by(self, run_id: str) -> str | None:
        """Who cancelled this run or asked it to stop, last."""
        found = [each for each in self._of_run(run_id) if _stops(each)]
        return _who(found[-1]) if found else None

    def _of_run(self, run_id: str) -> list[Change]:
        """What people asked of this run."""
        return [each for each in self._changes if each.after.get("run") == run_id and "node" not in each.after]

    def author_at(self, moment_ms: int) -> str | None:
        """Who changed the schedule in that very millisecond."""
        found = [each for each in self._changes if each.at_ms == moment_ms and "run" not in each.after]
        return _who(found[-1]) if found else None

    def resume_in(self, since_ms: int, until_ms: int) -> Pause | None:
        """The last pause that ended in this time."""
        ended = [each for each in self._pauses() if each.ended and since_ms < each.ended.at_ms <= until_ms]
        return ended[-1] if ended else None

    def _deletion_at(self, moment_ms: int) -> Change | None:
        found = (each for each in self._changes if each.at_ms == moment_ms and each.after.get("deleted") is True)
        return next(found, None)

    def _pauses(self) -> list[Pause]:
        pauses: list[Pause] = []
        for change in self._changes:
            is_open = bool(pauses) and pauses[-1].ended is None
            if change.after.get("enabled") is False:
                pauses.append(Pause(change))
            elif is_open and (change.after.get("enabled") is True or change.after.get("deleted") is True):
                pauses[-1] = replace(pauses[-1], ended=change)
            elif is_open and "paused_note" in change.after:
                pauses[-1] = replace(pauses[-1], again=(*pauses[-1].again, change))
        return pauses


def read_history(store: Store, schedule: str, most: int = MOST_CHANGES) -> ScheduleHistory:
    """As far as the audit is kept, and so many lines of it; of one-off work where the name is empty."""
    return ScheduleHistory(store.changes(name=schedule, limit=most))


def _stops(change: Change) -> bool:
    return change.after.get("cancel_requested_ms") is not None or change.after.get("state") == "cancelled"


def _is_over(pause: Pause, moment_ms: int) -> bool:
    return pause.ended is not None and pause.ended.at_ms < moment_ms


def _note(pause: Change) -> str:
    note = pause.after.get("paused_note")
    return f" ({note})" if note else ""


def _who(change: Change) -> str:
    return f"{change.by.who} ({change.by.surface})" if change.by.surface else change.by.who
