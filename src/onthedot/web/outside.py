"""Who asks, by the word of the app in which this one is mounted: `app.web(auth=…)`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from onthedot.model.token import Role
from onthedot.storable import brief
from onthedot.web.problems import Refused

Auth = Callable[[Any], Any]
Known = tuple[str, Role]

_LONGEST_NAME = 200
_log = logging.getLogger("onthedot.web")


async def ask_outside(auth: Auth | None, request: Request) -> Known | None:
    """Whom the app around this one knows, asked once for each request. A plain `auth` is called in a thread."""
    if auth is None:
        return None
    if not hasattr(request.state, "outside"):
        found = await auth(request) if iscoroutinefunction(auth) else await run_in_threadpool(auth, request)
        if isawaitable(found):  # an object whose __call__ is async
            found = await found
        request.state.outside = None if found is None else _known(found)
    return known_outside(request)


def known_outside(request: Request) -> Known | None:
    """What was found out before, for the same request."""
    known: Known | None = getattr(request.state, "outside", None)
    return known


def _known(found: object) -> Known:
    match found:
        case (str(name), str(role)) if 0 < len(name) <= _LONGEST_NAME and role in [*Role]:
            return name, Role(role)
    _log.error("auth gave %s; it gives None, or a name and a role: ('ann', 'operator')", brief(found))
    raise Refused(500, "auth", "who asks cannot be told: the log of the server says why")
