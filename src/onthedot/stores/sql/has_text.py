"""Whether a text is part of a column, whatever the case of letters from a to z, and of these only."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Integer
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


def has_text(column: ColumnElement[str], folded: str) -> ColumnElement[bool]:
    """The text has small letters only (`stores.asking.folded`)."""
    return _PlaceOf(column, folded) > 0


class _PlaceOf(FunctionElement[int]):
    """Where the text begins in the column, from 1 on; 0 if it does not."""

    type = Integer()
    inherit_cache = True


@compiles(_PlaceOf, "sqlite")
def _instr(element: _PlaceOf, compiler: SQLCompiler, **how: Any) -> str:
    column, text = (compiler.process(each, **how) for each in element.clauses)
    return f"instr(lower({column}), {text})"


@compiles(_PlaceOf, "postgresql")
def _strpos(element: _PlaceOf, compiler: SQLCompiler, **how: Any) -> str:
    column, text = (compiler.process(each, **how) for each in element.clauses)
    return f'strpos(lower({column} COLLATE "C"), {text})'


@compiles(_PlaceOf)
def _locate(element: _PlaceOf, compiler: SQLCompiler, **how: Any) -> str:
    """Byte by byte, and as Thai, which has no small letters: LOWER would fold those of all languages."""
    column, text = (compiler.process(each, **how) for each in element.clauses)
    return f"LOCATE(CAST({text} AS BINARY), CAST(LOWER(CONVERT(CAST({column} AS BINARY) USING tis620)) AS BINARY))"
