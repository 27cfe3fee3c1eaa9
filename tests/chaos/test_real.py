"""A short storm of real processes on a file, with its verdict and its summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.chaos.__main__ import main


@pytest.mark.timeout(900)
def test_a_short_storm_on_sqlite_breaks_no_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "storm.json"
    arguments = ["--minutes", "0.35", "--seed", "11", "--schedules", "45", "--nodes", "2", "--json", str(written)]
    code = main(arguments)
    said = capsys.readouterr().out
    assert code == 0, said
    summary = json.loads(written.read_text())
    assert summary["faults"]
    assert summary["runs"]["succeeded"] > 100
    assert (summary["broken"], summary["problems"]) == (0, [])
    assert "no promise broken" in said
