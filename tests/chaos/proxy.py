"""Connections between nodes and servers that go through us: cut before or after a commit, late, or silent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from threading import Thread

_CHUNK = 1 << 16
_NEVER = float("inf")


@dataclass(slots=True)
class Line:
    """What is wrong with the connections of one node just now."""

    cut_before: bool = False
    """The next request is thrown away, and its connection ended."""
    cut_after: bool = False
    """The next request arrives; its answer is thrown away, and its connection ended."""
    late_ms: int = 0
    """Each answer is late by up to so much: answers on different connections overtake each other."""
    late_until: float = 0.0
    silent_until: float = 0.0
    """Nothing arrives on either side, and no connection ends."""
    done: dict[str, int] = field(default_factory=dict)
    """How often something was really cut."""

    def note(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1


class Proxy:
    """One thread with an event loop; listens on a port for each node and server."""

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)
        self._loop = asyncio.new_event_loop()
        self._lines: dict[int, Line] = {}
        self._servers: list[asyncio.Server] = []
        self._thread = Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()

    def line(self, node: int) -> Line:
        """The connections of this node."""
        return self._lines.setdefault(node, Line())

    def listen(self, node: int, port: int) -> int:
        """The port at which this node finds the server of that port."""

        async def begin() -> int:
            server = await asyncio.start_server(lambda r, w: self._serve(node, port, r, w), "127.0.0.1", 0)
            self._servers.append(server)
            found: int = server.sockets[0].getsockname()[1]
            return found

        return asyncio.run_coroutine_threadsafe(begin(), self._loop).result()

    def do(self, node: int, what: str, *values: int) -> None:
        """Something goes wrong with the connections of this node."""
        self._loop.call_soon_threadsafe(self._do, self.line(node), what, values)

    def _do(self, line: Line, what: str, values: tuple[int, ...]) -> None:
        now = self._loop.time()
        match what, values:
            case "cut-before", ():
                line.cut_before = True
            case "cut-after", ():
                line.cut_after = True
            case "late", (by_ms, for_ms):
                line.late_ms, line.late_until = by_ms, now + for_ms / 1000
            case "silent", (for_ms,):
                line.silent_until = now + for_ms / 1000
            case _:
                raise ValueError(what)

    def mend(self) -> None:
        """From now on all is well."""
        for line in self._lines.values():
            line.cut_before = line.cut_after = False
            line.late_until = line.silent_until = 0.0

    def close(self) -> None:
        """End all connections, and the thread."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    # one connection

    async def _serve(self, node: int, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = self.line(node)
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.transport.abort()
            return
        state = _Connection(line, (writer, server_writer))
        requests = asyncio.ensure_future(self._pump(state, reader, server_writer, self._request))
        answers = asyncio.ensure_future(self._pump(state, server_reader, writer, self._answer))
        try:
            await asyncio.wait({requests, answers}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            requests.cancel()
            answers.cancel()
            state.end()

    async def _pump(
        self,
        state: _Connection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        passes: Callable[[_Connection], float | None],
    ) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while data := await reader.read(_CHUNK):
                wait_s = passes(state)
                if wait_s is None:
                    state.end()
                    return
                if wait_s > 0:
                    await asyncio.sleep(wait_s)
                writer.write(data)
                await writer.drain()

    def _request(self, state: _Connection) -> float | None:
        """How long it waits; None: the connection is cut."""
        line = state.line
        if line.cut_before:
            line.cut_before = False
            line.note("cut-before")
            return None
        if line.cut_after and not state.cut_answer:
            line.cut_after, state.cut_answer = False, True
        return self._silence(line)

    def _answer(self, state: _Connection) -> float | None:
        line = state.line
        if state.cut_answer:
            line.note("cut-after")
            return None
        late_s = 0.0
        if self._loop.time() < line.late_until:
            late_s = self._dice.uniform(0, line.late_ms / 1000)
            line.note("late")
        return late_s + (self._silence(line) or 0.0)

    def _silence(self, line: Line) -> float:
        return max(line.silent_until - self._loop.time(), 0.0)


@dataclass(slots=True)
class _Connection:
    line: Line
    writers: tuple[asyncio.StreamWriter, asyncio.StreamWriter]
    cut_answer: bool = False
    """The answer to what was asked last is to be thrown away."""

    def end(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
