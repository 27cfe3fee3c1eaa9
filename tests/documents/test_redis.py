"""What is particular to Redis."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from tests.documents.places import InRedis, ago, mails

from onthedot.documents import Documents, Fields
from onthedot.documents.redis import RedisJobStore
from onthedot.errors import MomentError, SettingsError


@pytest.fixture
def place(redis_server: str) -> Iterator[InRedis]:
    place = InRedis(redis_server)
    yield place
    place.close()


def worked_by(documents: Documents) -> list[Any]:
    """The ids that one pass works."""
    worked: list[Any] = []
    documents.on_document(lambda document: worked.append(document["id"]))
    documents.run_once(1000)
    return worked


def test_a_client_may_give_texts_or_bytes(place: InRedis, redis_server: str) -> None:
    place.put(*mails([1], to="Ada ☂"))
    with redis.Redis.from_url(redis_server, decode_responses=True) as client:
        store = RedisJobStore(client, place.name)
        assert (store.get(1) or {})["to"] == "Ada ☂"
        assert worked_by(Documents(store)) == [1]


def test_fields_may_have_names_of_their_own_inside_parts_of_a_document(place: InRedis) -> None:
    fields = Fields(sleep_until="send.at", interval="send.every", locked_by="lock.by", locked_until="lock.until")
    store = RedisJobStore(place.client, place.name, fields=fields)
    due = ago(60)
    store.put({"id": "a", "send": {"at": due, "every": "1h"}, "to": "Ada"})
    assert worked_by(Documents(store)) == ["a"]
    document = store.get("a") or {}
    assert (document["send"]["at"], document["to"]) == (due + timedelta(hours=1), "Ada")


def test_a_text_and_a_number_are_two_ids(place: InRedis) -> None:
    place.put(*mails([1, "1"]))  # type: ignore[list-item]
    assert sorted(map(repr, worked_by(place.documents()))) == ["'1'", "1"]


def test_all_keys_lie_in_one_slot_of_a_cluster(place: InRedis) -> None:
    place.put(*mails([1, 2]))
    place.store().lock_due(1, 60_000)
    assert {key.decode().partition("}")[0] for key in place.client.scan_iter(f"*{place.name}*")} == {f"{{{place.name}"}


def test_a_call_that_the_driver_sends_twice_takes_no_more_than_once(place: InRedis) -> None:
    place.put(*mails(range(5)))
    store = place.store()
    first = store.lock_due(2, 60_000, token="mine")
    again = store.lock_due(2, 60_000, token="mine")
    assert [job.id for job in again] == [job.id for job in first]
    assert len(store.lock_due(10, 60_000)) == 3


@pytest.mark.parametrize("wrong", ["tomorrow", 5, 1.5, [datetime(2026, 1, 1, tzinfo=UTC)]])
def test_what_is_no_date_is_refused_when_it_is_put(place: InRedis, wrong: Any) -> None:
    with pytest.raises(MomentError):
        place.put(*mails([1], sleep_until=wrong))
    assert place.get(1) is None


@pytest.mark.parametrize(("field", "written"), [("body", "{not json"), ("body", "[1]"), ("due", "tomorrow")])
def test_what_another_has_spoilt_marks_its_document_and_the_others_are_worked(
    place: InRedis, field: str, written: str
) -> None:
    place.put(*mails([1, 2, 3]))
    place.client.hset(f"{{{place.name}}}:document:2", field, written)
    documents = place.documents()
    errors: list[tuple[BaseException, Any]] = []
    documents.on_error(lambda *both: errors.append(both))
    assert sorted(worked_by(documents)) == [1, 3]
    assert [document["id"] for _, document in errors] == [2]
    kept: Any = place.client.hget(f"{{{place.name}}}:document:2", "error")
    assert b"document 2 cannot be read" in kept
    assert documents.run_once() == 0


def test_what_json_has_nothing_for_and_ids_that_cannot_be_keys_are_refused(place: InRedis) -> None:
    with pytest.raises(SettingsError, match="is kept as JSON, which has nothing for"):
        place.put(*mails([1], to=object()))
    with pytest.raises(SettingsError, match="the id of a document in Redis is a text or a number"):
        place.put({"id": (1, 2), "sleep_until": ago(1)})
    with pytest.raises(SettingsError, match="a name without braces"):
        RedisJobStore(place.client, "{mails}")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"to": "Ada"}, "the id of a document in Redis is a text or a number, not None"),
        ({"id": True}, "the id of a document in Redis is a text or a number, not True"),
        ({"id": 1, "load": float("nan")}, "kept as JSON: Out of range float values are not JSON compliant"),
    ],
)
def test_a_document_without_an_id_or_with_a_number_that_json_has_not_is_refused(
    place: InRedis, document: dict[str, Any], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        RedisJobStore(place.client, place.name).put(document)


def test_what_is_no_client_is_refused_in_one_line() -> None:
    with pytest.raises(SettingsError, match=r"client is a redis\.Redis, like .*, not 'redis://localhost'$"):
        RedisJobStore("redis://localhost", "mails")
