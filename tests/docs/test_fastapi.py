"""What the guide for FastAPI says about several workers is so."""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path

from tests.docs.pages import ROOT, write_files
from tests.docs.processes import started
from tests.patience import LONGEST_S

from onthedot import App


def test_several_workers_are_as_many_nodes_and_each_tick_is_one_run(tmp_path: Path) -> None:
    write_files(ROOT / "docs" / "guides" / "fastapi.md", tmp_path)
    jobs_py = tmp_path / "shop" / "jobs.py"
    jobs_py.write_text(jobs_py.read_text(encoding="utf-8").replace('every("15m")', 'every("1s")'), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    app = App(f"sqlite:///{tmp_path / 'shop.db'}")
    app.open_store(create=True)
    with started(tmp_path, "uvicorn", "shop.api:api", "--workers", "2", "--port", port):
        end = time.monotonic() + LONGEST_S
        while len(app.nodes.list()) < 2 or len(list(app.runs.list())) < 4:
            assert time.monotonic() < end, (tmp_path / "said.log").read_text(encoding="utf-8")
            time.sleep(0.1)
    ticks = [run.scheduled_at for run in app.runs.list()]
    assert len(ticks) == len(set(ticks))
    assert not list(app.nodes.list())  # both were drained
    app.close()
    assert not re.search("Traceback", (tmp_path / "said.log").read_text(encoding="utf-8"))
