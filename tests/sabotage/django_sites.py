"""Some of the promises of `onthedot.django` at a time: what notices a sabotage need not run all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.django.sites import site

PLACES = {"sqlite": ("5.2", ""), "postgresql": ("5.2", "postgresql_15"), "django 6": ("6", "")}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("promises", ["transactions", "tests", "tasks", "nodes"])
def test_they_hold(promises: str, place: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    django, database = PLACES[place]
    project = site(tmp_path, django, str(request.getfixturevalue(database)) if database else "")
    said = project.manage("test", "--pattern", f"promises_of_{promises}.py", "--noinput", "shop").stderr
    assert "OK" in said, said
