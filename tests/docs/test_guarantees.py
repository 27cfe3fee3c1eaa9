"""What docs/guarantees.md names is there: tests, sabotages, and both for every promise."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.docs.pages import ROOT
from tests.sabotage.sabotages import SABOTAGES

PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
CONFORMANCE = ROOT / "src" / "onthedot" / "testing" / "conformance"
PROMISES = re.findall(r"^## (\d\. .*?)$(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)


def named_tests(text: str) -> list[str]:
    return re.findall(r"`([\w/.]+::\w+)`", text)


def named_sabotages(text: str) -> list[str]:
    (named,) = re.findall(r"^\*\*Sabotages\*\* (.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"`([\w-]+)`", named)


def functions_of(file: Path) -> set[str]:
    """As pytest would name them: those of a class behind its name."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


IN_CONFORMANCE = set().union(*(functions_of(file) for file in CONFORMANCE.glob("*.py")))


@pytest.mark.parametrize("name", sorted(set(named_tests(PAGE))))
def test_each_test_that_is_named_exists(name: str) -> None:
    where, _, function = name.partition("::")
    if where.startswith("Test"):
        assert name in IN_CONFORMANCE
    else:
        assert function in functions_of(ROOT / where)


@pytest.mark.parametrize(("title", "text"), PROMISES, ids=[title for title, _ in PROMISES])
def test_each_promise_names_what_shows_it_and_sabotages_that_exist(title: str, text: str) -> None:
    assert named_tests(text)
    named = named_sabotages(text)
    assert named
    assert set(named) <= {each.name for each in SABOTAGES}


def test_there_are_eight_promises() -> None:
    assert [title[0] for title, _ in PROMISES] == list("12345678")
