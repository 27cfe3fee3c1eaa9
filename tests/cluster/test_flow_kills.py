"""A flow whose processes are killed between any two of its steps goes on in the next, and each step ends once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.patience import LONGEST_S

from onthedot.model.states import State
from onthedot.stores.base import Store
from onthedot.stores.open import open_store

STEPS = 3
PROGRAM = """
import os, signal, sys, threading
from onthedot import App
from onthedot.node.settings import NodeSettings

url, dies_after, delay, begins = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
app = App(url, node=NodeSettings(lease_ms=2000, heartbeat_ms=500))

@app.task(crash_retries=100)
def step(number: int) -> int:
    if number == dies_after:
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return number + 1

chain = app.flow("chain")
last = chain.step("step", name="s0", args={"number": 0})
for each in range(1, int(begins)):
    last = chain.step("step", name=f"s{each}", args={"number": last})
if dies_after == 0:
    print(app.enqueue(chain).id, flush=True)
app.run()
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql_15", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else str(request.getfixturevalue(request.param))


def test_a_flow_goes_on_wherever_its_process_is_killed_and_each_step_ends_once(url: str, tmp_path: Path) -> None:
    program = tmp_path / "chain.py"
    program.write_text(PROGRAM)
    store = open_store(url, create=True)
    flow_id = ""
    for number in (*range(STEPS - 1), -1):
        with subprocess.Popen(
            [sys.executable, str(program), url, str(number), f"{number * 0.01}", str(STEPS)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        ) as process:
            assert process.stdout is not None
            flow_id = flow_id or process.stdout.readline().strip()
            try:
                _wait_for_end(process, store, flow_id)
            finally:
                process.kill()
    (flow,) = store.runs(ids=[flow_id])
    steps = store.runs(parent=flow_id)
    store.close()
    assert flow.state is State.SUCCEEDED
    assert sorted((run.step, run.state, run.result) for run in steps) == [
        (f"s{number}", State.SUCCEEDED, number + 1) for number in range(STEPS)
    ]


def _wait_for_end(process: subprocess.Popen[str], store: Store, flow_id: str) -> None:
    """Of the process, which kills itself, or of the flow."""
    patience = time.monotonic() + LONGEST_S
    while process.poll() is None and not store.runs(ids=[flow_id])[0].is_final:
        assert time.monotonic() < patience, "neither ended"
        time.sleep(0.05)
