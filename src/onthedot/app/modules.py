"""Which modules `include=` names: "shop.jobs" is one, "shop.*.jobs" all that fit."""

from __future__ import annotations

import importlib
import pkgutil
from importlib.util import find_spec


def modules_of(pattern: str) -> list[str]:
    """The names of the modules that fit, in order; a name without `*` is taken as it is."""
    if "*" not in pattern:
        return [pattern]
    found = [""]
    for part in pattern.split("."):
        found = [name for base in found for name in _inside(base, part)]
    return [name for name in found if find_spec(name) is not None]


def _inside(base: str, part: str) -> list[str]:
    if part != "*":
        return [f"{base}.{part}" if base else part]
    package = importlib.import_module(base)
    return [f"{base}.{module.name}" for module in pkgutil.iter_modules(getattr(package, "__path__", ()))]
