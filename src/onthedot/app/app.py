"""The composition root: one object that users make, and everything else hangs on."""

from __future__ import annotations

import asyncio
import getpass
import hashlib
import importlib
import json
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Event as ThreadEvent
from threading import current_thread, main_thread
from typing import Any, ParamSpec, TypeVar, overload

from onthedot.app.modules import modules_of
from onthedot.app.node import DECLARE_MS, NodeRunner, NodeSettings
from onthedot.app.nodes import Nodes
from onthedot.app.options import checked, policy_of
from onthedot.app.routed import routed
from onthedot.app.runs import Runs
from onthedot.app.schedules import Put, Schedules
from onthedot.app.tasks import Task, Tasks
from onthedot.clock import Clock, SystemClock
from onthedot.durations import to_duration_ms
from onthedot.errors import OnthedotError, SettingsError
from onthedot.events import TOPICS, Emitter, Event, Failure, Topic
from onthedot.model.ids import new_id
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.moments import ceil_ms
from onthedot.planner import edits
from onthedot.settings import load_settings
from onthedot.stores.base import By, Store
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import encode

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger("onthedot")


@dataclass(frozen=True, slots=True)
class Synced:
    """What `sync` did."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    pruned: tuple[str, ...] = ()


class App:
    """Tasks and schedules, and the way to run them. Making one touches no store."""

    def __init__(
        self,
        url: str | None = None,
        *,
        timezone: str | None = None,
        include: Sequence[str] = (),
        node: NodeSettings | None = None,
        clock: Clock | None = None,
        store: Store | None = None,
        **defaults: Any,
    ) -> None:
        settings = load_settings({"store": url, "timezone": timezone})
        self.url = settings.store
        self.timezone = settings.timezone
        self.surface = "python"
        """From where changes are made; kept with them."""
        self.include = tuple(include)
        self._clock = clock or SystemClock()
        self._node_settings = node or NodeSettings.of(settings)
        self._defaults = checked(defaults, "App")
        self._given_store = store
        self._stores: dict[int, Store] = {}
        self._emitter = Emitter(self._on_broken_hook)
        self._declared: dict[str, Put] = {}
        self._runner: NodeRunner | None = None
        self._who = f"{_user()}@{socket.gethostname()}"
        self.tasks = Tasks(self.open_store)
        self.schedules = Schedules(
            self.open_store, self.tasks, self._defaults, self.timezone, self._by, emit=self._emitter.emit
        )
        self.runs = Runs(self.open_store, self._clock, self._by)
        self.nodes = Nodes(self.open_store)

    # declaring

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...

    @overload
    def task(
        self, /, *, name: str | None = None, aliases: Sequence[str] = (), **options: Any
    ) -> Callable[[Callable[P, R]], Task[P, R]]: ...

    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        aliases: Sequence[str] = (),
        **options: Any,
    ) -> Any:
        """Register a function as a task. What it gives can still be called as the function."""

        def register(plain: Callable[..., Any]) -> Task[..., Any]:
            return self._task(plain, name, aliases, options)

        return register if function is None else register(function)

    def schedule(
        self, trigger: Trigger, *, name: str | None = None, args: Mapping[str, Any] | None = None, **options: Any
    ) -> Callable[[Callable[P, R]], Task[P, R]]:
        """Declare a schedule for a function, which becomes a task. It is written to the store by `sync`, not here."""

        def declare(function: Callable[P, R]) -> Task[P, R]:
            task = self._task(function, None, (), {})
            schedule_name = name or task.name
            if schedule_name in self._declared and name is None:
                raise SettingsError(f"{task.name!r} has a schedule already; give the second one a name=")
            self._declared[schedule_name] = Put(schedule_name, task, trigger, args, checked(options, schedule_name))
            return task

        return declare

    def _task(
        self,
        function: Callable[P, R] | Task[P, R],
        name: str | None,
        aliases: Sequence[str],
        options: Mapping[str, Any],
    ) -> Task[P, R]:
        if isinstance(function, Task):
            task: Task[P, R] = function
            if options:
                task = replace(task, options={**task.options, **checked(options, task.name)})
        else:
            task_name = name or function.__name__
            task = Task(task_name, function, tuple(aliases), checked(options, task_name))
        self.tasks.add(task)
        return task

    def on(self, topic: Topic) -> Callable[[Callable[[Any], object]], Callable[[Any], object]]:
        """Call the function with each event of that kind. It cannot fail a run."""
        if topic not in TOPICS:
            raise SettingsError(f"no topic {topic!r}; there are {', '.join(TOPICS)}")

        def subscribe(hook: Callable[[Any], object]) -> Callable[[Any], object]:
            self._emitter.subscribe(TOPICS[topic], hook)
            return hook

        return subscribe

    def override(self, *, url: str | None = None, name: str | None = None, workers: int | None = None) -> None:
        """What the command line says counts more than the code; to be called before the store is first used."""
        if url is not None and self._given_store is not None:
            raise SettingsError("the app was made with a store of its own; leave out --store")
        self.url = url or self.url
        node = self._node_settings
        self._node_settings = replace(node, name=name or node.name, capacity=workers or node.capacity)

    # one-off work

    def enqueue(
        self,
        task: str | Task[..., Any],
        *,
        args: Mapping[str, Any] | None = None,
        delay: timedelta | str | None = None,
        at: datetime | str | None = None,
        key: str | None = None,
        connection: Any = None,
        unchecked: bool = False,
        **options: Any,
    ) -> Run:
        """A run of the task, now or later. A key that is known already gives the run that has it."""
        if delay is not None and at is not None:
            raise SettingsError("enqueue: give delay= or at=, not both")
        name, values = self.tasks.checked(task, args, unchecked=unchecked)
        store = self.open_store()
        now_ms = store.now_ms()
        due_ms = ceil_ms(at) if at is not None else now_ms + (0 if delay is None else to_duration_ms(delay))
        local = self.tasks.lookup(name)
        run = Run(
            id=new_id(now_ms),
            task=name,
            cause="enqueue",
            scheduled_ms=due_ms,
            due_ms=due_ms,
            args=values,
            policy=policy_of(self._defaults, {} if local is None else local.options, checked(options, name)),
            key=None if key is None else f"k:{name}:{key}",
        )
        return store.enqueue([routed(run, store)], connection)[0]

    # declared schedules

    def sync(self, *, prune: bool = False) -> Synced:
        """Create what is new, update what was changed in its declaration; an operator's edits and pauses stay."""
        self._import_included()
        store = self.open_store()
        created: list[str] = []
        updated: list[str] = []
        unchanged: list[str] = []
        for name, put in self._declared.items():
            definition = self.schedules.define(put, origin="code")
            definition = replace(definition, declared_hash=_hash(definition))
            held = next(iter(store.schedules(names=[name])), None)
            if held is not None and (
                held.declared_hash == definition.declared_hash or self._is_older(store, held, definition)
            ):
                unchanged.append(name)
                store.change([name], edits.touch_declared(definition.declared_hash), self._by("sync"))
                continue
            store.change([name], edits.put(definition), self._by("sync"))
            (created if held is None else updated).append(name)
        pruned = self._prune_undeclared(store) if prune else ()
        return Synced(tuple(created), tuple(updated), tuple(unchanged), pruned)

    @staticmethod
    def _is_older(store: Store, held: Schedule, definition: edits.Definition) -> bool:
        """Whether the store had this declaration before a later one that live nodes still make.

        Old code must not undo what newer code said; once nobody says that any more, it is a rollback, and counts.
        """
        seen_ms = held.declared_seen_ms
        if seen_ms is None or store.now_ms() - seen_ms > 3 * DECLARE_MS:
            return False
        return any(each.declared_hash == definition.declared_hash for each in store.revisions(held.id))

    def _prune_undeclared(self, store: Store) -> tuple[str, ...]:
        gone = [
            each.name
            for each in store.schedules(limit=1_000_000)
            if each.origin == "code" and each.name not in self._declared
        ]
        for name in gone:
            store.change([name], edits.delete(), self._by("sync --prune"))
        return tuple(gone)

    def _still_declared(self) -> None:
        """Tell the store that the schedules of this code are still meant."""
        for name, put in self._declared.items():
            declared = _hash(self.schedules.define(put, origin="code"))
            self.open_store().change([name], edits.touch_declared(declared), self._by("sync"))

    def _import_included(self) -> None:
        for pattern in self.include:
            for module in modules_of(pattern):
                importlib.import_module(module)

    # running

    def run(self) -> None:
        """Plan and execute until SIGTERM or Ctrl-C, then drain. Needs the main thread."""
        if current_thread() is not main_thread():
            raise OnthedotError("run() handles signals and needs the main thread; elsewhere use start() and stop()")
        stopped = ThreadEvent()
        previous = {
            number: signal.signal(number, lambda *_: stopped.set()) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            self.start()
            while not stopped.wait(0.5):
                if self._runner is not None and self._runner.is_drained:
                    break
        finally:
            self.stop()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def start(self) -> None:
        """Start a node in the background, after `sync`."""
        if self._runner is not None:
            raise OnthedotError("the app is running already; stop() it first")
        self.open_store(create=True)
        self.sync()
        self._runner = NodeRunner(
            self.open_store(create=True),
            self._clock,
            self._emitter,
            self.tasks.lookup,
            lambda: (self.tasks.names(), self.tasks.infos()),
            settings=self._node_settings,
            still_declared=self._still_declared,
        )
        self._runner.start()

    def stop(self) -> bool:
        """Drain and stop the node; whether everything ended in time."""
        runner, self._runner = self._runner, None
        return True if runner is None else runner.stop()

    def running(self) -> Running:
        """`with app.running():` or `async with app.running():`"""
        return Running(self)

    @property
    def runner(self) -> NodeRunner | None:
        """The node of this process, while it runs."""
        return self._runner

    @property
    def node_settings(self) -> NodeSettings:
        """How its nodes behave."""
        return self._node_settings

    @property
    def events(self) -> Emitter:
        """What `on` subscribes to."""
        return self._emitter

    # the store

    def open_store(self, *, create: bool = False, upgrade: bool = False) -> Store:
        """The store, opened on first use in each process."""
        if self._given_store is not None:
            return self._given_store
        store = self._stores.get(os.getpid())
        if store is None:
            from onthedot.stores.open import open_store

            store = self._stores[os.getpid()] = open_store(self.url, create=create, upgrade=upgrade)
        return store

    @contextmanager
    def standing_on(self, store: Store, clock: Clock) -> Iterator[None]:
        """Inside, everything that is asked of this app happens on another store, by another clock: for tests."""
        if self._runner is not None:
            raise OnthedotError("the app is running; stop() it first")
        held = self._given_store, self._clock, self.runs
        self._given_store, self._clock, self.runs = store, clock, Runs(self.open_store, clock, self._by)
        try:
            yield
        finally:
            self._given_store, self._clock, self.runs = held

    def close(self) -> None:
        """Let go of the store in this process; the next call opens it anew."""
        store = self._stores.pop(os.getpid(), None)
        if store is not None:
            store.close()

    def _by(self, what: str) -> By:
        return By(self._who, self.surface, what)

    def _on_broken_hook(self, event: Event, error: Exception) -> None:
        _log.exception("a hook for %s failed", type(event).__name__, exc_info=error)
        if not isinstance(event, Failure):
            self._emitter.emit(Failure("hook", error))


class Running:
    """Starts the app's node at the beginning of a block and drains it at the end."""

    def __init__(self, app: App) -> None:
        self._app = app

    def __enter__(self) -> App:
        self._app.start()
        return self._app

    def __exit__(self, *_: object) -> None:
        self._app.stop()

    async def __aenter__(self) -> App:
        await asyncio.to_thread(self._app.start)
        if self._app.runner is not None:
            self._app.runner.worker.use_loop(asyncio.get_running_loop())
        return self._app

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._app.stop)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return str(os.getuid())


def _hash(definition: edits.Definition) -> str:
    """Of all that a declaration says, so that a change of it can be told from an operator's edit."""
    said = {
        "task": definition.task,
        "trigger": encode(definition.trigger),
        "args": dict(definition.args),
        "policy": definition.policy.as_json(),
        "given": definition.given,
        "tags": definition.tags,
        "mode": definition.mode,
        "max_runs": definition.max_runs,
        "auto_remove": definition.auto_remove,
        "then": definition.then,
        "on_failure": definition.on_failure,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]
