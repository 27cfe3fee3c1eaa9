"""The public names are what `__all__` says, no more and no less."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

PACKAGES = ["onthedot", "onthedot.triggers", "onthedot.app.files", "onthedot.documents"]


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_sorted(package: str) -> None:
    names: list[str] = _module(package).__all__
    assert names == sorted(names)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there(package: str) -> None:
    module = _module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_is_missing_from_the_list(package: str) -> None:
    module = _module(package)
    found = {
        name for name, value in vars(module).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert found - set(module.__all__) == set()
