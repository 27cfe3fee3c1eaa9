"""What a URL of Redis says: one server, the sentinels of several, or the nodes of a cluster; and its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from onthedot.errors import SettingsError
from onthedot.stores.hosts import Host, read_host, split_hosts

Kind = Literal["server", "sentinel", "cluster"]

_NAMESPACE = "onthedot"
_KINDS: dict[str, Kind] = {"": "server", "sentinel": "sentinel", "cluster": "cluster"}
_SENTINELS = "redis+sentinel://user:password@host1:26379,host2:26379/service/0"
_CLUSTER = "redis+cluster://user:password@host1:6379,host2:6379"
_OPTIONS = (
    *("allow_no_aof", "allow_eviction", "allow_no_replicas", "namespace", "replicas", "ssl_ca_certs"),
    *("sentinel_user", "sentinel_password"),
)


@dataclass(frozen=True, slots=True)
class Options:
    """What a URL says behind its question mark."""

    namespace: str = _NAMESPACE
    """Stands as the hash tag before every key."""
    allow_no_aof: bool = False
    """A restart of the server may take everything away, or bring back an old state."""
    allow_eviction: bool = False
    """The server may throw rows away when it is full."""
    replicas: int = 0
    """So many of them must have what is written before it counts."""
    ssl_ca_certs: str | None = None
    """A file with the certificates of those who may vouch for the server, instead of those the machine trusts."""
    sentinel_user: str | None = None
    sentinel_password: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the store is. Of sentinels and clusters `hosts` are those to be asked where it is now."""

    kind: Kind
    bare: str
    """The URL without options, for the driver."""
    tls: bool
    options: Options
    hosts: tuple[Host, ...] = ()
    service: str = ""
    """The name under which sentinels watch it."""
    user: str | None = None
    password: str | None = None
    database: int = 0


def read_url(url: str, shown: str) -> Place:
    """What it says; `SettingsError` where that means nothing."""
    alone, several = split_hosts(
        url, shown
    )  # from Python 3.14 on `urlsplit` refuses several hosts with an IPv6 among them
    try:
        parts = urlsplit(alone)
    except ValueError as error:
        raise SettingsError(f"{shown}: {error}; write it like redis://user:password@host:6379/0") from None
    scheme, _, variant = parts.scheme.partition("+")
    kind = _KINDS.get(variant)
    if kind is None:
        raise SettingsError(
            f"{shown}: {parts.scheme}:// is unknown; there is redis:// for one server, redis+sentinel:// and "
            "redis+cluster://"
        )
    tls = scheme == "rediss"
    options = _options(parts, kind, tls, shown)
    bare = urlunsplit(parts._replace(query=""))
    if kind == "server":
        _check_server(parts, several, shown)
        return Place(kind, bare, tls, options)
    service, database = _service(parts, shown) if kind == "sentinel" else _whole_cluster(parts, shown)
    user, password = (None if each is None else unquote(each) for each in (parts.username, parts.password))
    hosts = several or (read_host(parts.netloc.rpartition("@")[2], shown),)
    return Place(kind, bare, tls, options, hosts, service, user or None, password, database)


def _check_server(parts: SplitResult, several: tuple[Host, ...], shown: str) -> None:
    if several:
        raise SettingsError(
            f"{shown}: redis:// names one server; of several write the sentinels that watch them, like {_SENTINELS}, "
            f"or the nodes of a cluster, like {_CLUSTER}"
        )
    database = parts.path.strip("/")
    if database and not database.isdecimal():
        raise SettingsError(f"{shown}: a database of Redis is a number, like redis://host:6379/0; not {database!r}")


def _service(parts: SplitResult, shown: str) -> tuple[str, int]:
    service, _, database = parts.path.strip("/").partition("/")
    if not service:
        raise SettingsError(f"{shown}: it names no service; write the one that the sentinels watch, like {_SENTINELS}")
    if database and not database.isdecimal():
        raise SettingsError(
            f"{shown}: behind the service stands a database of Redis, a number; not {database!r}; "
            f"write it like {_SENTINELS}"
        )
    return unquote(service), int(database or 0)


def _whole_cluster(parts: SplitResult, shown: str) -> tuple[str, int]:
    if parts.path.strip("/") not in ("", "0"):
        raise SettingsError(f"{shown}: a cluster has the database 0 alone; for a store of its own write ?namespace=")
    return "", 0


def _options(parts: SplitResult, kind: Kind, tls: bool, shown: str) -> Options:
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in given.keys() - set(_OPTIONS):
        raise SettingsError(f"{shown}: a redis:// URL has no option {name}; it has {', '.join(_OPTIONS)}")
    if kind != "sentinel":
        for name in given.keys() & {"sentinel_user", "sentinel_password"}:
            raise SettingsError(f"{shown}: {name}= is for redis+sentinel://")
    namespace = given.get("namespace", _NAMESPACE)
    if not namespace or set("{}\n") & set(namespace):
        raise SettingsError(f"{shown}: namespace= takes a name without braces, like ?namespace=shop")
    return Options(
        namespace,
        _switch(given, "allow_no_aof", shown),
        _switch(given, "allow_eviction", shown),
        _replicas(given, kind, shown),
        _ca_certs(tls, given.get("ssl_ca_certs"), shown),
        given.get("sentinel_user"),
        given.get("sentinel_password"),
    )


def _switch(given: dict[str, str], name: str, shown: str) -> bool:
    value = given.get(name, "no")
    if value not in ("yes", "no"):
        raise SettingsError(f"{shown}: {name}= takes yes or no, not {value!r}")
    return value == "yes"


def _replicas(given: dict[str, str], kind: Kind, shown: str) -> int:
    """One, where a replica may become the primary by itself; as the URL says, if it says."""
    accepted = _switch(given, "allow_no_replicas", shown)
    if accepted and kind == "server":
        raise SettingsError(f"{shown}: allow_no_replicas= is for redis+sentinel:// and redis+cluster://")
    if accepted and "replicas" in given:
        raise SettingsError(f"{shown}: replicas= and allow_no_replicas=yes are opposites; leave one out")
    value = given.get("replicas")
    if value is None:
        return 0 if accepted or kind == "server" else 1
    if not value.isascii() or not value.isdigit() or not 0 < int(value) < 100:
        raise SettingsError(
            f"{shown}: replicas= takes how many must have what is written, like replicas=1; not {value!r}"
        )
    return int(value)


def _ca_certs(tls: bool, path: str | None, shown: str) -> str | None:
    if path is None:
        return None
    if not tls:
        raise SettingsError(f"{shown}: ssl_ca_certs= is for rediss://, that is for TLS")
    if not Path(path).is_file():
        raise SettingsError(f"{shown}: ssl_ca_certs={path}: there is no such file")
    return path
