"""The engine: runs that Celery's workers execute, under an id of their own, and whose results are fetched again."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from celery.app.task import Task as CeleryTask
from celery.backends.base import DisabledBackend
from celery.exceptions import NotRegistered
from kombu.exceptions import EncodeError

from celery import Celery
from onthedot.celery.brokers import broker_of, transport_of
from onthedot.celery.sending import GIVEN, headers_of, sending_of
from onthedot.engines import Call, CannotSend, Done, EngineAway, Failed, Running, Status, Unknown, Waiting
from onthedot.errors import SettingsError
from onthedot.moments import floor_ms, iso
from onthedot.storable import brief, shown

_CONNECT_S = 5
_ENDS: Mapping[str, str] = {"REVOKED": "it was revoked", "REJECTED": "its worker rejected it"}


class CeleryEngine:
    """Gives runs to the workers of a Celery app: `app.engine("workers", CeleryEngine(celery_app))`.

    A task is sent by the name that it has at Celery, else by its own. Where no result is kept (no `result_backend`, or
    `ignore_result`), what was sent has succeeded. `options` are those of `apply_async`: queue, expires, priority. With
    `terminate` a cancelled run's worker process is ended; else only what has not begun can be stopped.
    """

    dedupes = False
    """Brokers do not look at ids: what is sent twice may begin twice, unless the task is based on `Once`."""

    def __init__(self, celery_app: Celery | str, *, terminate: bool = False, **options: Any) -> None:
        self._app = _app_of(celery_app)
        self._terminate = terminate
        self._options = options
        for name in ("task_id", "headers", "args", "kwargs"):
            if name in options:
                raise SettingsError(f"CeleryEngine: {name}: it follows from the run; leave it out")
        transport_of(self._app)
        self._check_backend()

    def __eq__(self, other: object) -> bool:
        mine = isinstance(other, CeleryEngine) and (self._app, self._terminate, self._options)
        return mine == (isinstance(other, CeleryEngine) and (other._app, other._terminate, other._options))

    def __hash__(self) -> int:
        return hash(id(self._app))

    def __str__(self) -> str:
        return f"Celery at {broker_of(self._app)}"

    def submit(self, engine_id: str, call: Call) -> Done | None:
        """Send it. Where nobody will ever tell how it ended, that is its end."""
        name = _name_of(call)
        self._connect()
        told = headers_of(call.run_id, call.attempt, _iso(call), by_schedule=call.schedule is not None)
        told = {**told, GIVEN: call.sending}
        try:
            sending_of(self._app, name)((), dict(call.arguments), task_id=engine_id, headers=told, **self._options)
        except (TypeError, EncodeError) as error:
            raise CannotSend(f"{name} cannot be sent so: {shown(error)}") from None
        return None if self._tells(name) else Done({"task_id": engine_id})

    def poll(self, ids: Collection[str]) -> Mapping[str, Status]:
        """What the result backend says of each."""
        backend = self._app.backend
        if isinstance(backend, DisabledBackend):
            return {}
        return {each: _status(backend.get_task_meta(each, cache=False)) for each in ids}

    def cancel(self, engine_id: str) -> None:
        """Revoke it at all workers that live."""
        self._app.control.revoke(engine_id, terminate=self._terminate)

    def forget(self, engine_id: str) -> None:
        """Its result may go."""
        with suppress(NotImplementedError):  # of a backend that lets them expire
            self._app.backend.forget(engine_id)

    def close(self) -> None:
        """Nothing: connections are of the Celery app, which is not ours alone."""

    def _connect(self) -> None:
        """Before anything is sent: what cannot be reached has certainly not taken it."""
        try:
            with self._app.pool.acquire(block=True, timeout=_CONNECT_S) as connection:
                connection.ensure_connection(max_retries=1, interval_start=0.1, timeout=_CONNECT_S)
        except Exception as error:
            raise EngineAway(f"{broker_of(self._app)} cannot be reached: {shown(error)}") from None

    def _tells(self, name: str) -> bool:
        """Whether anybody keeps how it ends."""
        if isinstance(self._app.backend, DisabledBackend):
            return False
        known = self._app.tasks.get(name)
        ignored = self._app.conf.task_ignore_result if known is None else known.ignore_result
        return not ignored

    def _check_backend(self) -> None:
        told = str(self._app.conf.result_backend or "")
        if told.startswith(("rpc", "amqp")):
            raise SettingsError(
                f"CeleryEngine: result_backend {told.partition('://')[0]}:// answers only the process that sent, and"
                " another node must be able to ask too; use redis://… or db+…"
            )
        try:
            self._app.backend  # noqa: B018 - it is made when it is asked for, and not connected
        except Exception as error:
            said = " ".join(shown(error).split())
            raise SettingsError(f"CeleryEngine: result_backend: {said}; write it like redis://host:6379/1") from None


def _app_of(given: Celery | str) -> Celery:
    if isinstance(given, Celery):
        return given
    module, colon, attribute = given.partition(":") if isinstance(given, str) else ("", "", "")
    if not (module and colon and attribute):
        raise SettingsError(f"CeleryEngine: {brief(given)} is no Celery app; give it, or name it as module:attribute")
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError as error:
        raise SettingsError(f"CeleryEngine: {given!r} cannot be imported: {error}") from None
    if not isinstance(found, Celery):
        raise SettingsError(f"CeleryEngine: {given!r} is no Celery app, but {brief(found)}")
    return found


def _name_of(call: Call) -> str:
    """The name that workers know: of a task of Celery its own."""
    if isinstance(call.function, CeleryTask):
        return str(call.function.name)
    return call.task


def _iso(call: Call) -> str:
    return iso(floor_ms(call.scheduled_at))


def _status(meta: Mapping[str, Any]) -> Status:
    match str(meta.get("status")):
        case "PENDING":
            return Unknown()
        case "RECEIVED" | "RETRY":
            return Waiting()
        case "SUCCESS":
            return Done(meta.get("result"))
        case "FAILURE":
            return Failed(str(meta.get("traceback") or _error_of(meta.get("result"))))
        case "REVOKED" | "REJECTED" as ended:
            return Failed(_ENDS[ended], cancelled=True)
        case _:  # STARTED, and whatever a task says of its progress
            return Running()


def _error_of(result: object) -> str:
    """Of a failure that has no traceback: it did not come from within the task."""
    if isinstance(result, NotRegistered):
        return f"NotRegistered: the worker that took it has no task {shown(result)}; import its module there"
    return f"{type(result).__name__}: {shown(result)}" if isinstance(result, BaseException) else shown(result)
