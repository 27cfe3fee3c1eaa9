"""Which runs a page shows: read from its address, told in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError, MomentError
from onthedot.model.states import State
from onthedot.moments import END_MS, ceil_ms, read_moment

FACETS = ("waiting", "running", "failed", "timed_out", "lost", "skipped", "cancelled", "late")
"""What one may choose beside all; late ones may have any state."""
SPANS = (("1h", "the last hour"), ("24h", "the last day"), ("7d", "the last week"))
_STATES = (*State, "late")
_DID = {
    "waiting": ("waits", "wait"),
    "running": ("is under way", "are under way"),
    "succeeded": ("succeeded", "succeeded"),
    "failed": ("failed", "failed"),
    "timed_out": ("ran out of time", "ran out of time"),
    "lost": ("was lost", "were lost"),
    "skipped": ("was left out", "were left out"),
    "cancelled": ("was cancelled", "were cancelled"),
    "late": ("began late", "began late"),
    "": ("was made", "were made"),
}
_EXAMPLES = "write it like 1h, 7d or 2026-12-24 18:00"


@dataclass(frozen=True, slots=True)
class Filters:
    """All that is given must hold."""

    state: str = ""
    """One of the states, or late; empty for all."""
    schedule: str = ""
    task: str = ""
    node: str = ""
    """Its name, or the id of an incarnation."""
    parent: str = ""
    """The id of a broadcast, or of the run that others followed."""
    step: str = ""
    """A step of a flow."""
    begin: str = ""
    """`from` and `to` as they were written."""
    end: str = ""
    since_ms: int | None = None
    until_ms: int | None = None
    wrong: tuple[str, ...] = ()
    """What cannot be understood, one line each."""

    @property
    def named(self) -> dict[str, str]:
        """Those that are given, by their names in the address, without the state."""
        all_of_them = {
            "schedule": self.schedule,
            "task": self.task,
            "node": self.node,
            "parent": self.parent,
            "step": self.step,
            "from": self.begin,
            "to": self.end,
        }
        return {name: value for name, value in all_of_them.items() if value}

    @property
    def has_steps(self) -> bool:
        """Whether the steps of flows are among them: not where they would only crowd out the flows."""
        return bool(self.parent or self.step or self.schedule or self.task or self.node) or self.state in (
            "waiting",
            "running",
        )

    @property
    def any(self) -> bool:
        """Whether anything is left out."""
        return bool(self.state or self.named)

    def finding(self, count: int, more: bool) -> str:
        """ "3 runs failed", "More than 40 runs wait", "No run was lost"."""
        one, many = _DID[self.state]
        if count == 0:
            return f"No run {one}"
        if more:
            return f"More than {count} runs {many}"
        return f"1 run {one}" if count == 1 else f"{count} runs {many}"


def read_filters(query: Mapping[str, str], now_ms: int, zone: tzinfo) -> Filters:
    """What cannot be understood is left out, and said in `wrong`."""
    names = ("state", "schedule", "task", "node", "parent", "step", "from", "to")
    state, schedule, task, node, parent, step, begin, end = (query.get(name, "").strip()[:500] for name in names)
    read = Filters(state, schedule, task, node, parent, step, begin, end)
    wrong = []
    if query.get("late", "").lower() in ("1", "true", "yes", "on"):
        read = replace(read, state="late")
    if read.state and read.state not in _STATES:
        wrong.append(f"There is no state {read.state!r}; there are {', '.join(_STATES)}.")
        read = replace(read, state="")
    since_ms, problem = _moment("from", read.begin, now_ms, zone)
    until_ms, other = _moment("to", read.end, now_ms, zone)
    wrong += [each for each in (problem, other) if each]
    if since_ms is not None and until_ms is not None and since_ms >= until_ms:
        wrong.append("“from” is not before “to”, so no run can lie between them.")
    return replace(read, since_ms=since_ms, until_ms=until_ms, wrong=tuple(wrong))


def _moment(name: str, text: str, now_ms: int, zone: tzinfo) -> tuple[int | None, str]:
    """A moment, or how long ago; one without a zone is of the page's."""
    if not text:
        return None, ""
    try:
        return now_ms - to_duration_ms(text), ""
    except DurationError:
        pass
    try:
        moment = _in_zone(read_moment(text), zone)
        ms = ceil_ms(moment)
    except (MomentError, OverflowError):
        return None, f"“{name}”: {text!r} is no moment; {_EXAMPLES}."
    if not 0 <= ms < END_MS:
        return None, f"“{name}”: {text!r} lies outside 1970 to 2200."
    return ms, ""


def _in_zone(moment: datetime, zone: tzinfo) -> datetime:
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment
