"""Many values in one parameter: a statement for any number of ids is compiled once.

SQLAlchemy's own IN writes the statement anew for each call, which for five hundred ids costs more than running it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ARRAY, BigInteger, Column, Dialect, Integer, TableValuedAlias, Text, bindparam
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
        return list(value or ()) if dialect.name == "postgresql" else json.dumps(value)


class _Numbers(_Words):
    """The same of whole numbers."""

    cache_ok = True
    kind = BigInteger


# `column IN (these values)`


def in_list(column: Column[Any], name: str = "ids") -> Any:
    """Whether the column is one of the values that the statement is given under this name."""
    return _InList(column, bindparam(name, type_=_Numbers() if column.type.python_type is int else _Words()))


class _InList(FunctionElement[int]):
    type = Integer()  # not Boolean: where a database has none, "= 1" would be added, and no index be used
    inherit_cache = True


@compiles(_InList, "sqlite")
def _in_json(element: _InList, compiler: SQLCompiler, **how: Any) -> str:
    column, values = (compiler.process(each, **how) for each in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({values}))"


@compiles(_InList, "postgresql")
def _in_array(element: _InList, compiler: SQLCompiler, **how: Any) -> str:
    column, values = (compiler.process(each, **how) for each in element.clauses)
    return f"{column} = ANY({values})"


@compiles(_InList)
def _in_values(element: _InList, compiler: SQLCompiler, **how: Any) -> str:
    """One parameter for each value, where a database looks up neither arrays nor JSON by an index."""
    column, values = element.clauses
    return compiler.process(column.in_(bindparam(values.key, expanding=True)), **how)


# a table of these values


def listed(name: str = "ids") -> TableValuedAlias:
    """A row for each value that the statement is given under this name, in a column `value`."""
    return _Listed(bindparam(name, type_=_Words())).table_valued("value", name="listed")


class _Listed(FunctionElement[Any]):
    name = "listed"
    inherit_cache = True


@compiles(_Listed, "sqlite")
def _from_json(element: _Listed, compiler: SQLCompiler, **how: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **how)})"


@compiles(_Listed, "postgresql")
def _from_array(element: _Listed, compiler: SQLCompiler, **how: Any) -> str:
    return f"(SELECT unnest({compiler.process(element.clauses, **how)}) AS value)"


@compiles(_Listed)
def _from_json_table(element: _Listed, compiler: SQLCompiler, **how: Any) -> str:
    values = compiler.process(element.clauses, **how)
    return f"JSON_TABLE({values}, '$[*]' COLUMNS (value VARCHAR(700) COLLATE utf8mb4_bin PATH '$'))"
