"""The living example on the dashboard: its nodes can be killed from the page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.text import Text

from onthedot.app.app import App
from onthedot.cli.living.crew import Crew, name_of
from onthedot.cli.screen import Screen
from onthedot.errors import SettingsError

if TYPE_CHECKING:
    from onthedot.web.serving import WebServer

_PORTS = (8642, 0)
_LOOK_S = 0.2


class CrewOnStage:
    """The crew as the page knows it: by the names of its nodes."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._numbers = {name_of(number): number for number in crew.numbers}

    def lives(self) -> Mapping[str, bool]:
        """Whether each process is there."""
        return {name: self._crew.lives(number) for name, number in self._numbers.items()}

    def kill(self, name: str) -> None:
        """End the process, if it is there."""
        if self._crew.lives(self._numbers[name]):
            self._crew.kill(self._numbers[name])

    def start(self, name: str) -> None:
        """Start it, if it is not there."""
        if not self._crew.lives(self._numbers[name]):
            self._crew.start(self._numbers[name])


def show_page(app: App, crew: Crew, end: float | None, port: int | None) -> None:
    """Serve the dashboard on this machine, and say where, until Ctrl-C or so long."""
    server = _server(app, CrewOnStage(crew), _PORTS if port is None else (port,))
    screen = Screen()
    screen.print(Text.assemble("onthedot demo: open ", (server.address, "bold underline")), soft_wrap=True)
    screen.print(Text("a dozen schedules, two nodes; kill one on the page Nodes. Ctrl-C ends it.", "dim"))
    with server.beside() as thread:
        while thread.is_alive() and (end is None or time.monotonic() < end):
            thread.join(_LOOK_S)


def _server(app: App, stage: CrewOnStage, ports: tuple[int, ...]) -> WebServer:
    """On the first of these ports that is free."""
    from onthedot.web.serving import Place, WebServer

    for port in ports[:-1]:
        with suppress(SettingsError):
            return WebServer(app, Place(port=port), stage)
    return WebServer(app, Place(port=ports[-1]), stage)
