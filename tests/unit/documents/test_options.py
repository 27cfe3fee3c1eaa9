"""What is wrong with a queue is said when it is made, in one line with the remedy."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from pymongo import AsyncMongoClient, MongoClient

from onthedot.documents import Documents, MemoryJobStore
from onthedot.errors import OnthedotError, SettingsError


def refused(source: Any, **options: Any) -> str:
    with pytest.raises(SettingsError) as error:
        Documents(source, **options)
    said = str(error.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"lock_durations": "1m"}, "Documents has no option 'lock_durations'; did you mean lock_duration?"),
        ({"lock_duration": "1 parsec"}, "lock_duration: '1 parsec': no unit 'parsec'"),
        ({"lock_duration": "0s"}, "lock_duration must be longer than 0s"),
        ({"idle_delay": "0s"}, "idle_delay must be longer than 0s"),
        ({"workers": 0}, "workers is how many work at once, 1 or more, not 0"),
        ({"sleep_until": "mail..at"}, "sleep_until is the name of a field, or a path"),
        ({"sleep_until": "$at"}, "sleep_until is the name of a field, or a path"),
        ({"interval": "sleep_until"}, "interval and sleep_until cannot both be kept in 'sleep_until'"),
        ({"condition": {"a": 1}}, "condition cannot be given here: a JobStore chooses its documents itself"),
        ({"interval": "every"}, "names of fields cannot be given here: a JobStore knows its own"),
    ],
)
def test_an_option_that_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    assert said in refused(MemoryJobStore(), **options)


def test_what_is_no_source_is_refused() -> None:
    assert "works a pymongo Collection, a SQLAlchemy Table or a JobStore, not 'mails'" in refused("mails")


def test_an_async_collection_is_refused_with_the_remedy() -> None:
    client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient("mongodb://127.0.0.1:1", connect=False)
    assert "pass the collection of a MongoClient" in refused(client.test.mails)


def table(*columns: sa.Column[Any]) -> sa.Table:
    return sa.Table("mails", sa.MetaData(), *columns)


def column(name: str, type_: Any = sa.DateTime, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, type_, **options)


LOCKS = ("locked_by", sa.String(200)), ("locked_until", sa.DateTime)


@pytest.fixture
def engine() -> sa.Engine:
    return sa.create_engine("sqlite://")


def test_a_table_without_an_engine_is_refused() -> None:
    assert "a table needs engine=" in refused(table(column("id", sa.Integer, primary_key=True)))


def test_a_table_without_a_needed_column_is_refused(engine: sa.Engine) -> None:
    key = column("id", sa.Integer, primary_key=True)
    said = refused(table(key, column("sleep_until")), engine=engine)
    assert "table mails has no column 'locked_by' for locked_by: add it, or name another (locked_by=…) of id" in said


def test_a_column_that_was_named_must_be_there(engine: sa.Engine) -> None:
    made = table(column("id", sa.Integer, primary_key=True), column("sleep_until"), *(column(*each) for each in LOCKS))
    Documents(made, engine=engine)
    assert "no column 'every' for interval" in refused(made, engine=engine, interval="every")


def test_a_condition_of_another_kind_of_database_is_refused(engine: sa.Engine) -> None:
    made = table(column("id", sa.Integer, primary_key=True), column("sleep_until"), *(column(*each) for each in LOCKS))
    said = refused(made, engine=engine, condition={"approved": True})
    assert said == "condition is a SQL expression, like table.c.approved, not {'approved': True}"
    with MongoClient[dict[str, Any]]("mongodb://127.0.0.1:1", connect=False) as client:
        assert "condition is a filter of MongoDB" in refused(client.test.mails, condition=made.c.id == 1)


def test_a_moment_that_is_no_date_is_refused(engine: sa.Engine) -> None:
    key = column("id", sa.Integer, primary_key=True)
    made = table(key, column("sleep_until", sa.Integer), *(column(*each) for each in LOCKS))
    assert "column mails.sleep_until is Integer(); moments are kept as DateTime" in refused(made, engine=engine)


def test_a_key_of_two_columns_is_refused(engine: sa.Engine) -> None:
    keys = (column(name, sa.Integer, primary_key=True) for name in ("a", "b"))
    made = table(*keys, column("sleep_until"), *(column(*each) for each in LOCKS))
    assert "needs a primary key of one column; it has 2" in refused(made, engine=engine)


def test_starting_without_a_handler_is_refused() -> None:
    with pytest.raises(SettingsError, match="no handler: decorate a function with"):
        Documents(MemoryJobStore()).start()


def test_stopping_what_never_ran_is_no_error() -> None:
    assert Documents(MemoryJobStore()).stop()


def test_a_second_handler_is_refused() -> None:
    documents = Documents(MemoryJobStore(), on_document=print)
    with pytest.raises(SettingsError, match="there is an on_document already"):
        documents.on_document(print)


def test_starting_twice_is_refused() -> None:
    documents = Documents(MemoryJobStore(), on_document=print)
    with documents.running():
        with pytest.raises(OnthedotError, match="it is running already"):
            documents.start()
        with pytest.raises(OnthedotError, match="it is running already"):
            documents.run_once()
