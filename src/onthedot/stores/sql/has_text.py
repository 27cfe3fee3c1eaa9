"""Whether a text is part of a column, whatever the case of letters from a to z, and of these only."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Dialect, Integer, Text, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator


def has_text(column: ColumnElement[str], folded: str) -> ColumnElement[bool]:
    """The text has small letters only (`stores.asking.folded`)."""
    return _Places(column, literal(folded, _Part())) > 0


class _Part(TypeDecorator[str]):
    """The text; for SQLite the pattern of all that has it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or dialect.name != "sqlite":
            return value
        for special in ("\\", "%", "_"):
            value = value.replace(special, f"\\{special}")
        return f"%{value}%"


class _Places(FunctionElement[int]):
    """More than 0 where the text is in the column."""

    type = Integer()
    inherit_cache = True


@compiles(_Places, "sqlite")
def _like(element: _Places, compiler: SQLCompiler, **how: Any) -> str:
    """Its LIKE minds the case of all letters but these, and takes half the time of making them small first."""
    column, text = (compiler.process(each, **how) for each in element.clauses)
    return f"({column} LIKE {text} ESCAPE '\\')"


@compiles(_Places, "postgresql")
def _strpos(element: _Places, compiler: SQLCompiler, **how: Any) -> str:
    column, text = (compiler.process(each, **how) for each in element.clauses)
    return f'strpos(lower({column} COLLATE "C"), {text})'


@compiles(_Places)
def _locate(element: _Places, compiler: SQLCompiler, **how: Any) -> str:
    """Byte by byte, and as Thai, which has no small letters: LOWER would fold those of all languages."""
    column, text = (compiler.process(each, **how) for each in element.clauses)
    return f"LOCATE(CAST({text} AS BINARY), CAST(LOWER(CONVERT(CAST({column} AS BINARY) USING tis620)) AS BINARY))"
