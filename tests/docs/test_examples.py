"""Every program in `examples/` runs as its first lines say."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from tests.django.sites import Site, needs
from tests.docs import processes
from tests.docs.pages import ROOT
from tests.patience import LONGEST_S
from tests.servers.base import free_port

EXAMPLES = ROOT / "examples"
ENDING = {
    "embedded.py": ["resized to 320", "heartbeat succeeded", "the next report:"],
    "asyncio_program.py": ["succeeded page 3"],
    "commands_and_http.py": ["{'exit_code': 0} ['backed up']", "{'status': 204, 'body': ''}"],
    "in_your_transaction.py": ["sold out\ninvoice of order 1\n"],
    "failures.py": ["fetched at attempt 3", "somebody should know: charge failed"],
    "operating.py": ["digest for eu", "paused", "next:"],
    "documents.py": ["to bob@example.org", "3 worked", "nobody is no address"],
    "documents_mongodb.py": ["to bob@example.org", "left: ['eve@example.org']"],
    "documents_redis.py": ["to bob@example.org", "2 worked", "gone and again at"],
    "forecast.py": ["89516 runs"],
    "cluster.py": ["in process"],
    "engines.py": ["succeeded: 133 primes", "at engine cluster, as "],
    "celery_beats.py": ["one beat of three is killed", "each of them once: True", "all of them were sent: True"],
}
"""Those that end by themselves, and what they print on the way."""
OTHERS = {"django_shop", "fastapi_app.py", "flask_app.py", "jobs.toml", "test_nightly.py", "README.md"}
NEEDS = {
    "documents_mongodb.py": ("MONGODB_URL", "mongodb_standalone"),
    "documents_redis.py": ("REDIS_URL", "redis_server"),
}


def run(command: list[str], folder: Path, **environment: str) -> str:
    """All that it prints, if it ends well."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ENDING)
def test_an_example_does_what_it_shows(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    variable, fixture = NEEDS.get(name, (None, None))
    environment = {variable: request.getfixturevalue(fixture)} if variable and fixture else {}
    said = run([str(EXAMPLES / name)], tmp_path, **environment)
    for each in ENDING[name]:
        assert each in said


def test_a_cluster_is_any_store_by_its_url(tmp_path: Path, postgresql_15: str) -> None:
    assert "in process" in run([str(EXAMPLES / "cluster.py")], tmp_path, ONTHEDOT_STORE=postgresql_15)


def test_the_example_of_tests_passes(tmp_path: Path) -> None:
    said = run(["-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / "test_nightly.py")], tmp_path)
    assert "4 passed" in said


@contextmanager
def started(command: list[str], folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A program that goes on until Ctrl-C, and then ends well."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=LONGEST_S)
        assert process.returncode in (0, -signal.SIGINT), said
    finally:
        process.kill()
        process.communicate()


def test_the_file_is_well_and_its_commands_run(tmp_path: Path) -> None:
    path = str(EXAMPLES / "jobs.toml")
    assert "is well: 3 schedules" in run(["-m", "onthedot", "check", path], tmp_path)
    with started(["-m", "onthedot", "run", path], tmp_path) as node:
        assert node.stdout is not None
        assert any("succeeded hello" in line for line in node.stdout)


def answer(request: Request) -> Mapping[str, object]:
    """Of a server that is perhaps not there yet."""
    end = time.monotonic() + LONGEST_S
    while True:
        try:
            with urlopen(request, timeout=LONGEST_S) as said:
                found: Mapping[str, object] = json.load(said)
                return found
        except URLError:
            assert time.monotonic() < end, "it never answered"
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("fastapi_app.py", "invoice of order 7"),
        ("flask_app.py", "invoice of order 7 from shop@example.org"),
    ],
)
def test_a_web_application_does_what_its_endpoints_enqueue(name: str, result: str, tmp_path: Path) -> None:
    place = f"http://127.0.0.1:{(port := free_port())}"
    with started([str(EXAMPLES / name)], tmp_path, PORT=str(port)):
        _order(place, result)


def _order(place: str, result: str) -> None:
    order = answer(Request(f"{place}/orders/7", method="POST"))
    end = time.monotonic() + LONGEST_S
    while (run := answer(Request(f"{place}/runs/{order['run']}")))["state"] != "succeeded":
        assert time.monotonic() < end, run
    assert run["result"] == result


@pytest.mark.parametrize("django", ["5.2", "6"])
def test_a_django_project_does_what_its_views_enqueue(django: str, tmp_path: Path) -> None:
    needs(django)
    folder = tmp_path / "shop"
    shutil.copytree(EXAMPLES / "django_shop", folder, ignore=shutil.ignore_patterns("__pycache__", "*.db*"))
    site = Site(folder, django)
    site.manage("migrate", "-v", "0")
    assert "No changes" in site.manage("makemigrations", "--check").stdout
    assert "OK" in site.manage("test").stderr
    port = free_port()
    node = processes.started(folder, *site.command, "onthedot", "run", PYTHONPATH=str(ROOT / "src"))
    server = processes.started(
        folder, *site.command, "runserver", "--noreload", str(port), PYTHONPATH=str(ROOT / "src")
    )
    with node, server:
        _order(f"http://127.0.0.1:{port}", "invoice of order 7")
        listed = site.manage("onthedot", "schedules", "list").stdout
    assert [name for name in ("remind", "nightly_report") if name in listed] == ["remind", "nightly_report"][
        : int(django[0]) - 4
    ]


def test_every_example_is_run_and_listed() -> None:
    there = {path.name for path in EXAMPLES.iterdir() if not path.name.startswith("__")}
    assert there == ENDING.keys() | OTHERS
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in there - {"README.md"} if f"({name})" not in listed] == []
