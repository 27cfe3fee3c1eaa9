"""Runs with a past: what the pages of runs show in tests, made through the store as nodes would."""

from __future__ import annotations

from dataclasses import dataclass

from tests.browser.site import LEASE_MS, NAUGHTY, Site

from onthedot import every
from onthedot.model.change import Author
from onthedot.model.ids import new_id
from onthedot.model.log_line import LogLine
from onthedot.model.node import Node
from onthedot.model.outcome import Ending, Outcome
from onthedot.model.run import Run

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "shop/ledger_api.py", line 64, in close\n'
    '    return self._post(f"/ledgers/{ledger}/close", batch)\n'
    "ConnectionResetError: ledger-api: connection reset by peer"
)


@dataclass(frozen=True, slots=True)
class Past:
    """Runs by what became of them."""

    running: str
    """Its first node died, its second attempt failed, the third is at 62 %."""
    failed: str
    naughty: str
    waiting: str
    cancelled: str
    succeeded: str


@dataclass(frozen=True, slots=True)
class Cast:
    """Nodes that live in the store only, and what they do."""

    site: Site

    def node(self, name: str, lease_ms: int = LEASE_MS) -> str:
        """One that has just joined."""
        app, store = self.site.app, self.site.app.open_store()
        node = Node(new_id(store.now_ms()), name, capacity=32, tasks=app.tasks.names(), lease_ms=lease_ms)
        return store.join(node, app.tasks.infos()).id

    def begin(self, node: str, run_id: str) -> Run:
        """The node starts all that is due; this one is told."""
        store, tasks = self.site.app.open_store(), self.site.app.tasks.names()
        while True:
            found = [run for run in store.start_due(node, tasks, 100).runs if run.id == run_id]
            if found:
                return found[0]

    def say(self, run: Run, level: str, *texts: str) -> None:
        """Lines of its log."""
        store = self.site.app.open_store()
        now_ms = store.now_ms()
        store.log(run.owner or "", [LogLine(run.id, run.claim_no, now_ms, level, text) for text in texts])

    def end(self, run: Run, ending: Ending, error: str | None = None, retry_after_ms: int | None = None) -> None:
        """Its node reports."""
        outcome = Outcome(run.id, run.claim_no, ending, error=error, retry_after_ms=retry_after_ms)
        assert self.site.app.open_store().finish(run.owner or "", [outcome]).recorded

    def kill(self, node: str) -> None:
        """Its lease is short, so it is over at once."""
        store = self.site.app.open_store()
        while not store.take_over(node, 0, Author("ams-2", "node", "take over")):
            continue


def furnish(site: Site) -> Past:
    """A schedule whose run has been through much, and some others."""
    app, cast = site.app, Cast(site)
    app.schedules.put("ledger-close", "report", every("1d"), args={"to": "eu"}, retries=2)
    app.schedules.put(NAUGHTY, "report", every("1d"), args={"to": NAUGHTY})
    first, second, dying = cast.node("ams-1"), cast.node("ams-2"), cast.node("nyc-2", lease_ms=1)
    succeeded = app.schedules.trigger("ledger-close").id
    cast.end(cast.begin(first, succeeded), "succeeded")
    naughty = app.schedules.trigger(NAUGHTY).id
    said = cast.begin(second, naughty)
    cast.say(said, "WARNING", NAUGHTY)
    cast.end(said, "failed", error=NAUGHTY)
    failed = app.enqueue("report", args={"to": "bob"}).id
    cast.end(cast.begin(first, failed), "failed", error=TRACEBACK)
    waiting = app.enqueue("report", args={"to": "carl"}, delay="1h").id
    cancelled = app.enqueue("report", args={"to": "dora"}, delay="1h").id
    app.runs.cancel(cancelled, reason="wrong batch")
    return Past(_long(site, cast, dying, first, second), failed, naughty, waiting, cancelled, succeeded)


def _long(site: Site, cast: Cast, dying: str, first: str, second: str) -> str:
    run_id = site.app.schedules.trigger("ledger-close").id
    begun = cast.begin(dying, run_id)
    cast.say(begun, "INFO", "closing 14 ledgers")
    cast.kill(dying)
    begun = cast.begin(second, run_id)
    cast.say(begun, "WARNING", "ledger-api answered in 9.4 s")
    cast.end(begun, "failed", error=TRACEBACK, retry_after_ms=1)
    begun = cast.begin(first, run_id)
    cast.say(begun, "INFO", "5 are closed already")
    cast.say(begun, "PROGRESS", "62% ledger 11 of 14")
    return run_id
