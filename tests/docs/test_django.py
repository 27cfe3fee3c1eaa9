"""The Django project of the guide: its commands, and its tests."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.docs.pages import ROOT, write_files
from tests.docs.processes import run, started
from tests.patience import LONGEST_S

from onthedot import App

PAGE = ROOT / "docs" / "guides" / "django.md"


def test_a_node_of_the_site_has_its_tasks(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    run(tmp_path, sys.executable, "manage.py", "makemigrations", "shop")
    run(tmp_path, sys.executable, "manage.py", "migrate")
    app = App(f"sqlite:///{tmp_path / 'shop.db'}")
    with started(tmp_path, sys.executable, "manage.py", "onthedot", "run"):
        end = time.monotonic() + LONGEST_S
        while [info.name for info in app.tasks.list()] != ["count_open_orders", "send_invoice"]:
            assert time.monotonic() < end, (tmp_path / "said.log").read_text(encoding="utf-8")
            time.sleep(0.1)
    app.close()


def test_the_tests_of_the_site_pass(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    run(tmp_path, sys.executable, "manage.py", "makemigrations", "shop")
    run(tmp_path, sys.executable, "manage.py", "test")
