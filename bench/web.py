"""The dashboard: the first byte of every page and filter on a full store, what pages weigh, what watching costs."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import httpx

from bench import calm
from bench.filling import opened_engine, schedule_at, settle
from bench.measure import MILLI, part
from bench.places import NAMES, opened
from bench.report import Report
from onthedot import cron, every
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.values import replace
from onthedot.stores.engine import Engine
from onthedot.stores.sql import tables
from onthedot.triggers.codec import encode

Say = Callable[[str], None]
SCHEDULES, RUNS, TURNS = 100_000, 1_000_000, 40
LATEST_MS, HTML, CSS, JS = 150, 60_000, 24_000, 25_000
"""What we set ourselves: p95 of the first byte, and the weight of each part."""
WATCH_S, MANY = 15, 50
_TOGETHER = 20
_NODE = "bench-node"
_DAY_MS = 86_400_000
_AHEAD_MS = 3_600_000
"""Nothing comes due while it is measured: no node plans, and what is overdue only for that is no user's store."""
_TICK = os.sysconf("SC_CLK_TCK")


def run(report: Report, say: Say, kind: str) -> None:
    """Three tables."""
    with opened(kind) as place:
        url = place.fresh()
        say(f"filling {NAMES[kind]}: {SCHEDULES:,} schedules, {RUNS:,} ended runs")
        with closing(opened_engine(url)) as store:
            chosen = _fill(store)
        settle(url, tables.schedules, tables.history)
        with _served(url) as server:
            _warm(server, say)
            _pages(report, say, kind, server, _addresses(chosen))
            _weights(report, server, _addresses(chosen))
            _watching(report, say, server)


# what is looked at


def _fill(store: Engine) -> tuple[str, str]:
    """Schedules of a hundred tasks, and their runs over a month; the name of one, and the id of one of its runs."""
    now_ms = store.now_ms()
    tasks = [f"shop.task_{number:02}" for number in range(100)]
    store.join(Node(_NODE, "bench", tasks=tuple(tasks), lease_ms=_DAY_MS), [TaskInfo(task) for task in tasks])
    rows = _fill_schedules(store, tasks, now_ms)
    newest = _fill_history(store, rows[: RUNS // 1000], now_ms)
    return rows[0].name, newest


def _fill_schedules(store: Engine, tasks: list[str], now_ms: int) -> list[Schedule]:
    triggers = [encode(every("1h")), encode(cron("30 2 * * *", tz="Europe/Berlin")), encode(cron("*/15 * * * *"))]
    rows = []
    for number in range(SCHEDULES):
        blank = schedule_at(now_ms + _AHEAD_MS + number * 37 % _AHEAD_MS, task=tasks[number % 100])
        fields = {"trigger": triggers[number % 3], "tags": (f"team-{number % 20}",), "enabled": number % 500 != 7}
        rows.append(replace(blank, id=new_id(now_ms), name=f"{blank.task[5:]}-{number:06}", **fields))
    for first in range(0, SCHEDULES, 1000):
        with store.begin() as tx:
            tx.save_schedules(rows[first : first + 1000])
    return rows


def _fill_history(store: Engine, rows: list[Schedule], now_ms: int) -> str:
    """Each of them a thousand runs, oldest first; one of a hundred failed, one of a thousand was late. Many in one
    transaction: a server would take longer for the commits than for the rows."""
    turns, newest = RUNS // len(rows), ""
    for first in range(0, turns, _TOGETHER):
        with store.begin() as tx:
            for turn in range(first, min(first + _TOGETHER, turns)):
                at_ms = now_ms - (turns - turn) * (30 * _DAY_MS // turns)
                runs = [_ended(row, at_ms, turn * 31 + number) for number, row in enumerate(rows)]
                tx.end_runs(runs)
                newest = runs[0].id
    return newest


def _ended(row: Schedule, at_ms: int, number: int) -> Run:
    wrong, late_ms = number % 100 == 0, 5000 if number % 1000 == 0 else 3
    return Run(
        new_id(at_ms),
        row.task,
        "tick",
        at_ms,
        at_ms,
        State.FAILED if wrong else State.SUCCEEDED,
        schedule_id=row.id,
        schedule=row.name,
        revision=1,
        owner=_NODE,
        claim_no=1,
        attempt=1,
        created_ms=at_ms,
        started_ms=at_ms + late_ms,
        finished_ms=at_ms + late_ms + 800,
        error="RuntimeError: no paper" if wrong else None,
    )


def _addresses(chosen: tuple[str, str]) -> dict[str, str]:
    name, run_id = quote(chosen[0]), chosen[1]
    return {
        "overview": "/",
        "timeline": "/timeline",
        "timeline, 7 days": "/timeline?range=7d",
        "schedules": "/schedules",
        "schedules, by next": "/schedules?sort=next",
        "schedules, searched": "/schedules?q=task_4",
        "schedules, searched in vain": "/schedules?q=nobody-has-this",
        "schedules, paused": "/schedules?state=paused",
        "schedules, a tag": "/schedules?tag=team-3",
        "schedules, a task": "/schedules?q=task%3Ashop.task_42",
        "one schedule": f"/schedules/{name}",
        "runs": "/runs",
        "runs, failed": "/runs?state=failed",
        "runs, of a task": "/runs?task=shop.task_42",
        "runs, of a node": f"/runs?node={_NODE}",
        "runs, late": "/runs?late=true",
        "runs, of a schedule": f"/runs?schedule={name}",
        "one run": f"/runs/{run_id}",
        "nodes": "/nodes",
        "tasks": "/tasks",
        "changes": "/changes",
        "API: status": "/api/v1/status",
        "API: schedules": "/api/v1/schedules",
        "API: runs": "/api/v1/runs",
    }


# asking


@contextmanager
def _served(url: str) -> Iterator[_Server]:
    """`onthedot dashboard` in a process of its own."""
    command = [sys.executable, "-m", "onthedot", "dashboard", "--store", url, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    address = next(line for line in lines if "http://" in line).partition("http://")[2].split()[0].rstrip("/.,;")
    Thread(target=lambda: [*lines], daemon=True).start()  # it must not be stopped by a full pipe
    try:
        yield _Server(f"http://{address.partition('/')[0]}", process.pid)
    finally:
        process.terminate()
        process.wait()


class _Server:
    """Where it is, and which process."""

    def __init__(self, address: str, pid: int) -> None:
        self.address = address
        self.pid = pid

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=120, headers={"Accept": "text/html, application/json"})

    def processor_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK


def _warm(server: _Server, say: Say) -> None:
    say("waiting for the watcher's first index")
    with server.client() as client:
        client.get("/")
        time.sleep(10)


def _pages(report: Report, say: Say, kind: str, server: _Server, addresses: dict[str, str]) -> None:
    section = report.section(
        f"First byte on {NAMES[kind]}",
        f"{SCHEDULES:,} schedules, {RUNS:,} ended runs, `onthedot dashboard` in a process of its own; no node "
        "plans, and nothing comes due while it is measured. Each address "
        f"{TURNS} times over one connection, in turn. Milliseconds; the last column is the size of the answer.",
        *("page", "half within", "19 of 20 within", "slowest", "kB"),
    )
    calm.wait(say)
    taken: dict[str, list[float]] = {name: [] for name in addresses}
    sizes: dict[str, int] = {}
    with server.client() as client:
        for _ in range(TURNS):
            for name, address in addresses.items():
                seconds, size = _first_byte(client, address)
                taken[name].append(seconds * MILLI)
                sizes[name] = size
    for name, each in taken.items():
        each.sort()
        section.rows.append((name, part(each, 0.5), part(each, 0.95), each[-1], sizes[name] / 1000))
    slowest = max(addresses, key=lambda name: part(taken[name], 0.95))
    worst = part(taken[slowest], 0.95)
    report.goal(
        f"every page and filter on {NAMES[kind]}: p95 below {LATEST_MS} ms",
        f"{worst:.0f} ms ({slowest})",
        worst < LATEST_MS,
    )
    heaviest = max((name for name in addresses if not name.startswith("API")), key=sizes.__getitem__)
    report.goal(
        f"HTML of at most {HTML // 1000} kB", f"{sizes[heaviest] / 1000:.0f} kB ({heaviest})", sizes[heaviest] <= HTML
    )


def _first_byte(client: httpx.Client, address: str) -> tuple[float, int]:
    began = time.perf_counter()
    with client.stream("GET", address) as answer:
        first = time.perf_counter() - began
        body = answer.read()
        assert answer.status_code == 200, (address, answer.status_code, body[:300])
    return first, len(body)


def _weights(report: Report, server: _Server, addresses: dict[str, str]) -> None:
    """What a browser loads beside each page, the first time."""
    section = report.section(
        "What is loaded beside a page",
        "Bytes of style and scripts as they are sent, with all that these import; kept by the browser after that.",
        *("page", "CSS, kB", "JavaScript, kB", "with gzip, kB"),
    )
    heaviest = {"CSS": 0, "JavaScript": 0}
    with server.client() as client:
        for name in ("overview", "timeline", "schedules", "one schedule", "runs", "one run", "nodes"):
            page = client.get(addresses[name]).text
            styles = _loaded(client, re.findall(r'rel="stylesheet" href="([^"]+)"', page))
            scripts = _loaded(client, re.findall(r'type="module" src="([^"]+)"', page))
            zipped = len(gzip.compress(styles)) + len(gzip.compress(scripts))
            section.rows.append((name, len(styles) / 1000, len(scripts) / 1000, zipped / 1000))
            heaviest["CSS"] = max(heaviest["CSS"], len(styles))
            heaviest["JavaScript"] = max(heaviest["JavaScript"], len(scripts))
    for what, most in (("CSS", CSS), ("JavaScript", JS)):
        size = heaviest[what]
        report.goal(f"{what} of a page: at most {most // 1000} kB", f"{size / 1000:.1f} kB", size <= most)


def _loaded(client: httpx.Client, addresses: list[str]) -> bytes:
    """All of them, each once, with what they import."""
    found: dict[str, bytes] = {}
    while addresses:
        address = addresses.pop()
        if address not in found:
            found[address] = client.get(address).content
            near = re.findall(rb'from "\./([^"]+)"|import "\./([^"]+)"', found[address])
            addresses += [f"{address.rpartition('/')[0]}/{(one or other).decode()}" for one, other in near]
    return b"".join(found.values())


# watching


def _watching(report: Report, say: Say, server: _Server) -> None:
    section = report.section(
        "What watching costs",
        f"Processor time of the server's process in {WATCH_S} s while nothing changes, with streams of events open.",
        *("who watches", "of a core, %"),
    )
    used: dict[int, float] = {}
    for viewers in (1, MANY):
        with ExitStack() as streams:
            for _ in range(viewers):
                client = streams.enter_context(server.client())
                streams.enter_context(client.stream("GET", "/api/v1/events", timeout=None))
            calm.wait(say)
            time.sleep(2)
            before = server.processor_s()
            time.sleep(WATCH_S)
            used[viewers] = (server.processor_s() - before) / WATCH_S * 100
        section.rows.append((f"{viewers} streams" if viewers > 1 else "one stream", used[viewers]))
    more = used[MANY] / max(used[1], 0.1)
    report.goal(f"{MANY} watchers cost at most twice what one does", f"{more:.1f} x", more <= 2)
