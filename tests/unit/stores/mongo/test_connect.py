"""A URL of MongoDB opens a store on a server that can keep our promises, or says in one clear line why not."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.servers.mongodb import program_or_skip
from tests.servers.mongodb_set import Member, client_of

from onthedot.errors import OnthedotError, SchemaError, SettingsError, StoreError, StoreUnavailable
from onthedot.stores.mongo import connect as connecting
from onthedot.stores.open import open_store


def _refusal(url: str, kind: type[OnthedotError], *, create: bool = True) -> str:
    with pytest.raises(OnthedotError) as caught:
        open_store(url, create=create)
    assert type(caught.value) is kind
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 400
    return text


def test_a_standalone_server_is_refused_with_the_command_that_makes_it_a_replica_set(mongodb_standalone: str) -> None:
    text = _refusal(mongodb_standalone, StoreError)
    assert "stand-alone" in text
    assert "--replSet rs0" in text
    assert "mongosh --eval 'rs.initiate()'" in text


@pytest.fixture
def uninitiated() -> Iterator[Member]:
    with tempfile.TemporaryDirectory(prefix="onthedot-mongodb-") as folder:
        server = Member(program_or_skip(), Path(folder), replica_set=True)
        server.prepare()
        try:
            server.start()
            yield server
        finally:
            server.stop()


def test_a_replica_set_that_nobody_has_initiated_is_answered_with_the_command_that_does(
    uninitiated: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "FIRST_ANSWER_S", 3)
    assert "mongosh --eval 'rs.initiate()'" in _refusal(f"mongodb://127.0.0.1:{uninitiated.port}/jobs", StoreError)


def test_a_server_that_does_not_answer_is_named_after_a_bounded_wait_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connecting, "FIRST_ANSWER_S", 0.2)
    text = _refusal("mongodb://user:secret@127.0.0.1:1/jobs", StoreUnavailable)
    assert "mongodb://user:***@127.0.0.1:1/jobs does not answer" in text
    assert "secret" not in text


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://",
        "mongodb://u:se@cret@h/d",
        "mongodb://h:secret/d",
        "mongodb://h/d?w=majority&nonsense",
    ],
)
def test_a_url_that_the_driver_cannot_read_is_answered_in_one_line(url: str) -> None:
    assert "cret" not in _refusal(url, SettingsError).replace("mongodb://h:secret/d", "")


def test_the_database_is_that_of_the_path_or_ours() -> None:
    for url, name in (
        ("mongodb://h/jobs?replicaSet=rs0", "jobs"),
        ("mongodb://h", "onthedot"),
        ("mongodb://u:p@h/?replicaSet=rs0", "onthedot"),
    ):
        with closing(connecting.connect(url)) as client:
            assert connecting.database_of(client).name == name
        assert connecting.app_name(url) == f"onthedot {name}"


def test_every_wait_has_a_bound_unless_the_url_gives_another() -> None:
    with closing(connecting.connect("mongodb://h/?w=1&retryWrites=false&socketTimeoutMS=1234")) as client:
        options = client.options
        assert options.server_selection_timeout == 15
        assert options.pool_options.connect_timeout == 5
        assert options.pool_options.socket_timeout == 1.234
        assert options.pool_options.wait_queue_timeout == 15
        assert options.write_concern.document == {"w": "majority"}
        assert options.retry_writes


def test_a_missing_driver_is_answered_with_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.modules['pymongo'] = sys.modules['bson'] = None\n"
        "from onthedot.errors import DriverMissing\nfrom onthedot.stores import open\n"
        "try:\n    open.open_store('mongodb://h/d', create=True)\nexcept DriverMissing as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "mongodb:// needs pymongo, which is not installed: pip install 'onthedot[mongodb]'\n"


def test_a_store_is_not_created_unless_asked(mongodb_new_url: str) -> None:
    text = _refusal(mongodb_new_url, SchemaError, create=False)
    assert text == f"no onthedot store at {mongodb_new_url}: run `onthedot migrate` or start a node"
    with closing(client_of(mongodb_new_url)) as client:
        assert client.get_default_database().list_collection_names() == []


def test_collections_of_a_newer_onthedot_are_refused(mongodb_new_url: str) -> None:
    open_store(mongodb_new_url, create=True).close()
    with closing(client_of(mongodb_new_url)) as client:
        client.get_default_database()["onthedot_meta"].update_one({"_id": "schema"}, {"$set": {"version": 999}})
    assert "newer onthedot" in _refusal(mongodb_new_url, SchemaError)


def test_our_collections_leave_those_of_others_alone(mongodb_new_url: str) -> None:
    with closing(client_of(mongodb_new_url)) as client:
        database = client.get_default_database()
        database["orders"].insert_one({"_id": 1})
        open_store(mongodb_new_url, create=True).close()
        names = database.list_collection_names()
        assert {name for name in names if not name.startswith("onthedot_")} == {"orders"}
        assert database["orders"].count_documents({}) == 1


def test_opening_another_store_loads_no_driver_of_mongodb() -> None:
    code = (
        "import sys\nfrom onthedot.stores.open import open_store\nopen_store('memory://', create=False)\n"
        "assert 'pymongo' not in sys.modules and 'bson' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
