"""From a URL to a store on Redis, and what is refused at start-up."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

from onthedot.errors import SchemaError, SettingsError, StoreError
from onthedot.stores.hosts import Host
from onthedot.stores.redis.health import online_replicas
from onthedot.stores.redis.primary import Address, ClusterNodes, Primary, PrimaryPool, Sentinels
from onthedot.stores.redis.server import Server
from onthedot.stores.redis.store import RedisStore
from onthedot.stores.redis.url import Options, Place, read_url

SCHEMA = 1
"""The version of keys and rows."""
_ANSWER_S = 10.0
"""How long a command may take: a third of a lease, so that a node can still renew after it."""
_CONNECT_S = 5.0
_CONNECT_TO_ONE_OF_SEVERAL_S = 2.0
_ASK_S = 1.0
"""How long one that should know the primary may take to answer."""
_LOOKS, _BETWEEN_LOOKS_MS = 4, 500
"""A replica comes back to a new primary within a second or two."""


def open_redis(url: str, shown: str, *, create: bool, now_ms: Callable[[], int] | None) -> RedisStore:
    """The store that the URL names; one that is not there yet is made only if `create`."""
    place = read_url(url, shown)
    server = _server(place, shown)
    try:
        _check_keeps(server, place.options)
        _check_replicas(server)
        _check_schema(server, create=create)
    except BaseException:
        server.close()
        raise
    return RedisStore(server, now_ms)


def _server(place: Place, shown: str) -> Server:
    prefix, replicas = f"{{{place.options.namespace}}}:", place.options.replicas
    if place.kind == "server":
        return Server(_client(place, shown), prefix, shown, replicas)
    primary = _primary(place, prefix)
    kind = SentinelManagedSSLConnection if place.tls else SentinelManagedConnection
    pool = PrimaryPool(
        primary,
        connection_class=kind,
        username=place.user,
        password=place.password,
        db=place.database,
        **_connecting(place, _CONNECT_TO_ONE_OF_SEVERAL_S, _ANSWER_S),
    )
    return Server(redis.Redis.from_pool(pool), prefix, shown, replicas, primary)


def _client(place: Place, shown: str) -> Any:
    try:
        return redis.Redis.from_url(place.bare, **_connecting(place, _CONNECT_S, _ANSWER_S))
    except ValueError as error:
        raise SettingsError(f"{shown}: {error}; write it like redis://user:password@host:6379/0") from None


def _primary(place: Place, prefix: str) -> Primary:
    if place.kind == "sentinel":
        who = (place.options.sentinel_user, place.options.sentinel_password)
        return Sentinels(_addresses(place.hosts, 26379), _asking(place, *who), place.service)
    hosts = _addresses(place.hosts, 6379)
    return ClusterNodes(hosts, _asking(place, place.user, place.password), prefix, by_name=place.tls)


def _asking(place: Place, user: str | None, password: str | None) -> Callable[[Address], Any]:
    """Clients for those who know the primary."""
    options = _connecting(place, _ASK_S, _ASK_S)

    def make(address: Address) -> Any:
        host, port = address
        return redis.Redis(host, port, username=user, password=password, protocol=2, ssl=place.tls, **options)

    return make


def _addresses(hosts: tuple[Host, ...], usual_port: int) -> list[Address]:
    return [(each.name, each.port or usual_port) for each in hosts]


def _connecting(place: Place, connect_s: float, answer_s: float) -> dict[str, Any]:
    tls: dict[str, Any] = {}
    if place.tls:  # before 6.0 the driver took any host's certificate, unless told
        tls = {"ssl_check_hostname": True, "ssl_ca_certs": place.options.ssl_ca_certs}
    return {
        "decode_responses": True,
        "encoding_errors": "surrogatepass",  # nothing that may stand in a key is refused
        "socket_timeout": answer_s,
        "socket_connect_timeout": connect_s,
        "socket_keepalive": True,
        "health_check_interval": 30,
        "retry": Retry(NoBackoff(), 0),  # a commit is never sent twice behind our back; reads are, by `with_retries`
        **tls,
    }


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


def _check_replicas(server: Server) -> None:
    """Whether there are as many as must have what is written; after a fail-over they take a moment."""
    for look in range(1, _LOOKS + 1):
        found = online_replicas(server) if server.replicas else 0
        if found >= server.replicas:
            return
        if look < _LOOKS:
            server.clock.wait(Event(), _BETWEEN_LOOKS_MS)
    wanted = "a replica" if server.replicas == 1 else f"{server.replicas} replicas"
    accepted = "accept that with ?allow_no_replicas=yes" if server.primary else "leave replicas= out"
    raise StoreError(
        f"{server.place} has {found} replicas, and {wanted} must have what is written: after a fail-over it would "
        f"have forgotten what ran, and run it again; attach {wanted}, or {accepted}"
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
