"""Tasks for processes: a module that the other process can import."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from onthedot import Context, GiveUp
from onthedot.app.app import App
from onthedot.clock import SystemClock
from onthedot.stores.memory import MemoryStore

app = App("memory://", store=MemoryStore(SystemClock().now_ms), pool="process")


@app.around
def says(ctx: Context) -> Iterator[None]:
    ctx.log.info("before")
    yield
    ctx.log.info("after")


@app.task
def where(ctx: Context, number: int) -> dict[str, int]:
    logging.getLogger("elsewhere").warning("number %s", number)
    return {"pid": os.getpid(), "number": number, "attempt": ctx.attempt}


@app.task
async def awaits() -> int:
    await asyncio.sleep(0)
    return os.getpid()


@app.task(timeout="1s")  # it has surely been entered by then, also on a busy machine
def spins() -> None:
    while True:
        pass


@app.task
def sleeps(folder: str) -> None:
    child = subprocess.Popen(["sleep", "1000"])
    Path(folder, "pids").write_text(f"{os.getpid()} {child.pid}\n")
    time.sleep(1000)


@app.task(timeout="3s")
def never_stops(folder: str) -> None:
    child = subprocess.Popen(["sleep", "1000"])
    Path(folder, "pids").write_text(f"{os.getpid()} {child.pid}\n")
    while True:
        try:
            time.sleep(1000)
        except BaseException:
            continue


@app.task
def is_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@app.task
def leaves() -> None:
    os._exit(3)


@app.task
def exits() -> None:
    sys.exit(4)


@app.task
def gives_up() -> None:
    raise GiveUp("no use")


@app.task
def returns_much() -> str:
    return "x" * 100_000


@app.task
def chatters(ctx: Context) -> None:
    for _ in range(100):
        ctx.log.info("x" * 50_000)


@app.task
def asks(ctx: Context) -> list[str]:
    return [str(ctx.previous_at), str(ctx.last_success_at)]


@app.task
def forks_and_dies(folder: str) -> None:
    """What it has forked inherits its pipes."""
    fork = os.fork()
    if fork == 0:
        time.sleep(600)
        os._exit(0)
    (Path(folder) / "pids").write_text(f"{fork}\n")
    os.kill(os.getpid(), signal.SIGKILL)


@app.task
def starts_and_dies(folder: str) -> None:
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (Path(folder) / "pids").write_text(f"{started.pid}\n")
    os.kill(os.getpid(), signal.SIGKILL)


@app.task
def forks(how: str, ctx: Context) -> str:
    """Its fork goes on as if it were the task itself."""
    fork = os.fork()
    ctx.log.info("the fork" if fork == 0 else "the task")
    if fork == 0 and how == "exits":
        sys.exit(0)
    if fork:
        os.waitpid(fork, 0)
    return how
