"""The hours themselves: nodes that work, somebody who asks things of them, and a look at it every ten seconds."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TextIO

from bench import places
from bench.calm import Meter
from bench.measure import part
from bench.places import Place
from bench.processes import Member
from bench.report import machine
from bench.soak.load import Outside
from bench.soak.sample import Sample, look_at
from bench.soak.sizes import Sizes, sizes_of
from onthedot import App
from onthedot.stores.open import open_store
from onthedot.testing.history import verify

Say = Callable[[str], None]
EVERY_S, SAY_EVERY_S = 10, 300
ASKED = "Asked of all that was kept when the nodes had stopped; moments may be out of order by a second."
_SLACK_MS = 1000
"""So far may moments of two rows be out of order on a machine that is busy with other things."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for."""

    store: str
    hours: float
    nodes: int
    schedules: int
    keep_ms: int
    note: str = ""
    """What else the machine does meanwhile, as far as is known."""

    @property
    def seconds(self) -> float:
        return self.hours * 3600


def soak(plan: Plan, record: TextIO, stop: threading.Event, say: Say) -> None:
    """Until the hours are over, or somebody stops it; every line is in the record at once."""
    with places.opened(plan.store) as place, ExitStack() as stack:
        url = place.fresh()
        open_store(url, create=True).close()
        sizes = stack.enter_context(sizes_of(plan.store, url))
        members = _started(plan, url, stack)
        _write(record, _about(plan, place))
        say(f"{plan.nodes} nodes on {place.name} for {plan.hours:g} h")
        soaking = _Soaking(plan, members, sizes, record, say)
        app = App(url)
        soaking.run(Outside(app), stop)
        app.close()
        for member in members:
            member.tell("stop")
        for member in members:
            member.answer()
        end = {"seconds": round(soaking.seconds), "asked": ASKED, "verdict": _verdict(url)}
        _write(record, {"end": end})


def _started(plan: Plan, url: str, stack: ExitStack) -> list[Member]:
    members = [stack.enter_context(Member("bench.soak.node")) for _ in range(plan.nodes)]
    for number, member in enumerate(members):
        name = f"node-{number + 1}"
        member.tell({"url": url, "name": name, "keep_ms": plan.keep_ms, "schedules": plan.schedules})
        assert member.answer() == "ready"  # one after the other: the first declares the schedules
    return members


def _about(plan: Plan, place: Place) -> dict[str, Any]:
    asked = {"store": plan.store, "hours": plan.hours, "nodes": plan.nodes, "schedules": plan.schedules}
    return {
        **asked,
        "keep_ms": plan.keep_ms,
        "note": plan.note,
        "how": place.how,
        "name": place.name,
        "machine": machine(),
    }


class _Soaking:
    """The loop of the process that asks and looks."""

    def __init__(self, plan: Plan, members: Sequence[Member], sizes: Sizes, record: TextIO, say: Say) -> None:
        self._plan = plan
        self._members = members
        self._sizes = sizes
        self._record = record
        self._say = say
        self._meter = Meter()
        self._began = self._looked = time.monotonic()
        self._said = 0.0

    @property
    def seconds(self) -> float:
        """Up to the last look."""
        return self._looked - self._began

    def run(self, outside: Outside, stop: threading.Event) -> None:
        """By the clock: on a busy machine less is asked for, and the hours are not longer."""
        looks, act_at = 1, self._began
        while act_at < self._began + self._plan.seconds and not stop.wait(max(act_at - time.monotonic(), 0)):
            outside.act()
            now = time.monotonic()
            if now >= self._began + looks * EVERY_S:
                looks = int((now - self._began) // EVERY_S) + 1
                self._note()
            act_at = max(act_at + 1, now)

    def _note(self) -> None:
        sample = self._look()
        _write(self._record, sample.as_line())
        if self.seconds >= self._said + SAY_EVERY_S:
            self._said = self.seconds
            self._say(_told(sample))

    def _look(self) -> Sample:
        before, self._looked = self._looked, time.monotonic()
        for member in self._members:
            member.tell("how")
        told = [member.answer() for member in self._members]
        shares = self._meter.read()
        late_ms = sorted(ms for each in told for ms in each["late_ms"])
        return Sample(
            at_s=round(self._looked - self._began, 1),
            seconds=round(self._looked - before, 2),
            nodes=tuple(look_at(member.pid, each) for member, each in zip(self._members, told, strict=True)),
            ended=dict(sum((Counter(each["ended"]) for each in told), Counter())),
            late_p50_ms=part(late_ms, 0.5),
            late_p99_ms=part(late_ms, 0.99),
            late_max_ms=late_ms[-1] if late_ms else 0.0,
            rows=self._sizes.rows(),
            size=self._sizes.size(),
            used=round(shares.own, 3),
            others=round(shares.others, 3),
            load=round(os.getloadavg()[0], 2),
        )


def _told(sample: Sample) -> str:
    memory = ", ".join(f"{each.rss / 2**20:.0f} MB" for each in sample.nodes)
    return (
        f"after {sample.at_s / 60:.0f} min: {memory}; p99 {sample.late_p99_ms:.0f} ms late; "
        f"{sample.done / sample.seconds:.0f} runs/s; {sample.used:.2f} of a core, others {sample.others:.2f}"
    )


def _verdict(url: str) -> list[str]:
    """Of all that is kept; its first line says all, the others what was broken or cannot be judged."""
    store = open_store(url, create=False)
    try:
        return str(verify(store, explained=20, slack_ms=_SLACK_MS, is_over=True)).splitlines()
    finally:
        store.close()


def _write(record: TextIO, line: str | dict[str, Any]) -> None:
    record.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    record.flush()
