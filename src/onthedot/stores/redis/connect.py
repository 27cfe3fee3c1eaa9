"""From a URL to a store on Redis, and what is refused at start-up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from onthedot.errors import SchemaError, SettingsError, StoreError
from onthedot.stores.redis.server import Server
from onthedot.stores.redis.store import RedisStore

SCHEMA = 1
"""The version of keys and rows."""
_NAMESPACE = "onthedot"
_ANSWER_S = 10.0
"""How long a command may take: a third of a lease, so that a node can still renew after it."""
_CONNECT_S = 5.0
_OPTIONS = ("allow_no_aof", "allow_eviction", "namespace", "ssl_ca_certs")


@dataclass(frozen=True, slots=True)
class Options:
    """What a URL says behind its question mark."""

    namespace: str = _NAMESPACE
    """Stands as the hash tag before every key."""
    allow_no_aof: bool = False
    """A restart of the server may take everything away, or bring back an old state."""
    allow_eviction: bool = False
    """The server may throw rows away when it is full."""
    ssl_ca_certs: str | None = None
    """A file with the certificates of those who may vouch for the server, instead of those the machine trusts."""


def open_redis(url: str, shown: str, *, create: bool, now_ms: Callable[[], int] | None) -> RedisStore:
    """The store that the URL names; one that is not there yet is made only if `create`."""
    bare, options = _read(url, shown)
    server = Server(_client(bare, shown, options), f"{{{options.namespace}}}:", shown)
    try:
        _check_keeps(server, options)
        _check_schema(server, create=create)
    except BaseException:
        server.client.close()
        raise
    return RedisStore(server, now_ms)


def _read(url: str, shown: str) -> tuple[str, Options]:
    """The URL without our options, and these."""
    parts = urlsplit(url)
    database = parts.path.strip("/")
    if database and not database.isdecimal():
        raise SettingsError(f"{shown}: a database of Redis is a number, like redis://host:6379/0; not {database!r}")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in given.keys() - set(_OPTIONS):
        raise SettingsError(f"{shown}: a redis:// URL has no option {name}; it has {', '.join(_OPTIONS)}")
    namespace = given.get("namespace", _NAMESPACE)
    if not namespace or set("{}\n") & set(namespace):
        raise SettingsError(f"{shown}: namespace= takes a name without braces, like ?namespace=shop")
    allow_no_aof, allow_eviction = (_switch(given, name, shown) for name in ("allow_no_aof", "allow_eviction"))
    ca_certs = _ca_certs(parts.scheme, given.get("ssl_ca_certs"), shown)
    options = Options(namespace, allow_no_aof, allow_eviction, ca_certs)
    return urlunsplit(parts._replace(query="")), options


def _switch(given: dict[str, str], name: str, shown: str) -> bool:
    value = given.get(name, "no")
    if value not in ("yes", "no"):
        raise SettingsError(f"{shown}: {name}= takes yes or no, not {value!r}")
    return value == "yes"


def _ca_certs(scheme: str, path: str | None, shown: str) -> str | None:
    if path is None:
        return None
    if scheme != "rediss":
        raise SettingsError(f"{shown}: ssl_ca_certs= is for rediss://, that is for TLS")
    if not Path(path).is_file():
        raise SettingsError(f"{shown}: ssl_ca_certs={path}: there is no such file")
    return path


def _client(url: str, shown: str, options: Options) -> Any:
    tls: dict[str, Any] = {}
    if url.startswith("rediss"):  # before 6.0 the driver took any host's certificate, unless told
        tls = {"ssl_check_hostname": True, "ssl_ca_certs": options.ssl_ca_certs}
    try:
        return redis.Redis.from_url(
            url,
            decode_responses=True,
            encoding_errors="surrogatepass",  # nothing that may stand in a key is refused
            socket_timeout=_ANSWER_S,
            socket_connect_timeout=_CONNECT_S,
            socket_keepalive=True,
            health_check_interval=30,
            **tls,
            retry=Retry(NoBackoff(), 0),  # a commit is never sent twice behind our back; reads are, by `Server.read`
        )
    except ValueError as error:
        raise SettingsError(f"{shown}: {error}; write it like redis://user:password@host:6379/0") from None


def _check_keeps(server: Server, options: Options) -> None:
    """Whether the server keeps what it is told."""
    facts = server.with_retries(lambda: {**server.client.info("persistence"), **server.client.info("memory")})
    if not facts.get("aof_enabled", 1) and not options.allow_no_aof:
        raise StoreError(
            f"{server.place} has appendonly no: after a restart it would have forgotten what ran, and run it again; "
            "set appendonly yes there, or accept that with ?allow_no_aof=yes"
        )
    policy = str(facts.get("maxmemory_policy", "noeviction"))
    # volatile-… takes away only keys with an expiry, and ours have none.
    if policy.startswith("allkeys") and not options.allow_eviction:
        raise StoreError(
            f"{server.place} has maxmemory-policy {policy}: when it is full it would throw schedules and runs away; "
            "set maxmemory-policy noeviction there, or accept that with ?allow_eviction=yes"
        )


def _check_schema(server: Server, *, create: bool) -> None:
    if create:
        server.ask("SETNX", "schema", SCHEMA)
    version = server.ask("GET", "schema")
    if version is None:
        raise SchemaError(f"no onthedot store at {server.place}: run `onthedot migrate` or start a node")
    if not version.isdigit() or int(version) > SCHEMA:
        raise SchemaError(
            f"{server.place} has the rows of a newer onthedot (schema {version}, known here: {SCHEMA}); "
            "upgrade onthedot here"
        )
