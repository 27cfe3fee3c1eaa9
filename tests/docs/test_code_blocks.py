"""The code in the documentation runs as it is written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT, blocks_of, write_files

from onthedot import App
from onthedot.web.serving import Place, WebServer

BLOCKS = [
    pytest.param(page, block, id=f"{page.relative_to(ROOT)}#{number}")
    for page in PAGES
    for number, block in enumerate(blocks_of(page), 1)
]


SERVERS = {
    "redis://localhost:6379/0": "redis_url",
    "mongodb://localhost:27017/jobs": "mongodb_new_url",
    "postgresql://localhost/jobs": "postgresql_15",
    "mysql://localhost/jobs": "mariadb",
    "https://jobs.example": "jobs_address",
}
"""What a page says, and the fixture that has a server in its place."""
ASKED = {"MONGODB_URL": "mongodb_standalone", "REDIS_URL": "redis_server", "JOBS_TOKEN": "jobs_token"}
"""A variable that a block reads, and the fixture that has what it shall find there."""


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[App]:
    """A node with a task that pages name, on a store of its own."""
    app = App(f"sqlite:///{tmp_path}/over-http.db")

    @app.task
    def report(to: str = "ann") -> str:
        return f"sent to {to}"

    with app.running():
        yield app


@pytest.fixture
def jobs_address(jobs: App) -> Iterator[str]:
    server = WebServer(jobs, Place(port=0))
    with server.beside():
        yield server.address


@pytest.fixture
def jobs_token(jobs: App) -> str:
    return jobs.tokens.create("shop", "admin").text


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_a_block_of_code_runs_as_it_is_written(
    page: Path, block: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    write_files(page, tmp_path)
    environment = {**os.environ}
    for name, fixture in ASKED.items():
        if name in block:
            environment[name] = request.getfixturevalue(fixture)
    for said, fixture in SERVERS.items():
        if said in block:
            block = block.replace(said, request.getfixturevalue(fixture))
    ended = subprocess.run(
        [sys.executable, "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_the_readme_shows_code_before_line_25() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert lines.index("```python") < 24
