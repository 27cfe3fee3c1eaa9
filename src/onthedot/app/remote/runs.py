"""`app.runs` over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from threading import Event

from onthedot.app.options import count_of, text_of
from onthedot.app.page import Page
from onthedot.app.remote.connection import Connection
from onthedot.app.remote.values import line_of, run_of, run_story_of
from onthedot.app.runs import Lines, Runs
from onthedot.clock import Clock
from onthedot.durations import to_duration_ms
from onthedot.errors import RunNotFound
from onthedot.insight.run_report import RunStory
from onthedot.model.log_line import LogLine
from onthedot.model.run import Run
from onthedot.moments import ceil_ms, iso
from onthedot.storable import can_be_kept

_PAGE = 200
_FOLLOW_MS = 500
_LONGEST_WAIT_MS = 30_000

Found = list[Run]  # inside the class `list` is a method


class RemoteRuns(Runs):
    """Each call is one request; waiting asks again every half minute."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._open_store = connection.no_store

    def get(self, run_id: str) -> Run:
        return run_of(self._connection.get("runs", run_id))

    def story(self, run_id: str) -> RunStory:
        return run_story_of(self._connection.get("runs", run_id, "story"))

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
        count_of(limit, "limit")
        named = {"schedule": schedule, "task": task, "node": node, "parent": parent, "step": step}
        if not all(text is None or can_be_kept(text) for text in named.values()):
            return Page([], None)
        asked = {"state": state, "late": late, "steps": steps}
        found: Found = []
        made = {name: None if each is None else iso(ceil_ms(each)) for name, each in (("from_", since), ("to", until))}
        at, more = None if cursor is None else text_of(cursor, "cursor"), True
        while more and len(found) < limit:
            most = min(limit - len(found), _PAGE)
            page = self._connection.get("runs", cursor=at, limit=most, **asked, **named, **made)
            found += [run_of(each) for each in page.all("runs")]
            before, at = at, page["cursor"]
            more = at is not None and at != before  # or it would never end
        return Page(found, at)

    def cancel(self, run_id: str, *, reason: str = "cancelled by an operator", now: bool = False) -> Run:
        return run_of(self._connection.post("runs", run_id, "cancel", body={"reason": reason, "now": now}))

    def retry(self, run_id: str, *, claim_no: int | None = None) -> Run:
        return run_of(self._connection.post("runs", run_id, "retry", body={"claim_no": claim_no}))

    def log_page(self, run_id: str, *, after: int = 0, limit: int = 1000) -> Lines:
        most = min(count_of(limit, "limit"), 1000)
        try:
            told = self._connection.get("runs", run_id, "logs", after=after, limit=most)
        except RunNotFound:  # as where the store is asked: nothing is known of what it said
            return []
        return [line_of(run_id, each) for each in told.all("lines")]

    def logs(self, run_id: str) -> tuple[LogLine, ...]:
        lines: Lines = []
        while page := self.log_page(run_id, after=len(lines)):
            lines += page
        return tuple(lines)

    def follow(self, run_id: str) -> Iterator[LogLine]:
        never, shown = Event(), 0
        while True:
            ended = self.get(run_id).is_final  # asked first: what was said before the end is then all there
            while page := self.log_page(run_id, after=shown):
                yield from page
                shown += len(page)
            if ended:
                return
            self._clock.wait(never, _FOLLOW_MS)

    def wait(self, run_id: str, *, timeout: timedelta | str = "1m") -> Run:
        end_ms = self._clock.monotonic_ms() + to_duration_ms(timeout)
        run = self.get(run_id)
        while not run.is_final and (left_ms := end_ms - self._clock.monotonic_ms()) > 0:
            run = run_of(self._connection.get("runs", run_id, wait=min(left_ms, _LONGEST_WAIT_MS) / 1000))
        return run
