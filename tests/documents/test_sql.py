"""What is particular to SQL tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from tests.documents.places import TABLE, InSql, ago, mails

from onthedot.documents import Documents


@pytest.fixture
def place(tmp_path: Path) -> Iterator[InSql]:
    place = InSql(f"sqlite:///{tmp_path}/mails.db")
    yield place
    place.close()


def worked_by(documents: Documents) -> list[Any]:
    """The ids that one pass works."""
    worked: list[Any] = []
    documents.on_document(lambda document: worked.append(document["id"]))
    documents.run_once(1000)
    return worked


def test_only_rows_under_the_condition_are_worked(place: InSql) -> None:
    place.put(*mails([1, 2], to="Ada"), *mails([3], to="Bob"))
    assert worked_by(place.documents(condition=TABLE.c.to == "Bob")) == [3]


def test_an_error_is_cut_to_the_width_of_its_column(place: InSql) -> None:
    place.put(*mails([1], interval="x" * 90))
    assert worked_by(place.documents()) == []
    assert len((place.get(1) or {})["last_error"]) == 60


class Base(DeclarativeBase):
    pass


class WholeMoment(sa.types.TypeDecorator[datetime]):
    """A type as many applications have one: moments with a zone on databases that keep none."""

    impl = sa.DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: object) -> datetime | None:
        assert value is None or value.tzinfo is not None
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: object) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


@pytest.mark.parametrize("column", ["repeat_until", "sleep_until", "sent_at"])
def test_a_text_that_is_no_date_marks_its_row_and_the_rest_goes_on(place: InSql, column: str) -> None:
    columns = [sa.Column(each.name, each.type, primary_key=each.primary_key) for each in TABLE.c]
    table = sa.Table("dated", sa.MetaData(), *columns, sa.Column("sent_at", sa.DateTime))
    table.create(place.engine)
    rows = [{"id": number, "sleep_until": ago(1).replace(tzinfo=None), "interval": "1h"} for number in (1, 2, 3)]
    with place.engine.begin() as connection:
        connection.execute(table.insert(), rows)
        connection.exec_driver_sql(f"UPDATE dated SET {column} = '1 day before' WHERE id = 2")
    errors: list[tuple[BaseException, Any]] = []
    worked: list[int] = []
    documents = Documents(table, engine=place.engine, on_error=lambda *both: errors.append(both))
    documents.on_document(lambda document: worked.append(document["id"]))
    assert documents.run_once() == 3
    assert sorted(worked) == [1, 3]
    ((error, blamed),) = errors
    assert f"{column} cannot be read: '1 day before'" in str(error)
    assert (blamed["id"], blamed[column]) == (2, "1 day before")
    with place.engine.connect() as connection:
        marked = connection.execute(
            sa.select(table.c.last_error, sa.cast(table.c.sleep_until, sa.Text)).where(table.c.id == 2)
        ).one()
        assert marked == (f"MomentError: {column} cannot be read: '1 day before'"[:60], None)
        assert connection.execute(sa.select(table.c.last_error).where(table.c.id != 2)).scalars().all() == [None, None]
    assert documents.run_once() == 0


class Reminder(Base):
    __tablename__ = "reminders"

    number: Mapped[str] = mapped_column(primary_key=True)
    due_at: Mapped[datetime | None] = mapped_column("due_moment", WholeMoment)
    every: Mapped[timedelta | None]
    owner: Mapped[str | None]
    owned_until: Mapped[datetime | None]


def test_a_mapped_class_with_names_and_types_of_its_own_is_worked(place: InSql) -> None:
    Base.metadata.create_all(place.engine)
    due = ago(60)
    with Session(place.engine) as session, session.begin():
        session.add(Reminder(number="one", due_at=due, every=timedelta(hours=1)))
        session.add(Reminder(number="two", due_at=due))
    given: list[dict[str, Any]] = []
    documents = Documents(
        Reminder,
        engine=place.engine,
        sleep_until="due_moment",
        interval="every",
        locked_by="owner",
        locked_until="owned_until",
        on_document=given.append,
    )
    assert documents.run_once() == 2
    assert sorted(each["number"] for each in given) == ["one", "two"]
    with place.engine.connect() as connection:
        found = {row[0]: row[1] for row in connection.execute(sa.select(Reminder.number, Reminder.due_at))}
    assert found == {"one": due + timedelta(hours=1), "two": None}


def test_a_table_without_the_optional_columns_is_worked(place: InSql) -> None:
    table = sa.Table(
        "plain",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("sleep_until", sa.DateTime),
        sa.Column("locked_by", sa.String),
        sa.Column("locked_until", sa.DateTime),
    )
    table.create(place.engine)
    with place.engine.begin() as connection:
        connection.execute(table.insert(), [{"id": 1, "sleep_until": ago(1).replace(tzinfo=None)}])
    errors: list[BaseException] = []
    documents = Documents(table, engine=place.engine, on_error=lambda error, _: errors.append(error))

    @documents.on_document
    def work(document: dict[str, Any]) -> None:
        raise OSError("out of paper")

    assert (documents.run_once(), documents.run_once()) == (1, 0)
    assert [str(error) for error in errors] == ["out of paper"]


def test_rows_are_worked_where_each_transaction_is_begun_by_the_application(place: InSql) -> None:
    @sa.event.listens_for(place.engine, "connect")
    def take_over(connection: Any, _: object) -> None:
        connection.isolation_level = None

    @sa.event.listens_for(place.engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    place.engine.dispose()
    place.put(*mails(range(10)))
    assert sorted(worked_by(place.documents())) == list(range(10))


def test_looking_for_what_is_due_uses_the_index(place: InSql) -> None:
    store: Any = place.store()
    text = str(store._find.compile(place.engine, compile_kwargs={"literal_binds": False}))
    with place.engine.connect() as connection:
        asked = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", ("2026-01-01",) * text.count("?"))
        (plan, *others) = [row[3] for row in asked]
    assert plan == "SEARCH mails USING INDEX ix_mails_sleep_until (sleep_until<?)"
    assert others == []


@pytest.mark.parametrize("wrong", ["'tomorrow'", "'3 days'", "''", "1800000000", "4e9", "x'00'", "'2026-13-45 99:00'"])
def test_what_is_no_date_is_an_error_kept_on_its_row(place: InSql, wrong: str) -> None:
    place.put(*mails([1, 2]), {"id": 3, "sleep_until": ago(-3600)})
    with place.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE mails SET sleep_until = {wrong} WHERE id = 1")
    documents = place.documents()
    errors: list[tuple[BaseException, Any]] = []
    documents.on_error(lambda *both: errors.append(both))
    worked = worked_by(documents)
    documents.run_once()  # which looks for such rows when nothing is due
    assert worked == [2]
    assert [blamed["id"] for _, blamed in errors] == [1]
    marked = place.get(1) or {}
    assert marked["last_error"].startswith("MomentError: sleep_until cannot be read: ")
    assert "sleep_until" not in marked
    assert (place.get(3) or {}).keys() >= {"sleep_until"}
    assert documents.run_once() == 0
