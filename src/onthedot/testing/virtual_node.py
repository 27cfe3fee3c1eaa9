"""A real node, driven by hand: its loops make their passes when the world says so."""

from __future__ import annotations

from collections.abc import Callable

from onthedot.model.run import Run
from onthedot.node.node import NodeRunner
from onthedot.node.settings import NodeSettings
from onthedot.stores.base import Store
from onthedot.testing.virtual_store import NEVER
from onthedot.testing.virtual_worker import VirtualWorker

_IN_TURN = ("outcomes", "logs", "heartbeat", "sweep", "plan")
"""A node whose lease is old must renew it before it plans."""


class VirtualNode:
    """Knows when each loop of its node asked to make its next pass."""

    def __init__(
        self, runner: NodeRunner, store: Store, settings: NodeSettings, now_ms: int, before_a_beat: Callable[[], None]
    ) -> None:
        assert isinstance(runner.worker, VirtualWorker)
        self.runner = runner
        self.worker = runner.worker
        self._store = store
        self._before_a_beat = before_a_beat
        self._next_ms = {"heartbeat": now_ms, "sweep": now_ms, "plan": now_ms, "outcomes": NEVER, "logs": NEVER}
        self._every_ms = {
            "plan": settings.poll_ms,
            "heartbeat": settings.heartbeat_ms,
            "sweep": settings.sweep_ms,
        }
        self._unlisten = store.listen(runner.wake)

    @property
    def id(self) -> str:
        """Of the present incarnation."""
        return self.runner.node.id

    @property
    def is_at_rest(self) -> bool:
        """Whether it does nothing before something is due, or a run ends, or it is to look."""
        return self.runner.is_at_rest and self._next_ms["outcomes"] == NEVER

    def leave(self) -> None:
        """Nobody drives it any more."""
        self._unlisten()

    def catch_up(self, now_ms: int) -> None:
        """Renew the lease as it would have been in the time that was jumped over."""
        if self._next_ms["heartbeat"] < now_ms:
            self._store.renew(self.runner.node)

    def step(self, now_ms: int, *, looks: bool) -> bool:
        """Let every loop that is to make a pass make one; whether any did."""
        self.runner.assume_renewed()
        acted = self.worker.end_due()
        for name in _IN_TURN:
            if self._is_due(name, now_ms, looks):
                if name == "heartbeat":
                    self._before_a_beat()
                wait_ms = self.runner.loops[name].step()
                self._next_ms[name] = NEVER if wait_ms is None else now_ms + wait_ms
                acted = True
        return acted

    def go_on_with(self, run: Run, ends_ms: int) -> None:
        """Take a run that has begun while nobody looked: its lease was renewed all the time."""
        self.runner.assume_renewed()
        self.worker.go_on_with(run, ends_ms)

    def end_runs(self, now_ms: int) -> None:
        """Let only the runs end whose time is over, with all that it takes to write that down."""
        self.runner.assume_renewed()
        while self.worker.end_due() or self._next_ms["outcomes"] <= now_ms:
            wait_ms = self.runner.loops["outcomes"].step()
            self._next_ms["outcomes"] = NEVER if wait_ms is None else now_ms + wait_ms

    def _is_due(self, name: str, now_ms: int, looks: bool) -> bool:
        """A heartbeat is left out as long as nobody looks, and this node plans nothing."""
        if self.runner.loops[name].is_woken:
            return True
        if self._next_ms[name] > now_ms:
            return False
        match name:
            case "plan":
                return looks or self.runner.goes_on
            case "sweep":
                return looks
            case "heartbeat":
                return looks or self._is_due("plan", now_ms, looks)
            case _:
                return True

    def next_ms(self, now_ms: int, *, looks: bool) -> int:
        """When something happens here by itself; with the passes that only look whether something did, if so asked."""
        end_ms = self.worker.next_end_ms()
        moments = [NEVER if end_ms is None else end_ms, self._next_ms["outcomes"], self._next_ms["logs"]]
        if self.runner.goes_on:
            moments.append(self._next_ms["plan"])
        if looks:
            moments += [_after(now_ms, self._next_ms[name], every_ms) for name, every_ms in self._every_ms.items()]
        return max(min(moments), now_ms)


def _after(now_ms: int, next_ms: int, every_ms: int) -> int:
    """When the first pass after now is. Where passes were left out, nothing hangs on when the last one was."""
    return next_ms if next_ms > now_ms else (now_ms // every_ms + 1) * every_ms
