"""A real node, driven by hand: its loops make their passes when the world says so."""

from __future__ import annotations

from onthedot.app.node import NodeRunner
from onthedot.stores.base import Store
from onthedot.testing.virtual_store import NEVER
from onthedot.testing.virtual_worker import VirtualWorker


class VirtualNode:
    """Knows when each loop of its node asked to make its next pass."""

    def __init__(self, runner: NodeRunner, store: Store, now_ms: int) -> None:
        assert isinstance(runner.worker, VirtualWorker)
        self.runner = runner
        self.worker = runner.worker
        self._store = store
        self._next_ms = {"heartbeat": now_ms, "plan": now_ms, "outcomes": NEVER, "logs": NEVER}
        self._unlisten = store.listen(runner.wake)

    @property
    def id(self) -> str:
        """Of the present incarnation."""
        return self.runner.node.id

    def leave(self) -> None:
        """Nobody drives it any more."""
        self._unlisten()

    def catch_up(self, now_ms: int) -> None:
        """Renew the lease as it would have been in the time that was jumped over."""
        if self._next_ms["heartbeat"] < now_ms:
            self._store.renew(self.runner.node)

    def step(self, now_ms: int, *, looks: bool) -> bool:
        """Let every loop that is to make a pass make one; whether any did."""
        acted = self.worker.end_due()
        for name, loop in self.runner.loops.items():
            if loop.is_woken or (self._next_ms[name] <= now_ms and (looks or name != "plan" or self.runner.goes_on)):
                wait_ms = loop.step()
                self._next_ms[name] = NEVER if wait_ms is None else now_ms + wait_ms
                acted = True
        return acted

    def next_ms(self, *, looks: bool) -> int:
        """When something happens here by itself; with the passes that only look whether something did, if so asked."""
        end_ms = self.worker.next_end_ms()
        moments = [NEVER if end_ms is None else end_ms, self._next_ms["outcomes"], self._next_ms["logs"]]
        if looks or self.runner.goes_on:
            moments.append(self._next_ms["plan"])
        if looks:
            moments.append(self._next_ms["heartbeat"])
        return min(moments)
