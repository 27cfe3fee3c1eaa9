"""The servers that other tests rely on are what they say."""

from __future__ import annotations

import pymongo
import pytest
from pymongo.errors import OperationFailure
from tests.servers import mongodb as servers


def test_the_replica_set_knows_transactions(mongodb: str) -> None:
    with pymongo.MongoClient[dict[str, object]](mongodb) as client:
        with client.start_session() as session, session.start_transaction():
            client.servers_test.things.insert_one({"_id": 1}, session=session)
        assert client.servers_test.things.count_documents({}) == 1
        client.drop_database("servers_test")


def test_the_standalone_server_knows_none(mongodb_standalone: str) -> None:
    with pymongo.MongoClient[dict[str, object]](mongodb_standalone) as client:
        with client.start_session() as session:
            session.start_transaction()
            with pytest.raises(OperationFailure) as refused:
                client.servers_test.things.insert_one({"_id": 1}, session=session)
        assert refused.value.code == 20


def test_a_killed_server_comes_back_with_what_was_committed() -> None:
    with servers.running(replica_set=True) as server:
        with pymongo.MongoClient[dict[str, object]](server.url, w="majority") as client:
            client.servers_test.things.insert_one({"_id": 1})
        server.kill()
        server.start()
        with pymongo.MongoClient[dict[str, object]](server.url) as client:
            assert client.servers_test.things.find_one() == {"_id": 1}
