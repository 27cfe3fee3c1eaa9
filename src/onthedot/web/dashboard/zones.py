"""In which zone a page tells its moments: UTC, the viewer's own, or each schedule's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import Response

from onthedot.errors import TriggerError
from onthedot.triggers.zones import get_zone

Kind = Literal["utc", "yours", "own"]
KINDS: tuple[tuple[Kind, str], ...] = (("utc", "UTC"), ("yours", "Yours"), ("own", "Its own"))
COOKIE = "onthedot_zone"
"""What was chosen: utc, yours, own, or the name of a zone."""
BROWSER_COOKIE = "onthedot_tz"
"""The browser's own zone; times.js writes it."""
_YEAR_S = 365 * 86_400


@dataclass(frozen=True, slots=True)
class Zone:
    """The zone of one page."""

    kind: Kind = "utc"
    name: str = "UTC"
    known: bool = True
    """False where "yours" is wanted and the browser has not said which it is: then UTC is shown."""

    def at(self, own: str | None = None) -> tzinfo:
        """Where a moment is told: in the zone of the schedule, if that is wanted and given, else in the page's."""
        name = own if self.kind == "own" and own is not None else self.name
        return UTC if name == "UTC" else ZoneInfo(name)


def zone_of(request: Request) -> Zone:
    """What the address says, else what was chosen before, else UTC."""
    chosen = request.query_params.get("zone") or request.cookies.get(COOKIE) or "utc"
    match chosen.lower():
        case "utc":
            return Zone()
        case "own":
            return Zone("own")
        case "yours":
            return _named(request.cookies.get(BROWSER_COOKIE, ""))
        case _:
            return _named(chosen)


def _named(name: str) -> Zone:
    try:
        return Zone("yours", get_zone(name).name)
    except TriggerError:
        return Zone("yours", known=False)


def keep_zone(request: Request, response: Response) -> None:
    """The next page shows times as this address asked for."""
    chosen = request.query_params.get("zone")
    if chosen is None or len(chosen) > 100 or not chosen.isascii() or not chosen.isprintable():
        return
    path = request.scope.get("root_path") or "/"
    response.set_cookie(COOKIE, chosen, max_age=_YEAR_S, path=path, samesite="lax", httponly=True)
