"""That each sabotage still fits the code: `scripts/sabotage` runs them, which takes minutes."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from tests.sabotage.sabotage import ROOT, Sabotage
from tests.sabotage.sabotages import SABOTAGES


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda each: each.name)
def test_it_changes_one_place_and_leaves_a_program(sabotage: Sabotage) -> None:
    before = (ROOT / sabotage.path).read_text()
    after = sabotage.applied_to(before)
    if sabotage.path.suffix != ".py":  # a script of Redis: its server says whether it is one
        assert after != before
        return
    assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(before))


def test_their_names_differ() -> None:
    assert len({each.name for each in SABOTAGES}) == len(SABOTAGES)


def test_the_tests_that_should_notice_are_there() -> None:
    tests = sorted({test for each in SABOTAGES for test in each.tests})
    asked = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *tests]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-2000:]
