"""The promises of `onthedot.django`, on each Django, database and driver of its: they are written in the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.django.sites import site

PLACES = [
    ("5.2", "sqlite", ""),
    ("5.2", "postgresql_15", ""),
    ("5.2", "mariadb", "mysqlclient"),
    ("6", "sqlite", ""),
    ("6", "postgresql_15", ""),
    ("6", "mariadb", "pymysql"),
]


@pytest.mark.parametrize(("django", "database", "driver"), PLACES)
def test_they_hold(django: str, database: str, driver: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = "" if database == "sqlite" else str(request.getfixturevalue(database))
    project = site(tmp_path, django, url, driver)
    said = project.manage("test", "--pattern", "promises_*.py", "--noinput", "shop").stderr
    assert "OK" in said, said
