"""The engines of an app: where runs of its tasks are executed that no node executes itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onthedot.app.names import name_problem
from onthedot.errors import Conflict, SettingsError
from onthedot.execution.engines.engine import Engine
from onthedot.storable import brief

_METHODS = ("submit", "poll", "cancel", "forget", "close")


class Engines(Mapping[str, Engine]):
    """By their names. Declaring one reaches for nothing."""

    def __init__(self) -> None:
        self._by_name: dict[str, Engine] = {}

    def __getitem__(self, name: str) -> Engine:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def add(self, name: str, engine: Engine) -> None:
        """Declare one. The same again, as when a module or a file is loaded anew, takes the place of the first."""
        problem = name_problem(name)
        if problem is not None:
            raise SettingsError(f"app.engine: {problem}")
        missing = [each for each in _METHODS if not callable(getattr(engine, each, None))]
        if isinstance(engine, type) or missing or not isinstance(getattr(engine, "dedupes", None), bool):
            raise SettingsError(
                f"app.engine({name!r}): {brief(engine)} is no engine;"
                ' write DaskEngine("tcp://scheduler:8786") or CeleryEngine(celery_app)'
            )
        held = self._by_name.get(name)
        if held is not None and held != engine:
            raise Conflict(f"two engines are named {name!r}: {held} and {engine}; give one of them another name")
        self._by_name[name] = engine

    def check(self, name: Any, where: str) -> None:
        """`SettingsError` if no engine of that name is declared."""
        if name not in self._by_name:
            known = f"there is {', '.join(sorted(self._by_name))}" if self._by_name else "none is declared"
            raise SettingsError(
                f"{where}: no engine {brief(name)}; {known}. Declare it before its tasks: app.engine({name!r}, …)"
            )
