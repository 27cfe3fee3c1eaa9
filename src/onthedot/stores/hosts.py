"""Several hosts in one URL, in the form of libpq: scheme://user:password@host1:port1,host2:port2/database."""

from __future__ import annotations

import re
from dataclasses import dataclass

from onthedot.errors import SettingsError

# User and password end where SQLAlchemy lets them end.
_URL = re.compile(r"(?P<before>[^:]+://(?:[^:/]*(?::[^@]*)?@)?)(?P<hosts>[^/?]*)(?P<after>.*)", re.DOTALL)
_HOST = re.compile(r"(?:\[(?P<address>[^\[\]]+)\]|(?P<name>[^\s:\[\]]+))(?::(?P<port>[0-9]{1,5}))?")
_HIGHEST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Host:
    """One of several servers; without a port it is the usual one."""

    name: str
    port: int | None


def split_hosts(url: str, place: str) -> tuple[str, tuple[Host, ...]]:
    """The URL without its hosts, and these; where it names one or none, the URL as it is."""
    parts = _URL.fullmatch(url)
    if parts is None or "," not in parts["hosts"]:
        return url, ()
    hosts = tuple(read_host(each, place) for each in parts["hosts"].split(","))
    return f"{parts['before']}{parts['after']}", hosts


def read_host(text: str, place: str) -> Host:
    """One of them, as it stands between the commas."""
    parts = _HOST.fullmatch(text)
    port = int(parts["port"]) if parts is not None and parts["port"] else None
    if parts is None or (port is not None and not 0 < port <= _HIGHEST_PORT):
        raise SettingsError(f"{place}: {text!r} is no host; write several like host1:port1,host2:port2")
    return Host(parts["address"] or parts["name"], port)
