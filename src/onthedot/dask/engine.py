"""The engine: runs are tasks of a Dask cluster, whose keys are their ids, and which stay there until forgotten."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from distributed import Client, Future

from onthedot.engines import Call, CannotSend, Done, EngineAway, Failed, Running, Status, Waiting
from onthedot.errors import SettingsError
from onthedot.storable import brief, shown

_CONNECT_S = 5
_ANSWER_S = 30
_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")


class DaskEngine:
    """Gives runs to the workers of a Dask cluster: `app.engine("cluster", DaskEngine("tcp://scheduler:8786"))`.

    A task's function must be importable by the workers, or stand in the program itself, and give JSON values. `connect`
    are options of `distributed.Client`, such as security, `options` those of its `submit`: resources, priority,
    workers. What is cancelled after it has begun goes on in its thread, and its result is thrown away.
    """

    dedupes = True
    """A key that the scheduler has is computed once."""

    def __init__(self, address: str, *, connect: Mapping[str, Any] | None = None, **options: Any) -> None:
        self._address = _checked(address)
        self._connect = dict(connect or {})
        self._options = options
        for name in ("key", "pure"):
            if name in options:
                raise SettingsError(f"DaskEngine: {name}: it follows from the run; leave it out")
        self._client: Any = None
        self._pid = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DaskEngine) and self._said == other._said

    def __hash__(self) -> int:
        return hash(self._address)

    def __str__(self) -> str:
        return f"Dask at {self._address}"

    @property
    def _said(self) -> tuple[Any, ...]:
        return self._address, self._connect, self._options

    def submit(self, engine_id: str, call: Call) -> None:
        """Have it computed, and kept by the scheduler whatever becomes of this process."""
        client = self._reached()
        work = _by_name(call.task, call.arguments) if call.function is None else _work(call.function, call.arguments)
        try:
            future = client.submit(work, key=engine_id, pure=False, **self._options)
        except (TypeError, AttributeError, ValueError) as error:  # what pickle says
            raise CannotSend(f"{call.task} cannot be sent so: {_first(error)}") from None
        with suppress(KeyError):  # it is there already
            client.publish_dataset(future, name=engine_id)

    def poll(self, ids: Collection[str]) -> Mapping[str, Status]:
        """What the scheduler says of each, and the results of those that have ended."""
        client = self._reached()
        states = client.sync(client.scheduler.get_task_status, keys=list(ids), callback_timeout=_ANSWER_S)
        return {key: _status(client, key, state) for key, state in states.items() if state is not None}

    def cancel(self, engine_id: str) -> None:
        """Have the scheduler drop it."""
        client = self._reached()
        client.cancel([Future(engine_id, client)], force=True)
        client.unpublish_dataset(engine_id)

    def forget(self, engine_id: str) -> None:
        """Its result may go."""
        self._reached().unpublish_dataset(engine_id)

    def close(self) -> None:
        """Let go of the scheduler, which goes on with what it has."""
        client, self._client = self._client, None
        if client is not None and self._pid == os.getpid():
            client.close(timeout=_CONNECT_S)

    def _reached(self) -> Any:
        """A client of this process, made when it is first needed, and anew where the scheduler went away."""
        if self._client is not None and self._pid == os.getpid() and self._client.status == "running":
            return self._client
        self.close()
        try:
            made = _client(self._address, timeout=_CONNECT_S, set_as_default=False, **self._connect)
        except Exception as error:
            raise EngineAway(f"{self} cannot be reached: {shown(error)}") from None
        self._client, self._pid = made, os.getpid()
        return made


_client: Any = Client


def _status(client: Any, key: str, state: str) -> Status:
    if state not in ("memory", "erred"):
        return Running() if state == "processing" else Waiting()
    try:
        future = client.get_dataset(key)
    except KeyError:  # who gave it to the scheduler is gone, and so it will be in a moment
        return Waiting()
    if state == "memory":
        return Done(future.result(timeout=_ANSWER_S))
    error: Any = future.exception(timeout=_ANSWER_S)
    return Failed(f"{type(error).__name__}: {shown(error)}")


def _first(error: BaseException) -> str:
    """What was wrong at first: Dask tells of all that it had in hand then."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(shown(error).split())


def _work(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Callable[[], Any]:
    """Made here, so that it travels by its code: workers need not have this package."""
    plain = dict(arguments)

    def call() -> Any:
        return function(**plain)

    return call


def _by_name(name: str, arguments: Mapping[str, Any]) -> Callable[[], Any]:
    """The same for a function that only the workers have, as module.function."""
    plain = dict(arguments)

    def call() -> Any:
        module, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(module), attribute)(**plain)

    return call


def _checked(address: Any) -> str:
    scheme, _, rest = address.partition("://") if isinstance(address, str) else ("", "", "")
    host, _, port = rest.rpartition(":")
    if scheme not in _SCHEMES or not host or not port.isdecimal():
        raise SettingsError(f"DaskEngine: {brief(address)} is no address; write tcp://host:8786, or tls://host:8786")
    return str(address)
