"""Tasks and flows of a shop: a module that a process for tasks can import."""

from __future__ import annotations

import os
import sys
from typing import Any

from onthedot import App, Context

app = App("memory://")


@app.task
def days(many: int) -> list[int]:
    return list(range(many))


@app.task
async def fetch(day: int) -> dict[str, int]:
    return {"rows": day}


@app.task(pool="process")
def crunch(ctx: Context, part: dict[str, int]) -> dict[str, Any]:
    return {"rows": part["rows"] * 10, "pid": os.getpid(), "where": [ctx.step, ctx.item, ctx.flow]}


@app.task(pool="process")
def read_all(ctx: Context) -> list[int]:
    return [each["rows"] for each in ctx.results("crunch")]


@app.task
def total(parts: list[int], exit_code: int) -> int:
    return sum(parts) + exit_code


@app.task
def never() -> None:
    raise AssertionError("its condition did not hold")


said = app.command("say", [sys.executable, "-c", "print('said')"])


@app.flow
def mixed(many: int = 3) -> None:
    """Steps in threads, on the event loop, in processes, and a command."""
    parts = crunch.map(fetch.map(days(many)))
    rows = read_all.options(after=[parts])()
    spoken = said.options(after=[rows])()
    summed = total(rows, spoken["exit_code"])
    never.options(when=summed > 1000)()
