"""Where stores may be: a place of each kind that is empty, what is in it as bytes, and from bytes back into another."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pymongo
import redis
from bson import json_util
from tests.servers import mariadb, mongodb, postgresql
from tests.servers import redis as redis_servers
from tests.servers.base import running
from tests.servers.mongodb_set import with_database

_NAMESPACE = "kept"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of store."""

    name: str
    fixture: str | None
    """What tests have an empty place by; None for a file."""
    emptied: Callable[[Path], Any]
    """A context manager with the URL of an empty place, outside of pytest."""
    dump: Callable[[str], bytes]
    load: Callable[[str, bytes], None]


# SQLite


@contextmanager
def _file(folder: Path) -> Iterator[str]:
    yield f"sqlite:///{folder}/jobs.db"


def _path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def _dump_file(url: str) -> bytes:
    copy = _path(url).with_suffix(".copy")
    with closing(sqlite3.connect(_path(url))) as connection:
        connection.execute("VACUUM INTO ?", [str(copy)])
    return copy.read_bytes()


def _load_file(url: str, data: bytes) -> None:
    _path(url).write_bytes(data)


# PostgreSQL and MariaDB: by their own programs


@contextmanager
def _postgresql(_folder: Path) -> Iterator[str]:
    with postgresql.server_of(15) as server, postgresql.database_in(server) as url:
        yield url


def _dump_postgresql(url: str) -> bytes:
    return _said([_of_postgresql("pg_dump"), "--no-owner", "--no-privileges", url])


def _load_postgresql(url: str, data: bytes) -> None:
    _said([_of_postgresql("psql"), "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", url], data)


def _of_postgresql(program: str) -> Path | str:
    found = postgresql.version(15)
    return program if found is None else found.bin / program


@contextmanager
def _mariadb(_folder: Path) -> Iterator[str]:
    with running(mariadb.kind_or_skip()) as server, mariadb.database_in(server.url) as url:
        yield url


def _dump_mariadb(url: str) -> bytes:
    return _said(["mariadb-dump", *_at(url), "--skip-comments", "--single-transaction"])


def _load_mariadb(url: str, data: bytes) -> None:
    _said(["mariadb", *_at(url)], data)


def _at(url: str) -> list[str]:
    parts = urlsplit(url)
    user = f"--user={parts.username or 'root'}"
    return ["--no-defaults", f"--host={parts.hostname}", f"--port={parts.port or 3306}", user, parts.path.strip("/")]


def _said(command: list[Any], given: bytes = b"") -> bytes:
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout


# MongoDB and Redis: their data, as JSON


@contextmanager
def _mongodb(_folder: Path) -> Iterator[str]:
    with mongodb.running(replica_set=True) as server:
        yield with_database(server.url, "kept")


@contextmanager
def _database(url: str) -> Iterator[Any]:
    client: pymongo.MongoClient[Any] = pymongo.MongoClient(url)
    with closing(client):
        yield client.get_default_database()


def _dump_mongodb(url: str) -> bytes:
    with _database(url) as database:
        found = {
            name: {"documents": list(database[name].find()), "indexes": database[name].index_information()}
            for name in sorted(database.list_collection_names())
        }
    return json_util.dumps(found, json_options=json_util.CANONICAL_JSON_OPTIONS, indent=1).encode()


def _load_mongodb(url: str, data: bytes) -> None:
    with _database(url) as database:
        for name, found in json_util.loads(data.decode()).items():
            collection = database.create_collection(name)
            for index, options in found["indexes"].items():
                keys = [(field, int(way)) for field, way in options.pop("key")]
                if index != "_id_":
                    collection.create_index(keys, name=index, **{k: v for k, v in options.items() if k != "v"})
            if found["documents"]:
                collection.insert_many(found["documents"])


@contextmanager
def _redis(_folder: Path) -> Iterator[str]:
    with redis_servers.running() as server:
        yield f"{server.url}?namespace={_NAMESPACE}"


_READ: dict[str, Callable[[Any, bytes], Any]] = {
    "string": lambda client, key: client.get(key),
    "hash": lambda client, key: client.hgetall(key),
    "set": lambda client, key: sorted(client.smembers(key)),
    "zset": lambda client, key: client.zrange(key, 0, -1, withscores=True),
    "list": lambda client, key: client.lrange(key, 0, -1),
}


def _server(url: str) -> tuple[Any, bytes]:
    """The server, and how all keys of the place begin."""
    bare, _, query = url.partition("?")
    client: Any = redis.Redis.from_url(bare)
    return client, f"{{{query.removeprefix('namespace=')}}}:".encode()


def _dump_redis(url: str) -> bytes:
    client, prefix = _server(url)
    with closing(client):
        kept = []
        for key in sorted(client.scan_iter(match=prefix + b"*")):
            kind = client.type(key).decode()
            kept.append([_text(key.removeprefix(prefix)), kind, _texts(_READ[kind](client, key))])
    return json.dumps(kept, indent=0).encode()


def _load_redis(url: str, data: bytes) -> None:
    client, prefix = _server(url)
    with closing(client):
        for name, kind, value in json.loads(data):
            key = prefix + _bytes(name)
            match kind:
                case "string":
                    client.set(key, _bytes(value))
                case "hash":
                    client.hset(key, mapping={_bytes(field): _bytes(each) for field, each in value})
                case "set":
                    client.sadd(key, *map(_bytes, value))
                case "zset":
                    client.zadd(key, {_bytes(member): score for member, score in value})
                case _:
                    client.rpush(key, *map(_bytes, value))


def _texts(value: Any) -> Any:
    """JSON has no bytes."""
    match value:
        case bytes():
            return _text(value)
        case dict():
            return sorted([_text(field), _text(each)] for field, each in value.items())
        case list() | tuple():
            return [_texts(each) for each in value]
        case _:
            return value


def _text(value: bytes) -> str:
    try:
        return f"={value.decode('ascii')}"
    except UnicodeDecodeError:
        return f"#{base64.b64encode(value).decode()}"


def _bytes(text: str) -> bytes:
    return text[1:].encode() if text.startswith("=") else base64.b64decode(text[1:])


KINDS = (
    Kind("sqlite", None, _file, _dump_file, _load_file),
    Kind("postgresql", "postgresql_15", _postgresql, _dump_postgresql, _load_postgresql),
    Kind("mariadb", "mariadb", _mariadb, _dump_mariadb, _load_mariadb),
    Kind("mongodb", "mongodb_new_url", _mongodb, _dump_mongodb, _load_mongodb),
    Kind("redis", "redis_url", _redis, _dump_redis, _load_redis),
)


def programs_are_here(kind: Kind) -> bool:
    """Whether what brings a dump back is on this machine."""
    match kind.name:
        case "postgresql":
            return shutil.which(str(_of_postgresql("psql"))) is not None
        case "mariadb":
            return shutil.which("mariadb") is not None
        case _:
            return True
