"""The store in an SQL database: one set of tables and statements, and one small dialect for each database."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "onthedot_"


def include_name(name: str | None, type_: str, parent_names: Mapping[str, str | None]) -> bool:
    """For `context.configure(include_name=…)` in your own Alembic: keeps it from proposing to drop our tables."""
    del parent_names
    return not (type_ == "table" and name is not None and name.startswith(PREFIX))
