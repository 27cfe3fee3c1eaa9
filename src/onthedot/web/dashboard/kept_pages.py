"""The last truth: what pages showed when the store still answered, and to whom. Of one process, and only so many."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any

from starlette.requests import Request

from onthedot.web.dashboard.zones import zone_of
from onthedot.web.outside import known_outside
from onthedot.web.security import COOKIE, Caller

_MOST = 200


@dataclass(frozen=True, slots=True)
class KeptPage:
    """What a page was made of; values are frozen, so it can be made again."""

    template: str
    values: Mapping[str, Any]
    caller: Caller


class KeptPages:
    """By who asked and for which address."""

    def __init__(self) -> None:
        self._pages: OrderedDict[Hashable, KeptPage] = OrderedDict()
        self._lock = Lock()

    def keep(self, request: Request, page: KeptPage) -> None:
        """In place of what this address showed them before."""
        with self._lock:
            key = _key(request)
            self._pages[key] = page
            self._pages.move_to_end(key)
            while len(self._pages) > _MOST:
                self._pages.popitem(last=False)

    def find(self, request: Request, now_ms: int) -> KeptPage | None:
        """What this address showed to the same person, while their token or session lasts by the store's time. A wrong
        or missing cookie finds nothing."""
        with self._lock:
            page = self._pages.get(_key(request))
        ends_ms = None if page is None else page.caller.ends_ms
        return None if ends_ms is not None and ends_ms <= now_ms else page


def _key(request: Request) -> Hashable:
    """No secret is kept: only what tells that it was the same."""
    client = "" if request.client is None else request.client.host
    known = " ".join(known_outside(request) or ())
    shown = "\0".join([client, request.headers.get("authorization", ""), request.cookies.get(COOKIE, ""), known])
    who = sha256(shown.encode("utf-8", "surrogatepass")).digest()
    return who, request.url.path, request.url.query, zone_of(request)
