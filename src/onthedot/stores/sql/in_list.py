"""`column IN (these values)` with all values in one parameter: a statement for any number of ids is compiled once.

SQLAlchemy's own IN writes the statement anew for each call, which for five hundred ids costs more than running it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ARRAY, BigInteger, Column, Dialect, Integer, Text, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine


class _Words(TypeDecorator[Sequence[Any]]):
    """Texts in one value: an array where there are arrays, else JSON."""

    impl = Text
    cache_ok = True
    kind: type[TypeEngine[Any]] = Text

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(ARRAY(self.kind) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Sequence[Any] | None, dialect: Dialect) -> Any:
        return value if dialect.name == "postgresql" else json.dumps(value)


class _Numbers(_Words):
    """The same of whole numbers."""

    cache_ok = True
    kind = BigInteger


def among(column: Column[Any]) -> Any:
    """Whether the column is one of the values that the statement is given as `among`."""
    return _Among(column, bindparam("among", type_=_Numbers() if column.type.python_type is int else _Words()))


class _Among(FunctionElement[int]):
    type = Integer()  # not Boolean: where a database has none, "= 1" would be added, and no index be used
    inherit_cache = True


@compiles(_Among, "sqlite")
def _in_json(element: _Among, compiler: SQLCompiler, **how: Any) -> str:
    column, values = (compiler.process(each, **how) for each in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({values}))"


@compiles(_Among, "postgresql")
def _in_array(element: _Among, compiler: SQLCompiler, **how: Any) -> str:
    column, values = (compiler.process(each, **how) for each in element.clauses)
    return f"{column} = ANY({values})"


@compiles(_Among)
def _in_list(element: _Among, compiler: SQLCompiler, **how: Any) -> str:
    """One parameter for each value, where a database looks up neither arrays nor JSON by an index."""
    column, _ = element.clauses
    return compiler.process(column.in_(bindparam("among", expanding=True)), **how)
