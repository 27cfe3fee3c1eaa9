"""What is particular to MongoDB."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pymongo
import pytest
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.datetime_ms import DatetimeMS
from tests.documents.places import Document, InMongo, ago, mails
from tests.patience import LONGEST_S
from tests.servers import mongodb as servers

from onthedot.clock import SystemClock
from onthedot.documents import Documents, Fields
from onthedot.documents.jobs import value_at
from onthedot.documents.mongodb import MongoJobStore


@pytest.fixture
def place(mongodb_standalone: str) -> Iterator[InMongo]:
    place = InMongo(mongodb_standalone)
    yield place
    place.close()


def worked_by(documents: Documents) -> list[Any]:
    """The ids that one pass works."""
    worked: list[Any] = []
    documents.on_document(lambda document: worked.append(document["_id"]))
    documents.run_once(1000)
    return worked


def test_fields_may_lie_inside_parts_of_a_document(place: InMongo) -> None:
    mail = {"send": {"at": ago(60), "every": "1h", "state": {"note": "kept"}}, "to": "Ada"}
    place.collection.insert_many([{"_id": 1, **mail}, {"_id": 2, "send": "never"}, {"_id": 3}])
    paths = {"sleep_until": "send.at", "interval": "send.every", "repeat_until": "send.end"}
    locks = {"locked_by": "send.state.by", "locked_until": "send.state.until", "last_error": "send.state.error"}
    assert worked_by(Documents(place.collection, **paths, **locks)) == [1]  # type: ignore[arg-type]
    document = place.collection.find_one({"_id": 1}) or {}
    assert document["send"]["at"].replace(tzinfo=UTC) == mail["send"]["at"] + timedelta(hours=1)  # type: ignore[index]
    assert document["send"]["state"].keys() == {"note", "by"}
    assert document.keys() == {"_id", "send", "to"}


def test_only_documents_under_the_condition_are_worked(place: InMongo) -> None:
    place.put(*mails([1, 2], to="Ada"), *mails([3], to="Bob"))
    documents = Documents(place.collection, condition={"to": "Ada", "$or": [{"_id": {"$gt": 1}}, {"paid": True}]})
    assert worked_by(documents) == [2]


def test_an_empty_condition_is_none(place: InMongo) -> None:
    place.put(*mails([1]))
    assert worked_by(Documents(place.collection, condition={})) == [1]


def plan(place: InMongo) -> dict[str, Any]:
    store = MongoJobStore(place.collection, Fields())
    explained = place.collection.find(store._seen, sort=[("sleep_until", 1)], limit=10).explain()
    stats: dict[str, Any] = explained["executionStats"]
    return stats


def test_looking_for_what_is_due_reads_the_index_up_to_now_and_no_further(place: InMongo) -> None:
    place.put(*mails(range(50), sleep_until=ago(-3600)), *mails(range(50, 100), sleep_until=None))
    place.put(*mails(range(100, 103)))
    stats = plan(place)
    assert stats["nReturned"] == 3
    assert stats["totalDocsExamined"] == 3
    assert stats["totalKeysExamined"] <= 5  # the three, and a look beyond the end of each of two ranges


def test_the_servers_clock_says_what_is_due(place: InMongo) -> None:
    class Ahead(SystemClock):
        def now_ms(self) -> int:
            return super().now_ms() + 3_600_000

    place.put(*mails([1], sleep_until=ago(-60), interval="1h"), *mails([2], sleep_until=ago(60), interval="1h"))
    assert worked_by(Documents(place.collection, clock=Ahead())) == [2]
    assert (place.get(2) or {})["sleep_until"] < ago(-3600)


@pytest.mark.parametrize(
    "options",
    [
        CodecOptions[Document](tz_aware=True),
        CodecOptions[Document](datetime_conversion=DatetimeConversion.DATETIME_MS),
    ],
)
def test_a_handler_gets_documents_as_its_collection_is_set_up(place: InMongo, options: CodecOptions[Document]) -> None:
    place.put(*mails([1], interval="1h", repeat_until=ago(-7200)))
    collection = place.collection.with_options(codec_options=options)
    given: list[Document] = []
    assert Documents(collection, on_document=given.append).run_once() == 1
    assert type(given[0]["sleep_until"]) is type((collection.find_one() or {})["sleep_until"])
    assert (place.get(1) or {})["sleep_until"] > ago(0)


def test_a_date_that_python_does_not_know_spoils_no_batch(place: InMongo) -> None:
    far = DatetimeMS(10**15)
    place.put(*mails([1], interval="1h", repeat_until=far), *mails([2], sleep_until=DatetimeMS(-(10**15))), *mails([3]))
    assert sorted(worked_by(Documents(place.collection))) == [1, 2, 3]
    document = place.collection.find_one({"_id": 1}, {"sleep_until": True}) or {}
    assert document["sleep_until"].replace(tzinfo=UTC) > ago(0)


def test_any_value_can_be_an_id(place: InMongo) -> None:
    keys = [{"a": 1, "b": [2]}, "text", 1.5, datetime(2026, 1, 1)]  # noqa: DTZ001
    place.collection.insert_many([{"_id": key, "sleep_until": ago(1), "auto_remove": True} for key in keys])
    assert len(worked_by(Documents(place.collection))) == 4
    assert place.collection.count_documents({}) == 0


def test_a_lock_is_written_where_it_is_asked_for_and_nowhere_else(place: InMongo) -> None:
    place.put(*mails([1], to="Ada"))
    (job,) = MongoJobStore(place.collection, Fields()).lock_due(1, 1000)
    document = place.collection.find_one() or {}
    assert document.keys() == {"_id", "id", "sleep_until", "to", "locked_by", "locked_until"}
    assert value_at(document, "locked_by") == job.token


def until(answer: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_S
    while not answer():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def test_what_ended_while_the_server_was_away_is_written_when_it_is_back() -> None:
    with (
        servers.running(replica_set=True) as server,
        pymongo.MongoClient[Document](server.url) as patient,
        pymongo.MongoClient[Document](server.url, serverSelectionTimeoutMS=500) as client,
    ):
        collection, seen = client.test.mails, patient.test.mails
        seen.insert_many([{"_id": key, "sleep_until": ago(60)} for key in range(5)])
        errors: list[tuple[BaseException, Any]] = []
        worked: list[int] = []
        complained = Event()

        def complain(error: BaseException, document: Any) -> None:
            errors.append((error, document))
            complained.set()

        def work(document: Document) -> None:
            worked.append(document["_id"])
            if len(worked) == 5:
                server.kill()

        with Documents(collection, on_document=work, on_error=complain, workers=5, idle_delay="10ms").running():
            assert complained.wait(LONGEST_S)
            server.start()
            until(lambda: seen.count_documents({"sleep_until": None}) == 5)
        assert sorted(worked) == [0, 1, 2, 3, 4]
        assert {document for _, document in errors} == {None}


SEND = {
    "sleep_until": "send.at",
    "interval": "send.every",
    "locked_by": "send.by",
    "locked_until": "send.until",
    "last_error": "send.error",
}
LOCK = {"locked_by": "lock.by", "locked_until": "lock.until"}


@pytest.mark.parametrize(
    ("paths", "broken", "kept_at"),
    [
        ({}, {"sleep_until": [ago(60), ago(30)]}, "last_error"),
        ({}, {"sleep_until": ago(60), "interval": ["1h"]}, "last_error"),
        ({"sleep_until": "send.at"}, {"send": [{"at": ago(60)}, {"at": ago(30)}]}, "last_error"),
        (SEND, {"send": [{"at": ago(60)}]}, "last_error"),
        (LOCK, {"sleep_until": ago(60), "lock": []}, "last_error"),
        (LOCK, {"sleep_until": ago(60), "lock": [{"by": "me"}]}, "last_error"),
        ({"last_error": "state.error"}, {"sleep_until": ago(60), "state": {"error": []}}, "last_error"),
        ({"last_error": "state.error"}, {"sleep_until": [ago(60)], "state": {}}, "state.error"),
    ],
)
def test_an_array_on_a_path_marks_its_document_and_the_others_are_worked(
    place: InMongo, paths: dict[str, Any], broken: Document, kept_at: str
) -> None:
    well = {"send": {"at": ago(1)}} if paths.get("sleep_until") else {"sleep_until": ago(1)}
    place.collection.insert_many([{"_id": 1, **broken}, {"_id": 2, **well}, {"_id": 3, **well}])
    documents = Documents(place.collection, **paths)
    errors: list[tuple[BaseException, Any]] = []
    documents.on_error(lambda error, document: errors.append((error, document)))
    assert sorted(worked_by(documents)) == [2, 3]
    assert [(document["_id"], "leads to or through an array" in str(error)) for error, document in errors] == [
        (1, True)
    ]
    marked = place.collection.find_one({"_id": 1}) or {}
    assert "leads to or through an array" in value_at(marked, kept_at)
    assert marked.keys() - {"_id", "last_error"} == broken.keys()
    assert documents.run_once() == 0


def test_what_an_array_holds_is_left_alone_and_worked_when_it_was_put_right(place: InMongo) -> None:
    place.collection.insert_one({"_id": 1, "send": [{"at": ago(60), "to": "Ada"}]})
    documents = Documents(place.collection, sleep_until="send.at")
    assert worked_by(documents) == []
    sent = (place.collection.find_one() or {})["send"]
    assert [each.keys() for each in sent] == [{"at", "to"}]
    place.collection.update_one({}, {"$set": {"send": {"at": ago(1)}}})
    assert documents.run_once() == 1
    assert "last_error" not in (place.collection.find_one() or {})


@pytest.mark.parametrize("wrong", ["2026-01-01T00:00:00Z", "2099-01-01", "tomorrow", "", 0, 1_800_000_000.5, True, {}])
def test_what_is_no_date_is_an_error_kept_on_its_document(place: InMongo, wrong: Any) -> None:
    place.put(*mails([1], sleep_until=wrong, interval="1h"), *mails([2]))
    documents = Documents(place.collection)
    errors: list[BaseException] = []
    documents.on_error(lambda error, _: errors.append(error))
    assert worked_by(documents) == [2]
    assert len(errors) == 1
    marked = place.get(1) or {}
    assert marked["last_error"] == f"MomentError: sleep_until is {wrong!r}, which is no date"
    assert "sleep_until" not in marked
    assert documents.run_once() == 0


@pytest.mark.parametrize("wrong", ["soon", 5])
def test_an_end_that_is_no_date_is_an_error_kept_on_its_document(place: InMongo, wrong: Any) -> None:
    place.put(*mails([1], interval="1h", repeat_until=wrong), *mails([2]))
    documents = Documents(place.collection)
    assert worked_by(documents) == [2]
    marked = place.get(1) or {}
    assert marked["last_error"].startswith("MomentError: ")
    assert (marked["repeat_until"], "sleep_until" in marked) == (wrong, False)
