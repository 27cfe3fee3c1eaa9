"""A redis:// URL opens a store that keeps what it is told, or says in one clear line why not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
import redis
from tests.servers.redis import DURABLE, RedisServer, fresh, running

from onthedot.errors import OnthedotError, SchemaError, SettingsError, StoreError, StoreUnavailable
from onthedot.model.change import Author
from onthedot.model.run import Run
from onthedot.rules import edits
from onthedot.stores.open import open_store
from onthedot.triggers.every import every

BY = Author("test", "test", "put")
PUT = edits.put(edits.Definition("task", every("1m")))


def _refusal(url: str, kind: type[OnthedotError], *, create: bool = True) -> str:
    with pytest.raises(OnthedotError) as caught:
        open_store(url, create=create)
    assert type(caught.value) is kind, caught.value
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.fixture(scope="module")
def forgetful() -> Iterator[RedisServer]:
    with running(["--save", "", "--appendonly", "no"]) as server:
        yield server


@pytest.fixture(scope="module")
def evicting() -> Iterator[RedisServer]:
    with running([*DURABLE, "--maxmemory-policy", "allkeys-lru"]) as server:
        yield server


@pytest.fixture(scope="module")
def locked() -> Iterator[RedisServer]:
    with running([*DURABLE, "--requirepass", "open sesame"]) as server:
        yield server


def test_a_server_without_an_append_only_file_is_refused_unless_that_is_accepted(forgetful: RedisServer) -> None:
    text = _refusal(forgetful.url, StoreError)
    assert "appendonly yes" in text
    assert "?allow_no_aof=yes" in text
    open_store(f"{forgetful.url}?allow_no_aof=yes", create=True).close()


def test_a_server_that_evicts_is_refused_unless_that_is_accepted(evicting: RedisServer) -> None:
    text = _refusal(evicting.url, StoreError)
    assert "maxmemory-policy allkeys-lru" in text
    assert "?allow_eviction=yes" in text
    open_store(f"{evicting.url}?allow_eviction=yes", create=True).close()


def test_a_server_that_evicts_only_what_expires_is_taken_since_nothing_of_ours_does() -> None:
    with running([*DURABLE, "--maxmemory-policy", "volatile-lru"]) as server:
        store = open_store(server.url, create=True)
        store.change(["s"], PUT, BY)
        store.enqueue([Run("r", "task", "enqueue", 0, 0, key="k:task:a")])
        with redis.Redis.from_url(server.url) as client:
            assert {client.ttl(key) for key in client.keys("{onthedot}:*")} == {-1}
        store.close()


def test_a_password_is_used_and_never_shown(locked: RedisServer) -> None:
    place = f"127.0.0.1:{locked.port}/0"
    open_store(f"redis://:open%20sesame@{place}", create=True).close()
    assert "refuses this user" in _refusal(f"redis://{place}", StoreError)
    text = _refusal(f"redis://:guessed@{place}", StoreError)
    assert "guessed" not in text
    assert "redis://:***@" in text


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    text = _refusal("redis://u:secret@127.0.0.1:1/0", StoreUnavailable)
    assert "redis://u:***@127.0.0.1:1/0 does not answer" in text
    assert "secret" not in text


def test_a_server_without_tls_is_named(redis_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onthedot.stores.redis.connect._ANSWER_S", 0.5)
    assert "does not answer" in _refusal(redis_server.replace("redis://", "rediss://"), StoreUnavailable)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("?timeout=5", "no option timeout"),
        ("?namespace=", "namespace= takes a name"),
        ("?namespace={a}", "namespace= takes a name"),
        ("?allow_no_aof=1", "allow_no_aof= takes yes or no"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: str, said: str) -> None:
    assert said in _refusal(f"redis://localhost/0{options}", SettingsError)


def test_a_port_that_is_no_number_is_refused() -> None:
    assert "write it like redis://" in _refusal("redis://localhost:port/0", SettingsError)


def test_a_store_is_not_created_unless_asked(redis_url: str) -> None:
    text = _refusal(redis_url, SchemaError, create=False)
    assert text == f"no onthedot store at {redis_url}: run `onthedot migrate` or start a node"
    open_store(redis_url, create=True).close()
    open_store(redis_url, create=False).close()


def test_rows_of_a_newer_version_are_left_alone(redis_url: str) -> None:
    open_store(redis_url, create=True).close()
    bare, _, namespace = redis_url.partition("?namespace=")
    with redis.Redis.from_url(bare) as client:
        client.set(f"{{{namespace}}}:schema", "2")
    text = _refusal(redis_url, SchemaError)
    assert "schema 2, known here: 1" in text
    assert "upgrade onthedot" in text


def test_two_namespaces_of_one_server_do_not_see_each_other(redis_server: str) -> None:
    one, two = (open_store(fresh(redis_server), create=True) for _ in range(2))
    one.change(["s"], PUT, BY)
    one.enqueue([Run("r", "task", "enqueue", 0, 0)])
    assert (two.schedules(), two.runs(), two.changes()) == ([], [], [])
    one.close()
    two.close()


def test_every_key_lies_in_one_slot_of_a_cluster() -> None:
    with running() as server:
        store = open_store(server.url, create=True)
        store.change(["s"], PUT, BY)
        store.enqueue([Run("r", "task", "enqueue", 0, 0, key="k:task:a")])
        with redis.Redis.from_url(server.url, decode_responses=True) as client:
            keys = client.keys("*")
            assert len(keys) > 10
            assert all(key.startswith("{onthedot}:") for key in keys)
        store.close()


def test_the_time_is_the_servers_unless_another_is_given(redis_url: str) -> None:
    store = open_store(redis_url, create=True)
    before = store.now_ms()
    assert before > 1_700_000_000_000
    assert store.now_ms() >= before
    store.close()
    store = open_store(redis_url, create=True, now_ms=lambda: 7)
    assert store.now_ms() == 7
    store.close()


def test_a_connection_of_the_caller_is_refused_in_one_line(redis_url: str) -> None:
    store = open_store(redis_url, create=True)
    with pytest.raises(StoreError, match="leave connection= out") as caught:
        store.enqueue([Run("r", "task", "enqueue", 0, 0)], connection=object())
    assert "\n" not in str(caught.value)
    assert store.runs() == []
    store.close()


def test_a_missing_driver_is_named_with_the_remedy() -> None:
    code = (
        "import sys\nsys.modules['redis'] = None\nfrom onthedot.stores.open import open_store\n"
        "try:\n    open_store('redis://u:secret@h/0', create=True)\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "DriverMissing redis:// needs redis, which is not installed: pip install 'onthedot[redis]'\n"
