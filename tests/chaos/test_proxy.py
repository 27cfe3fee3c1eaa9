"""The proxy of storms: what does not arrive, whose answers are lost, and what is late."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator

import pytest
from tests.chaos.proxy import Proxy
from tests.patience import LONGEST_S


class Shouting(socketserver.ThreadingTCPServer):
    """Answers each line with the same in capitals, and remembers it."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Shouting)
        for line in self.rfile:
            self.server.heard.append(line)
            self.wfile.write(line.upper())


@pytest.fixture
def server() -> Iterator[Shouting]:
    with Shouting() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    proxy = Proxy(seed=1)
    yield proxy
    proxy.close()


def connected(proxy: Proxy, server: Shouting) -> socket.socket:
    port = proxy.listen(0, server.server_address[1])
    return socket.create_connection(("127.0.0.1", port), timeout=LONGEST_S)


def ask(connection: socket.socket, line: bytes) -> bytes:
    """The answer; nothing where the connection was cut."""
    try:
        connection.sendall(line)
        return connection.recv(100)
    except ConnectionError:
        return b""


def test_all_goes_through_while_nothing_is_wrong(proxy: Proxy, server: Shouting) -> None:
    with connected(proxy, server) as connection:
        assert [ask(connection, b"one\n"), ask(connection, b"two\n")] == [b"ONE\n", b"TWO\n"]


def test_a_request_that_is_cut_off_before_never_arrives(proxy: Proxy, server: Shouting) -> None:
    with connected(proxy, server) as connection:
        ask(connection, b"one\n")
        proxy.do(0, "cut-before")
        while not proxy.line(0).cut_before:
            pass
        assert ask(connection, b"lost\n") == b""
    assert server.heard == [b"one\n"]
    assert proxy.line(0).done == {"cut-before": 1}


def test_a_request_that_is_cut_off_after_arrives_and_its_answer_does_not(proxy: Proxy, server: Shouting) -> None:
    with connected(proxy, server) as connection:
        ask(connection, b"one\n")
        proxy.do(0, "cut-after")
        while not proxy.line(0).cut_after:
            pass
        assert ask(connection, b"done\n") == b""
    assert server.heard == [b"one\n", b"done\n"]
    with connected(proxy, server) as another:
        assert ask(another, b"again\n") == b"AGAIN\n"


def test_late_answers_still_come_and_nothing_is_late_once_all_is_mended(proxy: Proxy, server: Shouting) -> None:
    with connected(proxy, server) as connection:
        proxy.do(0, "late", 20, 3_600_000)
        assert ask(connection, b"late\n") == b"LATE\n"
        assert proxy.line(0).done == {"late": 1}
        proxy.mend()
        assert ask(connection, b"soon\n") == b"SOON\n"
    assert proxy.line(0).done == {"late": 1}
