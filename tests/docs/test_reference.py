"""The reference says what the code says, and leaves out nothing that is public."""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator

import pytest
from scripts.write_reference import PLACE, pages
from tests.docs.pages import ROOT

import onthedot

NAMED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
PYTHON = NAMED.findall((ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8"))

NOT_FOR_USERS = ("all", "dev", "docs")


@pytest.mark.parametrize("page", ["command-line.md", "settings.md", "http.md"])
def test_a_page_that_follows_from_the_code_is_up_to_date(page: str) -> None:
    assert (PLACE / page).read_text(encoding="utf-8") == pages()[page], "scripts/docs writes it anew"


def test_every_public_name_is_in_the_reference() -> None:
    errors = {name for name, value in vars(onthedot.errors).items() if inspect.isclass(value)}
    missing = {name for name in onthedot.__all__ if f"onthedot.{name}" not in PYTHON} - errors
    assert missing == set()


def found(path: str) -> object:
    module, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ImportError:
        return getattr(importlib.import_module(module), name)


def undocumented(path: str) -> Iterator[str]:
    thing = found(path)
    if not inspect.getdoc(thing):
        yield path
    if not inspect.isclass(thing) or issubclass(thing, BaseException):
        return
    for name, value in vars(thing).items():
        is_public = not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
        if is_public and not inspect.getdoc(getattr(thing, name)):
            yield f"{path}.{name}"


@pytest.mark.parametrize("path", PYTHON)
def test_everything_in_the_reference_is_documented(path: str) -> None:
    assert list(undocumented(path)) == []


def test_every_package_that_users_get_has_its_licence_told() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name not in NOT_FOR_USERS}
    asked = {re.split(r"[^\w.-]", each)[0] for wanted in (project["dependencies"], *extras.values()) for each in wanted}
    told = set(re.findall(r"[\w.-]+", (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")))
    assert asked - {"onthedot"} <= told
