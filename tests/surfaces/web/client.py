"""A client of the real ASGI app, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
from fastapi import FastAPI

API = "/api/v1"


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks, and from where; each request is a connection of its own."""

    web: Any
    token: str | None = None
    address: str = "127.0.0.1"
    base: str = "http://testserver"
    headers: Mapping[str, str] = field(default_factory=dict)
    prefix: str = API

    def with_token(self, token: str | None) -> Client:
        return replace(self, token=token)

    def with_headers(self, **headers: str) -> Client:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **named})

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The path as it stands."""
        return asyncio.run(self._ask(method, path, options))

    async def _ask(self, method: str, path: str, options: dict[str, Any]) -> httpx.Response:
        bearer = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        headers = {**self.headers, **bearer, **options.pop("headers", {})}
        transport = httpx.ASGITransport(self.web, client=(self.address, 4711))
        async with httpx.AsyncClient(transport=transport, base_url=self.base) as client:
            return await client.request(method, path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("GET", self.prefix + path, **options)

    def post(self, path: str, json: Any = None, **options: Any) -> httpx.Response:
        return self.ask("POST", self.prefix + path, **({} if json is None else {"json": json}), **options)

    def put(self, path: str, json: Any, **options: Any) -> httpx.Response:
        return self.ask("PUT", self.prefix + path, json=json, **options)

    def patch(self, path: str, json: Any, **options: Any) -> httpx.Response:
        return self.ask("PATCH", self.prefix + path, json=json, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("DELETE", self.prefix + path, **options)


@dataclass(frozen=True, slots=True)
class Callers:
    """One for each role, and nobody."""

    web: FastAPI
    nobody: Client
    viewer: Client
    operator: Client
    admin: Client

    def named(self) -> dict[str, Client]:
        return {"nobody": self.nobody, "viewer": self.viewer, "operator": self.operator, "admin": self.admin}


def kind_of(response: httpx.Response) -> str:
    """Of a problem."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    document = response.json()
    assert document["status"] == response.status_code
    return str(document["type"]).removeprefix("urn:onthedot:problem:")
