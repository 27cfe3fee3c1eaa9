"""onthedot inside FastAPI: `FastAPI(lifespan=jobs.lifespan)`. Needs the extra `fastapi`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from onthedot.app.app import App
from onthedot.errors import ExtraMissing

try:
    from fastapi import FastAPI
except ImportError:
    raise ExtraMissing("onthedot.fastapi", "fastapi", "fastapi") from None

__all__ = ["Onthedot"]


class Onthedot(App):
    """An `App` that lives as long as a FastAPI app serves."""

    @asynccontextmanager
    async def lifespan(self, _api: Any = None) -> AsyncIterator[None]:
        """A node for as long as the process serves; `async def` tasks run on its loop.

        `FastAPI(lifespan=jobs.lifespan)`, or inside a lifespan of your own: `async with jobs.lifespan(api): yield`.
        """
        async with self.running():
            yield

    def dashboard(self, **settings: Any) -> FastAPI:
        """The dashboard and the HTTP API, to be mounted: `api.mount("/jobs", jobs.dashboard(auth=who))`.

        `who(request)` gives a name and a role, or None; without it people sign in with tokens. See `App.web`.
        """
        return self.web(**settings)
