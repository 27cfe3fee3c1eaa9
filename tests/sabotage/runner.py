"""Runs the tests on copies of the tree, each with one rule taken out."""

from __future__ import annotations

import compileall
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory
from typing import Literal

from tests.sabotage.sabotage import ROOT, Sabotage

Verdict = Literal["noticed", "hangs", "GREEN", "BROKEN"]
NOTICED: tuple[Verdict, ...] = ("noticed", "hangs")

HANGS_S = 30
"""A single test that takes longer hangs, which is noticing too."""
LONGEST_S = 180
_COPIED = ("src", "tests", "pyproject.toml")
_COMMAND = (
    sys.executable,
    *["-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", "-p", "pytest_timeout"],
)
_PASSED, _FAILED = 0, 1
_FIRST = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one sabotage."""

    sabotage: Sabotage
    verdict: Verdict
    by: str
    """The test that noticed, or why none could."""
    took_s: float


@contextmanager
def prepared_tree(root: Path = ROOT) -> Iterator[Path]:
    """A copy of the tree to make further copies of, compiled once; what is changed later is seen by its content."""
    with TemporaryDirectory(prefix="onthedot-sabotage-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        for name in _COPIED:
            _copy(root / name, tree / name)
        compileall.compile_dir(tree, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        yield tree


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, target)


def what_is_red(tree: Path, tests: Sequence[str]) -> str | None:
    """What fails without any sabotage; None if nothing does. Only then does a red test mean something."""
    code, output = _pytest(tree, tests, longest_s=10 * LONGEST_S)
    return None if code == _PASSED else _reason(output)


def run_all(tree: Path, sabotages: Sequence[Sabotage], jobs: int) -> Iterator[Result]:
    """So many at a time, in their order."""
    with ThreadPoolExecutor(jobs) as threads:
        yield from threads.map(lambda each: _run(tree, each), sabotages)


def _run(tree: Path, sabotage: Sabotage) -> Result:
    began = time.monotonic()
    copy = tree.parent / sabotage.name
    shutil.copytree(tree, copy, copy_function=os.link)  # only one file will differ
    try:
        sabotage.apply(copy)
        verdict, by = _judge(*_pytest(copy, sabotage.tests))
    except (ValueError, OSError) as error:
        verdict, by = "BROKEN", f"{error}"
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    return Result(sabotage, verdict, by, time.monotonic() - began)


def _judge(code: int | None, output: str) -> tuple[Verdict, str]:
    """Only a test that ran and failed has noticed: an import that fails is a fault of the sabotage."""
    found = _FIRST.search(output)
    by = "" if found is None else found[1].rpartition("/")[2]
    if code is None:
        return "hangs", by
    if code == _PASSED:
        return "GREEN", "nothing"
    if code == _FAILED and found is not None:
        return ("hangs" if "Timeout (>" in output else "noticed"), by
    return "BROKEN", _reason(output)


def _reason(output: str) -> str:
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR", "E  "))]
    return (lines or output.splitlines() or ["no output"])[-1][:200]


def _pytest(tree: Path, tests: Sequence[str], longest_s: int = LONGEST_S) -> tuple[int | None, str]:
    """Its exit code and output; no code if it had to be ended."""
    process = subprocess.Popen(
        [*_COMMAND, f"--timeout={HANGS_S}", *tests],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=longest_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]
    return process.returncode, output
