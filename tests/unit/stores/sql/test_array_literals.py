"""Arrays as PostgreSQL reads them: whatever a text has in it comes out as it went in."""

from __future__ import annotations

import pytest

from onthedot.stores.sql.postgres_batches import array_literal

TEXTS = ("plain", "", "NULL", "None", "a,b", "{x}", 'say "no"', "back\\slash", '\\"', "a\nb\tc", "ä𝄞", " blank ", "'")


@pytest.mark.parametrize(
    ("values", "literal"),
    [
        ((1, -2, 1 << 62), "{1, -2, 4611686018427387904}"),
        ((1, None), "{1, NULL}"),
        ((None, None), "{NULL, NULL}"),
        (("a", None, 'b"'), '{"a",NULL,"b\\""}'),
        (("a", "b\\"), '{"a","b\\\\"}'),
    ],
)
def test_numbers_texts_and_nothing(values: tuple[object, ...], literal: str) -> None:
    assert array_literal(values) == literal


@pytest.mark.parametrize("beside", [(), (None,)])
def test_the_server_reads_back_what_was_written(postgresql_15: str, beside: tuple[None, ...]) -> None:
    import psycopg

    values = (*TEXTS, *beside)
    with psycopg.connect(postgresql_15) as connection:
        found = connection.execute("SELECT * FROM unnest(%s::text[])", (array_literal(values),)).fetchall()
    assert [text for (text,) in found] == list(values)
