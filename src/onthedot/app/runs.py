"""`app.runs`: what was done, what is being done, and asking for either again or no longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from threading import Event
from typing import Any

from onthedot.app.keys import as_given
from onthedot.app.options import count_of, text_of
from onthedot.app.page import Page
from onthedot.app.queries import read_runs, state_of_run
from onthedot.clock import Clock
from onthedot.durations import to_duration_ms
from onthedot.errors import Conflict, RunNotFound
from onthedot.insight.run_report import RunReport, RunStory, read_report, read_run_story
from onthedot.model.change import Author
from onthedot.model.log_line import LogLine
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.states import State
from onthedot.model.step_status import statuses
from onthedot.moments import ceil_ms
from onthedot.storable import can_be_kept
from onthedot.stores.base import Store

Lines = list[LogLine]  # inside the class `list` is a method

_POLL_MS = 100
_FOLLOW_MS = 500


class Runs:
    """May be called from any process that can reach the store."""

    def __init__(self, open_store: Callable[[], Store], clock: Clock, by: Callable[[str], Author]) -> None:
        self._open_store = open_store
        self._clock = clock
        self._by = by

    def get(self, run_id: str) -> Run:
        """The run, a flow's with its `steps`; `RunNotFound`."""
        store = self._open_store()
        found = store.runs(ids=[run_id]) if can_be_kept(run_id) else []
        if not found:
            raise RunNotFound(run_id)
        graph = None if found[0].graph is None else store.graph(found[0].graph)
        run = as_given(found[0])
        return run if graph is None else run.with_steps(statuses(graph, run.ledger))

    def list(
        self,
        *,
        schedule: str | None = None,
        task: str | None = None,
        node: str | None = None,
        parent: str | None = None,
        step: str | None = None,
        steps: bool = True,
        state: str | None = None,
        late: bool = False,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> Page[Run]:
        """A page of runs, newest first; all that is given must hold.

        `node` is the id or the name of who runs it or did last. Late ones began more than a second after they were due.
        They were made at `since` or later, and before `until`. `parent` is the id of a broadcast, of which these are
        the shards, of a flow, of which these are the steps, or of the run that these followed. `step` is the name of a
        step; without `steps` those of flows are left out.
        """
        wanted: dict[str, Any] = {
            "state": state_of_run(state),
            "since_ms": None if since is None else ceil_ms(since),
            "until_ms": None if until is None else ceil_ms(until),
            "before": None if cursor is None else text_of(cursor, "cursor"),
            "limit": count_of(limit, "limit"),
        }
        named: dict[str, Any] = {"schedule": schedule, "task": task, "node": node, "parent": parent, "step": step}
        if not all(text is None or can_be_kept(text) for text in named.values()):
            return Page([], None)
        found = read_runs(self._open_store(), **named, late=late, steps=steps, **wanted)
        return Page([as_given(run) for run in found], found[-1].id if len(found) == limit else None)

    def report(self, run_id: str) -> RunReport:
        """The run with its story, its attempts and its usual time; `RunNotFound`."""
        return read_report(self._open_store(), self.get(run_id))

    def story(self, run_id: str) -> RunStory:
        """The run in a few sentences, as `onthedot runs show` prints it; `RunNotFound`."""
        return read_run_story(self._open_store(), self.get(run_id))

    def cancel(self, run_id: str, *, reason: str = "cancelled by an operator", now: bool = False) -> Run:
        """A waiting run ends at once; a running one is asked to stop, and shows it when it has.

        Of a flow the steps are stopped, but closing ones still run; with `now` not even those.
        """
        kept = text_of(reason, "cancel: reason")
        if not can_be_kept(run_id):
            raise RunNotFound(run_id)
        try:
            return as_given(self._open_store().request_cancel(run_id, kept, self._by("cancel"), now=now))
        except RunNotFound:
            self._refuse_unreadable(self.get(run_id))
            raise

    def retry(self, run_id: str, *, claim_no: int | None = None) -> Run:
        """Have an ended run done again, under the same id; a pause does not hold it.

        `claim_no` is that of the run as it was seen: `Conflict` if it has been begun again since.
        """
        run = self.get(run_id)
        self._refuse_unreadable(run)
        if not run.is_final or run.state is State.SUCCEEDED:
            raise Conflict(f"run {run_id} is {run.state}: only one that ended without success can be retried")
        seen = run.claim_no if claim_no is None else claim_no
        return as_given(self._open_store().retry(run_id, seen, self._by("retry")))

    @staticmethod
    def _refuse_unreadable(run: Run) -> None:
        if isinstance(run, UnreadableRun):
            raise Conflict(f"{(run.error or '').rpartition(chr(10))[2]}; mend it, or remove it by hand")

    def log_page(self, run_id: str, *, after: int = 0, limit: int = 1000) -> Lines:
        """So many lines of what the run said, after so many."""
        return self._open_store().logs(run_id, after=after, limit=count_of(limit, "limit"))

    def logs(self, run_id: str) -> tuple[LogLine, ...]:
        """What the run said, all of it."""
        lines: Lines = []
        if not can_be_kept(run_id):
            return ()
        while page := self._open_store().logs(run_id, after=len(lines)):
            lines += page
        return tuple(lines)

    def follow(self, run_id: str) -> Iterator[LogLine]:
        """What the run says, line by line as it comes, until the run has ended."""
        never, shown = Event(), 0
        while True:
            ended = self.get(run_id).is_final  # asked first: what was said before the end is then all there
            lines = self.logs(run_id)
            yield from lines[shown:]
            shown = len(lines)
            if ended:
                return
            self._clock.wait(never, _FOLLOW_MS)

    def wait(self, run_id: str, *, timeout: timedelta | str = "1m") -> Run:
        """Wait until the run has ended, or the time is over; the run as it is then."""
        end_ms = self._clock.monotonic_ms() + to_duration_ms(timeout)
        never = Event()
        run = self.get(run_id)
        while not run.is_final and self._clock.monotonic_ms() < end_ms:
            self._clock.wait(never, _POLL_MS)
            run = self.get(run_id)
        return run
