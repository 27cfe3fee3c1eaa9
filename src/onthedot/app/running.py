"""`app.running()`: a node for the time of a block."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onthedot.app.app import App


class Running:
    """Starts the app's node at the beginning of a block and drains it at the end."""

    def __init__(self, app: App, *, log: bool = True) -> None:
        self._app = app
        self._log = log

    def __enter__(self) -> App:
        self._app.start(log=self._log)
        return self._app

    def __exit__(self, *_: object) -> None:
        self._app.stop()

    async def __aenter__(self) -> App:
        await asyncio.to_thread(self._app.start, loop=asyncio.get_running_loop(), log=self._log)
        return self._app

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._app.stop)
