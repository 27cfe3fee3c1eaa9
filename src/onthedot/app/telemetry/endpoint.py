"""The node's own HTTP endpoint: /metrics for Prometheus, /healthz for whoever restarts what is stuck."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from onthedot.app.telemetry.metrics import Metrics
from onthedot.errors import SettingsError


class Endpoint:
    """Serves from a thread of its own, from its making until `close`."""

    def __init__(self, host: str, port: int, metrics: Metrics, is_healthy: Callable[[], bool]) -> None:
        try:
            self._server = _Server((host, port), _handler(metrics, is_healthy))
        except (OSError, OverflowError) as error:
            said = getattr(error, "strerror", None) or str(error)
            raise SettingsError(
                f"metrics cannot be served on {host}:{port}: {said.lower()}; choose another --metrics-port"
            ) from None
        Thread(target=self._server.serve_forever, name="onthedot-metrics", daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()

    def after_fork(self) -> None:
        """The parent serves, and this process must not keep its port."""
        self._server.socket.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True


def _handler(metrics: Metrics, is_healthy: Callable[[], bool]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                body, content_type = metrics.text(self.headers.get("Accept", ""))
                self._answer(200, content_type, body)
            elif path == "/healthz":
                healthy = is_healthy()
                said = b"ok\n" if healthy else b"the lease is not renewed\n"
                self._answer(200 if healthy else 503, "text/plain; charset=utf-8", said)
            else:
                self._answer(404, "text/plain; charset=utf-8", b"there are /metrics and /healthz\n")

        def _answer(self, code: int, content_type: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A scrape is no event."""

    return Handler
