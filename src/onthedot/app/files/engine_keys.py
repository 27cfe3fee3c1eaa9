"""The tables [engines.NAME] of a jobs.toml: where tasks are executed that no node executes itself."""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import Any

from onthedot.app.files.entry import EngineEntry
from onthedot.app.names import name_problem
from onthedot.app.remedies import did_you_mean, exactly_one
from onthedot.errors import SettingsError
from onthedot.execution.engines.engine import Engine
from onthedot.storable import brief

Table = dict[str, Any]

_KINDS = {"dask": ("onthedot.dask", "DaskEngine"), "celery": ("onthedot.celery", "CeleryEngine")}
_EXAMPLES = {"dask": "tcp://scheduler:8786", "celery": "shop.tasks:app"}
ENGINE_KEYS = (*_KINDS, "tasks", "options")


def read_engines(tables: object, problems: list[str]) -> tuple[EngineEntry, ...]:
    """All of them; or fewer, and the problems are told."""
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        problems.append("engines: write each as a table, [engines.NAME]")
        return ()
    entries = [_entry(name, table, problems) for name, table in tables.items()]
    return tuple(entry for entry in entries if entry is not None)


def _entry(name: str, table: Table, problems: list[str]) -> EngineEntry | None:
    found = [f"{key}: unknown key; {did_you_mean(key, ENGINE_KEYS)}" for key in table if key not in ENGINE_KEYS]
    kinds = [key for key in _KINDS if key in table]
    if len(kinds) != 1:
        found.append(exactly_one(kinds, tuple(_KINDS)))
    found += [
        f'{kind}: {brief(table[kind])} is not text; write {kind} = "{_EXAMPLES[kind]}"'
        for kind in kinds
        if not isinstance(table[kind], str)
    ]
    tasks, options = table.get("tasks", []), table.get("options", {})
    if not isinstance(tasks, list) or not all(isinstance(each, str) for each in tasks):
        found.append(f'tasks: {brief(tasks)} is no list of names; write ["warehouse.jobs.crunch"]')
    else:
        found += [f"tasks: {problem}" for each in tasks if (problem := name_problem(each))]
    if not isinstance(options, dict):
        found.append(f"options: {brief(options)} is no table; write {{ priority = 5 }}")
    problems += [f"[engines.{name}] {' '.join(problem.split())}" for problem in found]
    return None if found else EngineEntry(name, kinds[0], table[kinds[0]], tuple(tasks), MappingProxyType(options))


def engine_of(entry: EngineEntry) -> Engine:
    """The engine that it stands for; reaches for nothing. `SettingsError` where it cannot be."""
    module, name = _KINDS[entry.kind]
    # By its name: what lies above this layer is not imported by it.
    make: Any = getattr(importlib.import_module(module), name)
    try:
        made: Engine = make(entry.place, **entry.options)
    except TypeError as error:
        raise SettingsError(f"options: {error}") from None
    return made
