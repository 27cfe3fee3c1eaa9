"""`onthedot demo`: as lines in a pipe, and in a real terminal, where it is looked at and its keys are pressed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from tests.patience import LONGEST_S

COLUMNS, LINES = 130, 42

terminal_needed = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="NO TMUX HERE: the demo's screen is not tested; install tmux"
)


def processes_in(folder: Path) -> list[str]:
    """The command lines of living processes that name this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if str(folder) in line and "living.node" in line:
            found.append(line)
    return found


class Terminal:
    """A terminal of its own, in which the demo runs until somebody ends it."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "tmux"
        self._tmp = folder / "tmp"
        self._tmp.mkdir()
        self.folder = self._tmp

    def start(self, command: str, columns: int = COLUMNS, lines: int = LINES) -> None:
        whole = f"{command}; code=$?; echo; echo ended with $code; stty -a; exec sleep 1000"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), whole)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def until(self, seen: Callable[[str], bool]) -> str:
        """Wait until the screen shows it; what it shows then."""
        end = time.monotonic() + LONGEST_S
        while not seen(screen := self.screen()):
            assert time.monotonic() < end, f"it never came; the screen shows\n{screen}"
            time.sleep(0.1)
        return screen

    def close(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        around = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        environment = {**around, "TMPDIR": str(self._tmp), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *words],
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        return done.stdout


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()


DEMO = f"{sys.executable} -m onthedot demo --terminal"


def assert_nothing_is_left(terminal: Terminal, screen: str) -> None:
    assert "ended with 0" in screen
    assert "Traceback" not in screen
    assert "Warning" not in screen
    assert " icanon" in screen, "the terminal reads lines again"
    assert " echo " in screen, "the terminal shows what is typed again"
    assert list(terminal.folder.glob("onthedot-demo-*")) == []
    assert processes_in(terminal.folder) == []


@terminal_needed
def test_the_screen_shows_the_ring_the_schedules_the_nodes_and_what_runs(terminal: Terminal) -> None:
    terminal.start(DEMO)
    screen = terminal.until(lambda text: text.count("succeeded") > 5 and "█" in text)
    for title in ("the next minute", "schedules", "nodes", "running", "last outcomes"):
        assert f"─ {title} ─" in screen
    for name in (
        "heartbeat",
        "backup",
        "flaky",
        "refresh",
        "serial",
        "discard",
        "cover",
        "concurrent",
        "tokyo",
        "report",
    ):
        assert name in screen
    assert "◆" in screen, "the hand"
    lines = screen.splitlines()
    assert len(lines) == LINES
    assert all(len(line) <= COLUMNS for line in lines)
    assert lines[1].startswith("╭─")
    assert lines[1].endswith("─╮")
    assert "\x1b" not in screen
    terminal.press("q")
    assert_nothing_is_left(terminal, terminal.until(lambda text: "ended with" in text and "echo " in text))


@terminal_needed
def test_keys_pause_resume_trigger_and_kill(terminal: Terminal) -> None:
    terminal.start(DEMO)
    terminal.until(lambda text: "node-1 alive" in text and "node-2 alive" in text)
    terminal.press("Down", "Down", "Down", "Up", "p")
    screen = terminal.until(lambda text: "paused concurrent" in text and "▶ concurrent" in text)
    assert "paused" in next(line for line in screen.splitlines() if "▶" in line)
    terminal.press("p")
    terminal.until(lambda text: "resumed concurrent" in text)
    terminal.press("t")
    terminal.until(lambda text: "triggered concurrent" in text)
    busy = re.compile(r"node-(\d) alive, [3-9] running")
    found = busy.search(terminal.until(lambda text: busy.search(text) is not None))
    assert found is not None
    number = found[1]
    other = "2" if number == "1" else "1"
    terminal.press(number)
    terminal.until(lambda text: f"✗ node-{number} killed" in text)
    terminal.until(lambda text: f"% node-{other} attempt 2" in text)
    terminal.press(number)
    terminal.until(lambda text: f"node-{number} alive" in text)
    terminal.press("C-c")
    assert_nothing_is_left(terminal, terminal.until(lambda text: "ended with" in text and "echo " in text))


@terminal_needed
def test_a_small_terminal_is_told_what_is_needed(terminal: Terminal) -> None:
    terminal.start(DEMO, columns=80, lines=24)
    terminal.until(lambda text: "this needs 100 and 30" in text)
    terminal.press("q")
    assert_nothing_is_left(terminal, terminal.until(lambda text: "ended with" in text and "echo " in text))


@terminal_needed
def test_nothing_is_left_when_the_viewer_is_killed(terminal: Terminal) -> None:
    """Its folder stays: nobody is there to remove it."""
    terminal.start(f"sh -c 'echo $$ > {terminal.folder}/pid; exec {DEMO}'")
    terminal.until(lambda text: "node-1 alive" in text and "node-2 alive" in text)
    assert len(processes_in(terminal.folder)) == 2
    os.kill(int((terminal.folder / "pid").read_text()), 9)
    end = time.monotonic() + LONGEST_S
    while processes_in(terminal.folder):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_in_a_pipe_it_prints_a_line_for_each_run_and_ends_by_itself(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "onthedot", "demo", "--terminal", "--seconds", "15"],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        check=True,
    )
    assert done.stderr == ""
    assert "heartbeat   succeeded" in done.stdout
    assert "\x1b" not in done.stdout
    assert "runs ended" in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert processes_in(tmp_path) == []


def test_on_the_dashboard_a_node_is_killed_and_started_from_the_page(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "onthedot", "demo", "--port", "0"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "120"},
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().split()[-1]
        with httpx.Client(base_url=address, timeout=LONGEST_S, headers={"Accept": "text/html"}) as client:
            assert "Processes of this example" in client.get("/nodes").text
            killed = client.post("/stage/node-1/kill", data={"back": "/nodes"}, follow_redirects=True)
            assert "Killed node-1" in killed.text
            assert len(processes_in(tmp_path)) == 1
            assert client.post("/stage/node-9/kill", data={"back": ""}).status_code == 303
            assert "Started node-1" in client.post("/stage/node-1/start", follow_redirects=True).text
            assert len(processes_in(tmp_path)) == 2
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
    assert list(tmp_path.iterdir()) == []
    assert processes_in(tmp_path) == []
