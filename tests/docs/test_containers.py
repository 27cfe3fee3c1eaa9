"""The recipes for containers and systemd: read as an engine would read them, and their commands run for real."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from tests.docs.pages import ROOT, blocks_of
from tests.docs.processes import environment, run, started
from tests.patience import LONGEST_S
from tests.servers import postgresql
from tests.servers.base import free_port

COMPOSE = ROOT / "docs" / "compose.yaml"
DEPLOYING = ROOT / "docs" / "guides" / "deploying.md"
PASSWORD = "secret7"
KEYS = {
    *("image", "environment", "volumes", "healthcheck", "restart", "working_dir", "command", "depends_on", "deploy"),
    "stop_grace_period",
}
JOBS = """\
from onthedot import App

app = App()


@app.task
def report() -> str:
    return "sent"
"""


def printed(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "onthedot", "init", *words], capture_output=True, check=True)
    return done.stdout.decode()


def interpolated(text: str, given: Mapping[str, str]) -> str:
    """As Compose does it: ${NAME}, and ${NAME:?what is missing}."""
    return re.sub(r"\$\{(\w+)(?::\?[^}]*)?\}", lambda found: given[found[1]], text)


@pytest.fixture
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(interpolated(COMPOSE.read_text("utf-8"), {"POSTGRES_PASSWORD": PASSWORD}))
    assert found.keys() == {"services", "volumes"}
    assert found["volumes"].keys() == {"database"}
    services: dict[str, Any] = found["services"]
    return services


def test_the_file_of_the_docs_is_the_one_that_init_prints() -> None:
    assert COMPOSE.read_text("utf-8") == printed("--compose")
    assert "onthedot run more.toml " in printed("more.toml", "--compose")
    assert f"```ini\n{printed('--systemd')}```" in DEPLOYING.read_text("utf-8")


def test_its_parts_fit_together(services: dict[str, Any]) -> None:
    for service in services.values():
        assert service.keys() <= KEYS
        assert service["healthcheck"].keys() <= {"test", "interval", "retries", "start_period"}
        assert service["healthcheck"]["test"][0] == "CMD"
    node, database = services["node"], services["database"]
    assert node["depends_on"] == {"database": {"condition": "service_healthy"}}
    store, made = urlsplit(node["environment"]["ONTHEDOT_STORE"]), database["environment"]
    assert (store.scheme, store.hostname) == ("postgresql", "database")
    assert (store.username, store.password, store.path) == (
        made["POSTGRES_USER"],
        made["POSTGRES_PASSWORD"],
        f"/{made['POSTGRES_DB']}",
    )
    assert all(isinstance(each, str) for each in (*node["environment"].values(), *made.values()))


def test_the_check_of_the_database_is_answered_by_tcp_alone(services: dict[str, Any], postgresql_15: str) -> None:
    found = postgresql.version(15)
    program = shutil.which("pg_isready", path=f"{found.bin if found else ''}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        pytest.skip("no pg_isready here: it comes with PostgreSQL's clients")
    check = [program, *services["database"]["healthcheck"]["test"][2:]]
    place = {"PGPORT": str(urlsplit(postgresql_15).port)}
    assert subprocess.run(check, env={**os.environ, **place}, check=False).returncode == 0
    assert subprocess.run(check, env={**os.environ, "PGPORT": str(free_port())}, check=False).returncode != 0


def test_its_nodes_share_the_work_are_healthy_and_stop_when_they_are_told(
    services: dict[str, Any], postgresql_15: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(JOBS, encoding="utf-8")
    node = services["node"]
    assert node["deploy"] == {"replicas": 2}
    ports = [free_port(), free_port()]
    said = {
        "ONTHEDOT_STORE": postgresql_15,
        "PIP_NO_INDEX": "1",  # what the image would fetch is here already
        "PIP_ROOT_USER_ACTION": "ignore",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    words = shlex.split(node["command"])
    first, second = [started(tmp_path, *words, **said, ONTHEDOT_METRICS_PORT=str(port)) for port in ports]
    with first, second:
        wait_for(tmp_path, [checked(node["healthcheck"]["test"][1:], port) for port in ports])
        listed = json.loads(run(tmp_path, "onthedot", "nodes", "list", "--json", **said))
        assert len(listed["nodes"]) == 2
        run(tmp_path, "onthedot", "enqueue", "report", "--wait", **said)


def checked(command: list[str], port: int) -> list[str]:
    """A check of health, of a node on another port."""
    assert any("9108" in word for word in command)
    return [word.replace("9108", str(port)) for word in command]


def wait_for(folder: Path, checks: list[list[str]]) -> None:
    """Until all of them end well."""
    end = time.monotonic() + LONGEST_S
    while any(subprocess.run(each, env=environment(), capture_output=True, check=False).returncode for each in checks):
        assert time.monotonic() < end, (folder / "said.log").read_text()
        time.sleep(0.1)


# the image


def instructions() -> dict[str, str]:
    (block,) = blocks_of(DEPLOYING, "dockerfile")
    return dict(line.split(" ", 1) for line in block.splitlines())


def test_the_image_needs_what_there_is_and_runs_as_nobody_special() -> None:
    given = instructions()
    assert given.keys() == {"FROM", "WORKDIR", "COPY", "RUN", "USER", "HEALTHCHECK", "CMD"}
    assert re.fullmatch(r"python:3\.\d+-slim", given["FROM"])
    assert int(given["USER"]) > 0
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (asked,) = re.findall(r"onthedot\[([\w,]+)\]", given["RUN"])
    assert set(asked.split(",")) <= extras.keys()


def test_its_command_runs_is_healthy_and_stops_when_it_is_told(tmp_path: Path) -> None:
    given = instructions()
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "jobs.py").write_text(JOBS, encoding="utf-8")
    port = free_port()
    check = checked(json.loads(given["HEALTHCHECK"].partition("CMD ")[2]), port)
    with started(tmp_path, *checked(json.loads(given["CMD"]), port), ONTHEDOT_STORE=f"sqlite:///{tmp_path}/jobs.db"):
        wait_for(tmp_path, [check])
    assert subprocess.run(check, capture_output=True, check=False).returncode != 0


# systemd


def unit() -> configparser.RawConfigParser:
    read = configparser.RawConfigParser(strict=True)
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read_string(printed("--systemd"))
    return read


def test_the_unit_runs_what_it_says_and_leaves_it_time_to_stop(tmp_path: Path) -> None:
    service = unit()["Service"]
    (tmp_path / "jobs.py").write_text(JOBS, encoding="utf-8")
    program, *words = shlex.split(service["ExecStart"])
    assert Path(program).name == "onthedot"
    assert float(service["TimeoutStopSec"]) > float(words[words.index("--drain") + 1].removesuffix("s"))
    variable, _, url = service["Environment"].partition("=")
    assert Path(url.removeprefix("sqlite:///")).parent == Path(service["WorkingDirectory"])
    store = f"sqlite:///{tmp_path}/onthedot.db"
    with started(tmp_path, "onthedot", *words, **{variable: store}):
        end = time.monotonic() + LONGEST_S
        while (
            "healthy"
            not in subprocess.run(
                ["onthedot", "status"],
                check=False,
                cwd=tmp_path,
                env=environment(**{variable: store}),
                capture_output=True,
                text=True,
            ).stdout
        ):
            assert time.monotonic() < end
            time.sleep(0.1)


def test_systemd_has_nothing_to_say_against_it(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze here: apt-get install systemd")
    text = printed("--systemd").replace("/srv/jobs/.venv/bin/onthedot", str(Path(sys.executable).with_name("onthedot")))
    path = tmp_path / "onthedot.service"
    path.write_text(text.replace("User=onthedot", "User=root"), encoding="utf-8")
    done = subprocess.run([analyze, "verify", "--man=no", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "onthedot.service" in line]) == (0, [])
