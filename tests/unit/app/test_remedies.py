"""What is said of a word that does not fit."""

from __future__ import annotations

import pytest

from onthedot.app.remedies import did_you_mean


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (["default"], "there is default"),
        (["default", "archive"], "there are default and archive"),
        (["nopes", "archive"], "did you mean nopes?"),
    ],
)
def test_the_nearest_is_named_or_all_there_are(known: list[str], said: str) -> None:
    assert did_you_mean("nope", known) == said
