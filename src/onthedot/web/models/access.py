"""Tokens and sessions."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from onthedot.model.token import Role
from onthedot.web.models.common import Given


class NewToken(Given):
    """A token to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "deploy-bot", "role": "operator", "expires": "90d"}]}
    )

    name: str
    role: Role = Role.VIEWER
    expires: str | None = Field(default=None, description="How long it counts; for ever if left out.")


class Token(BaseModel):
    """A token; its text is not kept."""

    name: str
    role: Role
    created_at: str | None
    expires_at: str | None
    expired: bool


class MadeToken(Token):
    """A token, and its text: shown this once."""

    text: str


class Tokens(BaseModel):
    """All tokens by name."""

    tokens: list[Token]


class SignIn(Given):
    """The text of a token."""

    token: str


class Session(BaseModel):
    """Who is signed in. `csrf` goes into the header X-CSRF-Token of every change that is made with the cookie."""

    name: str
    role: Role
    how: Literal["token", "session", "local", "outside"]
    csrf: str | None
