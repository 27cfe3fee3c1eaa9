"""A server for the HTTP API: alone, or beside a node. On this machine only, unless told otherwise and with a token."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread

import uvicorn

from onthedot.app.app import App
from onthedot.errors import SettingsError
from onthedot.signals import signals_heard
from onthedot.web.app import make_web
from onthedot.web.patience import PatientProtocol
from onthedot.web.security import is_loopback
from onthedot.web.settings import LOOPBACK, WebSettings

_BACKLOG = 128
_PATIENCE_S = 5
_LISTEN_MS = 500
_MOST_CONNECTIONS = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """Where it is served, and how it is reached there."""

    host: str = "127.0.0.1"
    port: int = 8642
    root_path: str = ""
    """What a proxy has taken away from the beginning of each path."""
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    """The addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it, with nobody in between."""
        return is_loopback(self.host) and not (self.root_path or self.trusted_proxies or self.allowed_hosts)

    def settings(self) -> WebSettings:
        """On this machine it answers to its own names only: no other site can have a browser ask it."""
        hosts = (*LOOPBACK, self.host, *self.allowed_hosts) if self.is_local or self.allowed_hosts else None
        return WebSettings(hosts=hosts, open_on_loopback=self.is_local)


class WebServer:
    """Listens from its making on, and serves while `run` is inside or `beside` is open."""

    def __init__(self, app: App, place: Place) -> None:
        if not place.is_local:
            _refuse_without_token(app, place)
        self._socket = _listen(place)
        self._web = make_web(app, place.settings())
        config = uvicorn.Config(
            self._web,
            http=PatientProtocol,
            ws="none",
            lifespan="on",
            limit_concurrency=_MOST_CONNECTIONS,
            log_config=None,
            access_log=False,
            server_header=False,
            root_path=place.root_path,
            proxy_headers=bool(place.trusted_proxies),
            forwarded_allow_ips=list(place.trusted_proxies),
            timeout_graceful_shutdown=_PATIENCE_S,
        )
        self._server = uvicorn.Server(config)
        host = f"[{place.host}]" if ":" in place.host else place.host
        self.address = f"http://{host}:{self._socket.getsockname()[1]}{place.root_path}"

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C. Needs the main thread."""
        with signals_heard(signal.SIGTERM, signal.SIGINT) as next_signal, self.beside() as thread:
            while thread.is_alive() and next_signal(_LISTEN_MS) is None:
                continue

    @contextmanager
    def beside(self) -> Iterator[Thread]:
        """Serve in a thread of its own while something else goes on."""
        thread = Thread(target=self._server.run, args=([self._socket],), name="onthedot-web", daemon=True)
        thread.start()
        try:
            yield thread
        finally:
            self._web.state.watcher.stop()  # streams would else be waited for
            self._server.should_exit = True
            thread.join(2 * _PATIENCE_S)
            self._socket.close()


def _refuse_without_token(app: App, place: Place) -> None:
    if not app.tokens.list():
        raise SettingsError(
            f"others could reach {place.host}:{place.port}, and there is no token yet; "
            "make one first: onthedot tokens create NAME --role admin"
        )


def _listen(place: Place) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        return socket.create_server((place.host, place.port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise SettingsError(
            f"the dashboard cannot be served on {place.host}:{place.port}: {_reason(error)}; choose another --port"
        ) from None


def _reason(error: OSError | OverflowError) -> str:
    """In the system's own words: Python adds the address, which is told already."""
    number = getattr(error, "errno", None) or 0
    return (os.strerror(number) if number > 0 else getattr(error, "strerror", None) or str(error)).lower()
