"""Whether a column is a text that was asked for, to the last blank."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BindParameter, Column, Integer, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


def exactly(column: Column[Any], asked: str | BindParameter[str]) -> Any:
    """`column = asked`, found by an index on every database."""
    return _Exactly(column, asked if isinstance(asked, BindParameter) else bindparam(None, asked, type_=column.type))


class _Exactly(FunctionElement[int]):
    type = Integer()  # not Boolean: where a database has none, "= 1" would be added, and no index be used
    inherit_cache = True


@compiles(_Exactly)
def _equals(element: _Exactly, compiler: SQLCompiler, **how: Any) -> str:
    column, asked = (compiler.process(each, **how) for each in element.clauses)
    return f"{column} = {asked}"


@compiles(_Exactly, "mysql")
@compiles(_Exactly, "mariadb")
def _as_long(element: _Exactly, compiler: SQLCompiler, **how: Any) -> str:
    """To MariaDB, and to MySQL with this collation, blanks at the end of a text are nothing."""
    column, asked = element.clauses
    ours, theirs = compiler.process(column, **how), compiler.process(asked, **how)
    return f"({ours} = {theirs} AND LENGTH({ours}) = LENGTH({compiler.process(asked, **how)}))"
