"""What an act says on the page that it leads back to, once, with the way to undo it."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_bytes

from starlette.requests import Request
from starlette.responses import Response

COOKIE = "onthedot_toast"
_SECONDS = 60
_MOST_CHARACTERS = 3000
_OF_THIS_PROCESS = token_bytes(32)


@dataclass(frozen=True, slots=True)
class Undo:
    """A form that takes the act back: itself a new act, in the audit."""

    path: str
    """Below the root: /schedules/nightly/resume."""
    fields: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    word: str = "Undo"


@dataclass(frozen=True, slots=True)
class Toast:
    """One sentence, and what can be done about it."""

    text: str
    undo: Undo | None = None
    bad: bool = False
    """Whether the act was refused."""


def leave(request: Request, response: Response, toast: Toast) -> None:
    """For the next page. Signed, so that no other site of the same domain can put words or acts there."""
    undo = None if toast.undo is None else [toast.undo.path, dict(toast.undo.fields), toast.undo.word]
    kept = json.dumps([toast.text[:400], undo, toast.bad]).encode()
    value = base64.urlsafe_b64encode(kept).decode()
    if len(value) > _MOST_CHARACTERS:
        value = base64.urlsafe_b64encode(json.dumps([toast.text[:400], None, toast.bad]).encode()).decode()
    path = request.scope.get("root_path") or "/"
    signed = f"{_signature(request, value)}.{value}"
    response.set_cookie(COOKIE, signed, max_age=_SECONDS, path=path, httponly=True, samesite="strict")


def read(request: Request) -> Toast | None:
    """What the last act left, if it is of our making."""
    signature, _, value = request.cookies.get(COOKIE, "").partition(".")
    if not value or not hmac.compare_digest(signature.encode(), _signature(request, value).encode()):
        return None
    text, undo, bad = json.loads(base64.urlsafe_b64decode(value))
    return Toast(text, None if undo is None else Undo(*undo), bad)


def forget(request: Request, response: Response) -> None:
    """It has been shown."""
    if COOKIE in request.cookies:
        response.delete_cookie(COOKIE, path=request.scope.get("root_path") or "/")


def _signature(request: Request, value: str) -> str:
    """Of the session, where there is one: then any process that serves can read it."""
    cookie = request.state.caller.cookie
    key = _OF_THIS_PROCESS if cookie is None else cookie.encode("utf-8", "surrogatepass")
    return hmac.new(key, b"onthedot toast" + value.encode(), sha256).hexdigest()
