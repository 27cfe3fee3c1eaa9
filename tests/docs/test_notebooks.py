"""The cells of the guide for notebooks, run as a kernel runs them: one after another, on one event loop."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, blocks_of
from tests.docs.processes import environment
from tests.patience import LONGEST_S

CELLS = blocks_of(ROOT / "docs" / "guides" / "notebooks.md", "python cell")

KERNEL = f"""\
import ast, asyncio, inspect, json, sys

async def kernel(cells):
    for number, cell in enumerate(cells):
        code = compile(cell, f"<cell {{number}}>", "exec", flags={ast.PyCF_ALLOW_TOP_LEVEL_AWAIT}, dont_inherit=True)
        waiting = eval(code, globals())
        if inspect.isawaitable(waiting):
            await waiting
        await asyncio.sleep(0)

asyncio.run(kernel(json.load(sys.stdin)))
"""


def kernel(folder: Path, cells: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", KERNEL],
        input=json.dumps(cells),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )


def test_the_cells_run_from_top_to_bottom_and_once_more(tmp_path: Path) -> None:
    ended = kernel(tmp_path, [*CELLS, *CELLS])
    assert ended.returncode == 0, ended.stderr
    assert "succeeded 8 ['doubling 4']" in ended.stdout


def test_every_cell_but_the_last_may_be_run_twice(tmp_path: Path) -> None:
    ended = kernel(tmp_path, [again for cell in CELLS[:-1] for again in (cell, cell)] + CELLS[-1:])
    assert ended.returncode == 0, ended.stderr


def test_a_schedule_may_be_declared_again_by_running_its_cell_again(tmp_path: Path) -> None:
    cell = '@app.schedule(every("1h"))\ndef job() -> None: ...\n'
    ended = kernel(tmp_path, [CELLS[0], cell, cell])
    assert ended.returncode == 0, ended.stderr
