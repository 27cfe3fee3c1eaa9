"""What is asked for often loads only what it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"numpy", "sqlalchemy", "alembic", "fastapi", "pymongo"}

OTHER_DATABASES = {f"sqlalchemy.dialects.{each}" for each in ("mysql", "postgresql", "oracle", "mssql")}

IMPORT = "import onthedot"
DOCUMENTS = "import onthedot.documents"
NEXT = "from onthedot.cli import main\nassert main(['next', '0 9 * * *']) == 0"
DESCRIBE = "from onthedot.cli import main\nassert main(['describe', '0 9 * * *']) == 0"
HELP = "from onthedot.cli import main\nassert main(['--help']) == 0"


def _loaded(code: str) -> set[str]:
    """The top names of all modules that a fresh interpreter has loaded after running the code."""
    return {name.partition(".")[0] for name in _modules(code)}


def _modules(code: str) -> set[str]:
    report = "import json, sys\nsys.stderr.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, encoding="utf-8", check=True
    )
    return set(json.loads(done.stderr))


@pytest.mark.parametrize(
    "code", [IMPORT, DOCUMENTS, NEXT, DESCRIBE, HELP], ids=["import", "documents", "next", "describe", "help"]
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    assert _loaded(code) & HEAVY == set()


def test_importing_the_library_loads_no_command_line() -> None:
    assert _loaded(IMPORT) & {"rich", "click"} == set()


def test_a_command_loads_no_other_command() -> None:
    ours = {name for name in _modules(NEXT) if name.startswith("onthedot.cli.")}
    assert "onthedot.cli.triggers" in ours
    assert ours & {f"onthedot.cli.{other}" for other in ("runs", "schedules", "forecast", "demo", "files")} == set()


@pytest.mark.parametrize("words", [["status"], ["runs", "list", "--json"], ["schedules", "show", "nightly", "--json"]])
def test_a_command_that_asks_a_store_loads_no_dashboard_no_migrations_no_tables_of_rich(
    words: list[str], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    made = (
        "from onthedot import App, every\n"
        f"app = App({url!r})\napp.open_store(create=True)\n"
        "app.schedules.put('nightly', 'report', every('1h'), unchecked=True)"
    )
    subprocess.run([sys.executable, "-c", made], check=True)
    code = f"from onthedot.cli import main\nassert main({[*words, '--store', url]!r}) in (0, 1)"
    modules = _modules(code)
    assert "onthedot.node.node" not in modules
    heavy = {"numpy", "alembic", "fastapi", "starlette", "uvicorn", "pymongo", "redis", "psycopg", "rich"}
    assert {name.partition(".")[0] for name in modules} & heavy == set()
    assert {name for name in modules if name.startswith("sqlalchemy.dialects.")} & OTHER_DATABASES == set()
