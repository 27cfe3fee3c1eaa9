"""Pictures of storms: what was done, and what came of it, second by second."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from bench.plots import draw
from bench.storms import plots_of

SUMMARY = {
    "store": "sqlite",
    "seed": 7,
    "started": [[0, 20, 3], [1, 22, 5], [3, 60, 2400]],
    "faults_at": [[1.5, "kill"], [2.0, "freeze"]],
}


def test_every_fault_is_marked_and_told() -> None:
    for plot in plots_of(SUMMARY):
        said = [title.text for title in ElementTree.fromstring(draw(plot)).iter("{http://www.w3.org/2000/svg}title")]
        assert {"kill at 1.5", "freeze at 2"} <= set(said)


def test_they_stand_at_the_end_of_the_page_and_once_however_often_they_are_made(tmp_path: Path) -> None:
    summary, page = tmp_path / "sqlite.json", tmp_path / "sqlite.md"
    summary.write_text(json.dumps(SUMMARY))
    page.write_text("# A storm\n\n| verdict | no promise broken |\n")
    for _ in range(2):
        command = [sys.executable, "-m", "bench.storms", str(summary), "--page", str(page)]
        subprocess.run(command, check=True)
    text = page.read_text()
    assert text.startswith("# A storm\n\n| verdict | no promise broken |\n\n## In pictures\n")
    assert text.count("## In pictures") == 1
    assert text.count("![") == 2
    assert sorted(each.name for each in tmp_path.glob("*.svg")) == ["sqlite-late.svg", "sqlite-started.svg"]
