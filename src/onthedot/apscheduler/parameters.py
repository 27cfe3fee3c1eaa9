"""The names of a function's parameters: from the function, or from the text of its module, which is not imported."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def names_of(function: Callable[..., Any]) -> list[str] | None:
    """The parameters that can be given by their place; None where it does not tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    placed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in parameters if each.kind in placed]


def names_in_text(reference: str, path: Sequence[str] | None = None) -> list[str] | None:
    """The same by the text of the module that a reference ("shop.jobs:tick") names; None where it is not found."""
    module, _, qualified = reference.partition(":")
    file = _file_of(module, sys.path if path is None else path)
    if file is None:
        return None
    try:
        body: Sequence[ast.stmt] = ast.parse(file.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError):
        return None
    *holders, name = qualified.split(".")
    for holder in holders:
        body = next((each.body for each in body if isinstance(each, ast.ClassDef) and each.name == holder), [])
    for each in body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == name:
            return [argument.arg for argument in (*each.args.posonlyargs, *each.args.args)]
    return None


def _file_of(module: str, path: Sequence[str]) -> Path | None:
    place = Path(*module.split("."))
    candidates = (
        Path(folder or ".") / each for folder in path for each in (place.with_suffix(".py"), place / "__init__.py")
    )
    return next((each for each in candidates if each.is_file()), None)
