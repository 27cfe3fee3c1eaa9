"""What a form says. Forms are small and plain, so nothing but the standard library reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from fastapi import Depends
from starlette.requests import Request

from onthedot.errors import SettingsError
from onthedot.web.problems import Refused

CSRF_FIELD = "csrf"
_KIND = "application/x-www-form-urlencoded"
_MOST_FIELDS = 2000
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form; one that is missing is empty."""

    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.fields.get(name, [""])[-1]

    def all(self, name: str) -> list[str]:
        """Every value of a field that may be there more than once."""
        return [*self.fields.get(name, [])]

    def number(self, name: str) -> int | None:
        """None where it is empty; `SettingsError` for what is none: it is not taken for one that was left out."""
        text = self[name]
        if text and not (text.isascii() and text.isdecimal() and len(text) < _MOST_DIGITS):
            raise SettingsError(f"{name}: {text[:40]!r} is no number")
        return int(text) if text else None

    def below(self, prefix: str) -> dict[str, str]:
        """The fields whose names begin so, by the rest of their names."""
        return {name[len(prefix) :]: self[name] for name in self.fields if name.startswith(prefix)}


async def read_form(request: Request) -> Form:
    """`Refused` for a body that is no form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if body and kind != _KIND:
        raise Refused(415, "form", f"a form of a page is sent as {_KIND}; programs use /api/v1")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Refused(400, "form", "the form cannot be read") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return Form(fields)


def read_json(text: str) -> Any:
    """`ValueError` for what is no JSON, also for what is nested deeper than anybody reads."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


async def _form(request: Request) -> Form:
    form: Form = request.state.form
    return form


TheForm = Annotated[Form, Depends(_form)]


def own_path(request: Request, wanted: str) -> str | None:
    """The address, if it is one of our own pages: nobody is sent elsewhere by a link that somebody made."""
    root = request.scope.get("root_path") or ""
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return None
    plain = wanted.isprintable() and "\\" not in unquote(wanted) and len(wanted) < 4000
    inside = wanted.startswith(f"{root}/") and not wanted.startswith("//") and not parts.netloc and not parts.scheme
    return wanted if plain and inside else None
