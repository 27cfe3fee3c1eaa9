"""A storm: processes under load on one store, one of them killed every few seconds; then every tick is accounted for.

    scripts/storm [--store URL] [--seconds 120] [--kill-every 5] [--schedules 100] [--processes 2] [--flows 3]

Exit code 0 only if each tick of each schedule became one run, all of them succeeded, and the checker finds no broken
promise in what the store holds and in the journals that the tasks wrote. With `--flows`, so many schedules besides are
flows: a list, a map over it, and a sum. Each of their steps must have one run that succeeded, no sum may begin before
the last item has ended, every flow ends, and no two of one schedule overlap.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

from onthedot import App
from onthedot.clock import SystemClock
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.testing.history import verify

_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where journals are: processes are killed here and the machine is not, and disks are for the store."""
_BEFORE_MS = 60_000
"""The store's clock may be so far behind."""

PROGRAM = """
import asyncio
import os
from onthedot import App, Context, every
from onthedot.node.settings import NodeSettings
from onthedot.testing.history import Journal

journal = Journal(os.environ["STORM_JOURNAL"])
app = App(os.environ["STORM_URL"], node=NodeSettings(lease_ms=6000, heartbeat_ms=2000))

async def work(ctx: Context) -> int:
    with journal.entry(ctx):
        await asyncio.sleep(0.3)  # so that kills find runs under way
    return ctx.attempt

app.task(name="work")(work)
for number in range(int(os.environ["STORM_SCHEDULES"])):
    app.schedule(every("1s"), name=f"s{number:03}", overlap="concurrent", crash_retries=100)(app.tasks.lookup("work"))

@app.task(crash_retries=100)
async def give() -> list[int]:
    await asyncio.sleep(0.1)
    return list(range(8))

@app.task(crash_retries=100)
async def take(number: int) -> int:
    await asyncio.sleep(0.1)
    return number

@app.task(crash_retries=100)
async def add(numbers: list[int]) -> int:
    return sum(numbers)

for number in range(int(os.environ["STORM_FLOWS"])):
    flow = app.flow(f"flow{number}", every("2s"))
    given = flow.step(give)
    flow.step(add, args={"numbers": flow.map(take, given, parallel=3)})
app.run()
"""


def main() -> int:
    """Run the storm, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--kill-every", type=float, default=5.0)
    parser.add_argument("--schedules", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--flows", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    began_ms = SystemClock().now_ms()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=_MEMORY) as journal:
        url = options.store or f"sqlite:///{folder}/storm.db"
        print(f"{options.processes} processes, {options.schedules} schedules a second, seed {options.seed}", flush=True)
        kills = _rage(Path(folder), url, journal, options)
        unaccounted = _account(url, kills) | (options.flows > 0 and _account_of_flows(url))
        return int(_judge(url, journal, began_ms) or unaccounted)


def _rage(folder: Path, url: str, journal: str, options: argparse.Namespace) -> int:
    program, dice = folder / "storm_jobs.py", random.Random(options.seed)
    program.write_text(PROGRAM)
    environment = {
        **os.environ,
        "STORM_URL": url,
        "STORM_SCHEDULES": str(options.schedules),
        "STORM_FLOWS": str(options.flows),
        "STORM_JOURNAL": journal,
    }

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, str(program)], env=environment)

    nodes = [start() for _ in range(options.processes)]
    end, kills = time.monotonic() + options.seconds, 0
    while time.monotonic() < end:
        time.sleep(options.kill_every * dice.uniform(0.8, 1.2))  # at any moment of a second
        number = dice.randrange(len(nodes))
        nodes[number].kill()
        nodes[number].wait()
        nodes[number] = start()
        kills += 1
    _pause_flows(url)  # those that have begun go on to their ends
    time.sleep(15)  # what the last ones held is taken over, and done again
    for node in nodes:
        node.send_signal(signal.SIGTERM)
    codes = [node.wait(60) for node in nodes]
    if any(codes):
        print(f"a node did not stop cleanly: exit codes {codes}")
    return kills


def _pause_flows(url: str) -> None:
    store = open_store(url, create=False)
    app = App(url, store=store)
    for each in app.schedules.list(limit=1000):
        if each.kind == "flow":
            app.schedules.pause(each.name)
    store.close()


def _judge(url: str, journal: str, began_ms: int) -> bool:
    """Whether a promise was broken; says which, with the history that shows it."""
    store = open_store(url, create=False)
    verdict = verify(
        store, since_ms=began_ms - _BEFORE_MS, journal=journal, journalled=["work"], explained=20, is_over=True
    )
    store.close()
    print(verdict)
    return not verdict.holds


def _account_of_flows(url: str) -> bool:
    """Whether a flow did not do what it stands for: each step once, in its turn, and one flow after the other."""
    store = open_store(url, create=False)
    flows = [run for run in store.runs(limit=100_000) if run.is_flow]
    wrong = [f"{run.task} of {run.scheduled_at}: {said}" for run in flows if (said := _wrong_with(store, run))]
    by_schedule: dict[str, list[Run]] = {}
    for run in sorted(flows, key=lambda run: run.started_ms or 0):
        if run.started_ms is not None:
            by_schedule.setdefault(run.schedule or "", []).append(run)
    for one_by_one in by_schedule.values():
        for first, second in pairwise(one_by_one):
            if (first.finished_ms or 1 << 62) > (second.started_ms or 0):
                wrong.append(f"{second.task} of {second.scheduled_at} began while another ran")
    store.close()
    done = sum(run.state is State.SUCCEEDED for run in flows)
    print(f"{len(flows)} flows, {done} of them succeeded; wrong: {wrong[:10] or 'none'}")
    return bool(wrong) or not done


def _wrong_with(store: Store, flow: Run) -> str | None:
    steps = store.runs(parent=flow.id, limit=1000)
    if flow.state is State.RUNNING:
        return f"it never ended: {[(run.step, run.item, run.state.value) for run in steps if not run.is_final]}"
    if flow.state is not State.SUCCEEDED:
        return None if flow.state in (State.SKIPPED, State.WAITING) and not steps else f"it {flow.state}"
    names = Counter((run.step, run.item) for run in steps)
    ended = max(run.finished_ms or 0 for run in steps if run.step == "take")
    (last,) = [run for run in steps if run.step == "add"]
    if len(names) != 10 or set(names.values()) != {1} or any(run.state is not State.SUCCEEDED for run in steps):
        return f"its steps are {sorted((str(key), count) for key, count in names.items())}"
    return "it added up before all was there" if last.created_ms < ended or last.result != sum(range(8)) else None


def _account(url: str, kills: int) -> bool:
    app = App(url, store=open_store(url, create=False))
    left_out, twice, missing, again, runs = 0, 0, 0, 0, 0
    otherwise: Counter[str] = Counter()
    schedules = [each for each in app.schedules.list(limit=1000) if each.kind == "task"]
    for schedule in schedules:
        kept = [run for run in app.open_store().runs(schedule=schedule.name, limit=100_000) if run.cause == "tick"]
        ticks = Counter(run.scheduled_ms for run in kept)
        runs += len(kept)
        twice += sum(count > 1 for count in ticks.values())
        missing += sum(moment not in ticks for moment in range(min(ticks), max(ticks) + 1, 1000))
        otherwise.update(run.state.value for run in kept if run.state != "succeeded")
        again += sum(run.attempt > 1 for run in kept)
        left_out += sum(each.count or 0 for each in app.open_store().decisions(schedule.id, limit=10_000))
    app.open_store().close()
    print(
        f"{kills} kills, {runs:,} runs, {again:,} of them done again; {twice} ticks run twice, {missing} missing,"
        f" {left_out} left out, not succeeded: {dict(otherwise) or 'none'}"
    )
    left_waiting = otherwise.pop("waiting", 0)  # of the last moment, when all nodes had begun to stop
    return bool(twice or missing or left_out or otherwise or left_waiting > len(schedules))


if __name__ == "__main__":
    sys.exit(main())
