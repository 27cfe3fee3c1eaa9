"""Carries out the plan of a real storm: starts the processes, does to them and to their store what the plan says."""

from __future__ import annotations

import heapq
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import IO, TypeVar

from tests.chaos.kinds import KINDS, REAL
from tests.chaos.places import Place
from tests.chaos.plan import OPERATOR, Act
from tests.cluster.test_skewed_clocks import clock_off_by
from tests.patience import LONGEST_S

from onthedot import App
from onthedot.errors import OnthedotError
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.base import Store
from onthedot.stores.open import open_store

T = TypeVar("T")

_UNKNOWN = ("", "work", "give,take", "follow", "work_on_loop")
"""What a node of another version does not know."""
_CALM_S = 15.0
_SETTLES_S = 150.0


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is."""

    nodes: int
    pace: int
    times: int
    """So many schedules of each kind."""


@dataclass(slots=True)
class Told:
    """What happened, for the summary."""

    faults: Counter[str] = field(default_factory=Counter)
    done_at: list[tuple[float, str]] = field(default_factory=list)
    people: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    """What must not be, and the checker cannot see: exit codes, defects, what never ended."""


class _Target(BaseHTTPRequestHandler):
    """Whom HTTP tasks call: well mostly, at times badly or late."""

    calls = count()

    def do_POST(self) -> None:
        number = next(self.calls)
        if number % 17 == 16:
            time.sleep(1.5)
        with suppress(OSError):
            self.send_response(500 if number % 11 == 10 else 200)
            self.end_headers()

    def log_message(self, *args: object) -> None: ...


class NodeProcess:
    """One place for a process, one after the other."""

    def __init__(self, number: int, environment: Mapping[str, str], log: IO[bytes]) -> None:
        self._environment = {**os.environ, **environment, "CHAOS_NAME": f"node{number}"}
        self._log = log
        self._clock: Path | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.is_frozen = False
        self.is_leaving = False

    def start(self, without: str = "") -> None:
        """Unless there is one."""
        if self.process is not None and self.process.poll() is None:
            return
        environment = {**self._environment, "CHAOS_WITHOUT": without}
        self.is_leaving = self.is_frozen = False
        command = [sys.executable, "-m", "tests.chaos.node"]
        self.process = subprocess.Popen(command, env=environment, stdout=self._log, stderr=self._log)

    def wear_clock(self, path: Path) -> None:
        """From its next process on its wall clock goes by what this file says, and can be set while it runs."""
        self._clock = path
        self.set_clock(0)
        worn = clock_off_by(0)
        worn.pop("FAKETIME")
        self._environment |= worn | {"FAKETIME_TIMESTAMP_FILE": str(path), "FAKETIME_CACHE_DURATION": "1"}

    def set_clock(self, skew_ms: int) -> None:
        if self._clock is not None:
            self._clock.write_text(f"{skew_ms // 1000:+}s\n")

    def signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
        self.is_frozen = False

    def freeze(self) -> None:
        self.is_frozen = True
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.is_frozen = False
        self.signal(signal.SIGCONT)


class Conductor:
    """One storm."""

    def __init__(self, place: Place, size: Size, folder: Path, journal: Path) -> None:
        self._place = place
        self._folder = folder
        self.told = Told()
        self._target = ThreadingHTTPServer(("127.0.0.1", 0), _Target)
        threading.Thread(target=self._target.serve_forever, daemon=True).start()
        self._common = {
            "CHAOS_JOURNAL": str(journal),
            "CHAOS_PACE": str(size.pace),
            "CHAOS_TIMES": str(size.times),
            "CHAOS_PORT": str(self._target.server_port),
        }
        self._log = (folder / "nodes.log").open("ab")
        self._nodes = [
            NodeProcess(number, {**self._common, "CHAOS_URL": place.url_of(number)}, self._log)
            for number in range(size.nodes)
        ]
        for number, node in enumerate(self._nodes):
            if "clock" in place.can and number:  # one keeps its own
                node.wear_clock(folder / f"clock{number}")
        self.names = [
            kind.name if number == 0 else f"{kind.name}-{number}"
            for number in range(size.times)
            for kind in (*KINDS, *REAL)
        ]
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        self._began = 0.0

    def rage(self, acts: Sequence[Act], seconds: float) -> None:
        """The plan, from its beginning to its end."""
        for node in self._nodes:
            node.start()
        self._wait_for_work()
        self._began = time.monotonic()
        operator = self._start_operator([act for act in acts if act.who == OPERATOR])
        for act in acts:
            if act.who != OPERATOR:
                self._at(act.at_s, partial(self._do, act))
        self._work_through(seconds)
        operator.terminate()
        operator.wait(LONGEST_S)
        self._hear_operator()

    def calm_down(self) -> None:
        """All is mended, and goes on for a while; then nothing new begins, what lives ends, and the nodes leave."""
        self._later.clear()
        self._place.mend()
        self.told.problems += [f"the storm could not be carried out: {each}" for each in self._place.problems]
        for node in self._nodes:
            node.thaw()
            node.set_clock(0)
        for node in self._nodes:
            self._settle_process(node)
        time.sleep(_CALM_S)
        store = _patiently(lambda: open_store(self._place.url, create=False))
        app = App(self._place.url, store=store)
        for name in self._known(app):
            _patiently(partial(app.schedules.resume, name))
        time.sleep(_CALM_S / 2)
        for name in self._known(app):
            _patiently(partial(app.schedules.pause, name))
        self._wait_until_nothing_lives(store)
        self._let_leave()
        store.close()

    def close(self) -> None:
        for node in self._nodes:
            node.kill()
        self._target.shutdown()
        self._target.server_close()
        self._log.close()

    # the plan

    def _at(self, at_s: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._later, (at_s, next(self._number), act))

    def _work_through(self, seconds: float) -> None:
        while True:
            now_s = time.monotonic() - self._began
            if self._later and self._later[0][0] <= now_s:
                heapq.heappop(self._later)[2]()
                continue
            if now_s >= seconds:
                return
            for node in self._nodes:  # what ended by itself, as the store was away when it began
                if (
                    node.process is not None
                    and node.process.poll() not in (None, -signal.SIGKILL)
                    and not node.is_leaving
                ):
                    self.told.faults["node that ended by itself"] += 1
                    node.start()
            next_s = min(self._later[0][0] if self._later else seconds, seconds, now_s + 0.5)
            time.sleep(max(next_s - now_s, 0.01))

    def _do(self, act: Act) -> None:
        self.told.faults[act.what] += 1
        self.told.done_at.append((round(time.monotonic() - self._began, 2), act.what))
        if act.who.startswith("node"):
            self._do_to_node(self._nodes[int(act.who[4:])], act)
        else:
            self._place.do(act.what, *act.values)

    def _do_to_node(self, node: NodeProcess, act: Act) -> None:
        after_s = act.at_s + act.values[0] / 1000
        match act.what:
            case "kill":
                node.kill()
                node.is_leaving = True
                self._at(after_s, node.start)
            case "freeze":
                node.freeze()
                self._at(after_s, node.thaw)
            case "restart" if not node.is_frozen and not node.is_leaving:
                node.is_leaving = True
                node.signal(signal.SIGTERM)
                self._at(act.at_s + 0.2, lambda: self._after_leaving(node, after_s, _UNKNOWN[act.values[1]]))
            case "clock":
                node.set_clock(act.values[0])
            case _:
                pass

    def _after_leaving(self, node: NodeProcess, at_s: float, without: str) -> None:
        """A node that drains is waited for; then another version of it begins."""
        assert node.process is not None
        if node.process.poll() is None and node.is_leaving:
            self._at(time.monotonic() - self._began + 0.2, lambda: self._after_leaving(node, at_s, without))
            return
        self._at(at_s, lambda: node.start(without))

    # people

    def _start_operator(self, acts: Sequence[Act]) -> subprocess.Popen[bytes]:
        path = self._folder / "operator.json"
        path.write_text(json.dumps([[act.at_s, act.what, *act.values] for act in acts]))
        environment = {
            **os.environ,
            **self._common,
            "CHAOS_URL": self._place.url,
            "CHAOS_NAMES": ",".join(self.names),
            "CHAOS_BEGAN": str(self._began),
        }
        command = [sys.executable, "-m", "tests.chaos.operating", str(path), str(self._folder / "operator.jsonl")]
        return subprocess.Popen(command, env=environment, stdout=self._log, stderr=self._log)

    def _hear_operator(self) -> None:
        path = self._folder / "operator.jsonl"
        for line in path.read_text().splitlines() if path.exists() else ():
            said = json.loads(line)
            if said["error"] is None:
                self.told.people[said["what"]] += 1
            else:
                self.told.refused[said["what"]] += 1
                if said["error"].startswith("DEFECT"):
                    self.told.problems.append(f"operator: {said['what']}: {said['error'][7:]}")

    # the beginning and the end

    def _wait_for_work(self) -> None:
        """Until the first task has been entered."""
        end = time.monotonic() + LONGEST_S
        folder = Path(self._common["CHAOS_JOURNAL"])
        while not any(path.stat().st_size for path in folder.glob("*.jsonl")):
            if time.monotonic() > end:
                raise RuntimeError(f"nothing began to run: {(self._folder / 'nodes.log').read_text()[-2000:]}")
            time.sleep(0.1)

    def _settle_process(self, node: NodeProcess) -> None:
        """One that was leaving has left; then there is one that knows everything, by a clock that is right."""
        if node.is_leaving and node.process is not None:
            with suppress(subprocess.TimeoutExpired):
                node.process.wait(30)
        node.signal(signal.SIGTERM)
        if node.process is not None:
            self._wait_for_end(node)
        node.start()

    def _wait_for_end(self, node: NodeProcess) -> None:
        assert node.process is not None
        try:
            code = node.process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            self.told.problems.append("a node did not stop when it was told to")
            node.kill()
            return
        if code not in (0, -signal.SIGKILL, -signal.SIGTERM):
            self.told.problems.append(f"a node that was told to stop ended with {code}")

    def _known(self, app: App) -> list[str]:
        return [each.name for each in _patiently(lambda: app.schedules.list(limit=5000)).items]

    def _wait_until_nothing_lives(self, store: Store) -> None:
        end = time.monotonic() + _SETTLES_S
        while (left := _patiently(lambda: _alive(store))) and time.monotonic() < end:
            time.sleep(0.5)
        for run in left[:5]:
            what = f"run {run.id} of {run.title} is {run.state} and waits for {run.waits_for}"
            self.told.problems.append(f"{_SETTLES_S:.0f} s after the last tick {what}")

    def _let_leave(self) -> None:
        for node in self._nodes:
            node.signal(signal.SIGTERM)
        for node in self._nodes:
            self._wait_for_end(node)


def _alive(store: Store) -> list[Run]:
    """What must still come to an end: not what waits for its schedule to be resumed."""
    found = [*store.runs(state=State.RUNNING, limit=500), *store.runs(state=State.WAITING, limit=2000)]
    return [run for run in found if not (run.waits_for or "").startswith("resume:")]


def _patiently(ask: Callable[[], T]) -> T:
    """Servers that come back answer after a while."""
    end = time.monotonic() + LONGEST_S
    while True:
        try:
            return ask()
        except OnthedotError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
