"""A Django project for the tests, with the Django that it asks for, on the database that it asks for."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from tests.docs.processes import environment
from tests.patience import LONGEST_S

ROOT = Path(__file__).parents[2]
PROJECT = Path(__file__).parent / "project"
PYTHONS = {"5.2": Path(sys.executable), "6": Path(sys.prefix) / "django-6" / "bin" / "python"}
"""Django 6 needs a newer Python than our oldest: scripts/test makes an environment of its own for it."""

_ENGINES = {"postgresql": "postgresql", "mariadb": "mysql"}


@dataclass(frozen=True, slots=True)
class Site:
    """A copy of the project in a folder of its own."""

    folder: Path
    django: str
    settings: dict[str, str] = field(default_factory=dict)

    def manage(self, *words: str, ok: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        """`manage.py …`; it must end well, unless told otherwise."""
        ended = subprocess.run(
            [*self.command, *words],
            cwd=self.folder,
            env=self.environment(**more),
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST_S,
        )
        assert not ok or ended.returncode == 0, f"{words}: {ended.stdout}{ended.stderr}"
        return ended

    def python(self, code: str) -> str:
        """What a program of this project says; Django is set up."""
        ended = subprocess.run(
            [str(PYTHONS[self.django]), "-c", f"import django\ndjango.setup()\n{code}"],
            cwd=self.folder,
            env=self.environment(DJANGO_SETTINGS_MODULE="mysite.settings"),
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST_S,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    @property
    def command(self) -> list[str]:
        """What is in front of each command."""
        return [str(PYTHONS[self.django]), "manage.py"]

    def environment(self, **more: str) -> dict[str, str]:
        """Of its processes."""
        return environment(**{**self.settings, **more}) | {"PYTHONPATH": str(ROOT / "src")}


def site(folder: Path, django: str, url: str = "", driver: str = "", /, **onthedot: Any) -> Site:
    """The project on this database (SQLite, if left out), with these settings `ONTHEDOT`; skips where it cannot be."""
    needs(django, driver)
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    settings = {"SITE_DATABASE": json.dumps(_database(url)), "SITE_DRIVER": driver}
    return Site(folder, django, settings | ({"SITE_ONTHEDOT": json.dumps(onthedot)} if onthedot else {}))


@cache
def needs(django: str, driver: str = "") -> None:
    """Skips where this Django, or this driver of its, is not here; fails where tests are told to have everything."""
    python = PYTHONS[django]
    what = f"import django; assert django.VERSION[0] == {django[0]}, django.VERSION" + (
        "; import MySQLdb" if driver == "mysqlclient" else ""
    )
    if python.exists() and subprocess.run([python, "-c", what], capture_output=True, check=False).returncode == 0:
        return
    pytest.skip(f"no Django {django}{f' with {driver}' if driver else ''} here: scripts/test says why")


def _database(url: str) -> dict[str, Any]:
    if not url:
        options = {"transaction_mode": "IMMEDIATE", "timeout": 30}
        test = {"NAME": "test.db"}  # a file: nodes cannot share what is in memory
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db", "OPTIONS": options, "TEST": test}
    parsed = sqlalchemy.make_url(url)
    name = parsed.database or ""
    return {
        "ENGINE": f"django.db.backends.{_ENGINES[parsed.drivername]}",
        "NAME": name,
        "USER": parsed.username or "",
        "PASSWORD": parsed.password or "",
        "HOST": parsed.host or "",
        "PORT": str(parsed.port or ""),
        "CONN_MAX_AGE": 600,  # so that the threads of a node keep theirs
        "CONN_HEALTH_CHECKS": True,
        "TEST": {"NAME": f"{name}_test"},
    }
