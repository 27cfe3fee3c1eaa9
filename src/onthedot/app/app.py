"""The composition root: one object that users make, and everything else hangs on."""

from __future__ import annotations

import asyncio
import getpass
import importlib
import logging
import multiprocessing
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Lock, current_thread, main_thread
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from onthedot.app.acting import author
from onthedot.app.alerting import AppAlerts
from onthedot.app.alerts import Alerts
from onthedot.app.callables import check_hook
from onthedot.app.declaring import Declaring
from onthedot.app.engines import Engines
from onthedot.app.files import JobFile
from onthedot.app.files.loading import LoadedFile
from onthedot.app.files.watching import FileWatch
from onthedot.app.flow_graphs import Flows
from onthedot.app.flows.flow import Flow
from onthedot.app.flows.policies import check_flow
from onthedot.app.freezes import Freezes
from onthedot.app.importing import refuse_while_importing
from onthedot.app.keys import as_given, key_of_task
from onthedot.app.modules import modules_of
from onthedot.app.nodes import Nodes
from onthedot.app.options import checked_for_runs, checked_node, key_of
from onthedot.app.remedies import did_you_mean
from onthedot.app.running import Running
from onthedot.app.runs import Runs
from onthedot.app.schedules import Schedules
from onthedot.app.statistics import MONTH, Since, asked
from onthedot.app.sync import Declarations, Synced
from onthedot.app.tasks import Task, Tasks
from onthedot.app.telemetry.logs import LOGGER, EventLog, event_logger
from onthedot.app.telemetry.tracing import Asking, Tracing, untraced
from onthedot.app.tokens import Tokens
from onthedot.app.values import Calendars, NamedTriggers
from onthedot.clock import Clock, SystemClock
from onthedot.durations import to_duration_ms
from onthedot.errors import DurationError, MomentError, OnthedotError, SettingsError, TriggerError
from onthedot.events import NAMES, TOPICS, Emitter, Event, Failure, RunStarted, Topic
from onthedot.execution.around import Around, around_of
from onthedot.execution.targets.ping import Ping
from onthedot.forks import leave_alone, notice_fork, tell_of_forks
from onthedot.hooks import LAST_WORDS_MS
from onthedot.insight.minutes import MinuteCounts, read_minutes
from onthedot.insight.statistics import By, Statistics, read_statistics
from onthedot.insight.status import Status, read_status
from onthedot.loop import Loop
from onthedot.model.alert import ping_task
from onthedot.model.change import Author
from onthedot.model.freeze import Freeze
from onthedot.model.ids import new_id
from onthedot.model.run import Run
from onthedot.model.value import Value
from onthedot.moments import ceil_ms
from onthedot.node.settings import NodeSettings
from onthedot.settings import load_settings
from onthedot.signals import Patience, signals_heard
from onthedot.stores.base import Store
from onthedot.stores.retention import MINUTES_KEPT_MS
from onthedot.triggers.pinned import direct_pins
from onthedot.triggers.zones import get_zone

if TYPE_CHECKING:
    from fastapi import FastAPI

    from onthedot.app.aio import AsyncApp
    from onthedot.app.remote import Connection
    from onthedot.app.telemetry.endpoint import Endpoint
    from onthedot.app.telemetry.metrics import Metrics
    from onthedot.node.node import Gauges, NodeRunner

P = ParamSpec("P")
R = TypeVar("R")
AroundT = TypeVar("AroundT", bound=Callable[..., Any])

_LISTEN_MS = 50
_HOUR_MS = 3_600_000

_log = logging.getLogger("onthedot")


class App(Declaring):
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
        metrics_port: int | None = None,
        tracing: bool | None = None,
        token: str | None = None,
        **defaults: Any,
    ) -> None:
        settings = load_settings(
            {
                "store": url,
                "timezone": timezone,
                "metrics_port": metrics_port,
                "tracing": _on_or_off(tracing),
                "token": token,
            }
        )
        self._settings = settings
        self.url = settings.store
        self.timezone = _checked_zone(settings.timezone)
        self.surface = "python"
        """From where changes are made; kept with them."""
        self.include = _checked_include(include)
        self._clock = clock or SystemClock()
        self._node_settings = checked_node(node or NodeSettings.of(settings))
        self._defaults = checked_for_runs(defaults, "App")
        if isinstance(store, str):
            raise SettingsError(f"App: store= takes a store that is open; for a URL write App({store!r})")
        self._given_store = store
        self._store: Store | None = None
        self._opening = Lock()
        self._aio: AsyncApp | None = None
        self._stands_elsewhere = False
        self._emitter = Emitter(self._on_broken_hook)
        self._event_log = EventLog(self._emitter, self._clock)
        self._logs_by_itself = True
        self._arounds: list[Around] = []
        self._runner: NodeRunner | None = None
        self._leaving: NodeRunner | None = None
        """The node while it drains: it is still asked how it stands."""
        self._metrics: Metrics | None = None
        self._endpoint: Endpoint | None = None
        self._who = f"{_user()}@{socket.gethostname()}"
        self._asking: Asking = untraced
        if settings.tracing == "on":
            traces = Tracing()
            self._asking = traces.asking
            self._arounds.append(around_of(traces.around))
        self._alerts = AppAlerts()
        self.engines = Engines()
        self._pings_starts = False
        self._compose()
        self._declared = Declarations(self.open_store, self.schedules, self._by, self.tasks)
        self.calendars.declares = self.triggers.declares = self._declared.add_value
        self._files: list[LoadedFile] = []
        self._watching: Loop | None = None
        tell_of_forks(self)

    def _compose(self) -> None:
        """What hangs on the store; or on an HTTP API, where the URL is of one."""
        self._connection: Connection | None = None
        if _is_http(self.url) and self._given_store is None:
            self._compose_over_http()
            return
        self.tasks = Tasks(self.open_store, self._settings.max_args_bytes)
        self.schedules = Schedules(
            self.open_store,
            self.tasks,
            self._defaults,
            self.timezone,
            self._by,
            emit=self._emitter.emit,
            asking=self._asking,
            alerts=self._alerts,
        )
        self.runs = Runs(self.open_store, self._clock, self._by)
        self.nodes = Nodes(self.open_store, self._by)
        self.alerts = Alerts(self.open_store, self.schedules, self._alerts, self._by)
        self.tokens = Tokens(self.open_store, self._by)
        self.freezes = Freezes(self.open_store, self._by)
        self.flows = Flows(self.open_store, self.tasks)
        self.calendars = Calendars(self.open_store, self._by, self.timezone)
        self.triggers = NamedTriggers(self.open_store, self._by, self.timezone)

    def _compose_over_http(self) -> None:
        from onthedot.app import remote

        connection = self._connection = remote.Connection(self.url, self._settings.token or None)
        self.tasks = remote.RemoteTasks(connection, self._settings.max_args_bytes)
        self.schedules = remote.RemoteSchedules(connection, self.timezone, self._emitter.emit)
        self.runs = remote.RemoteRuns(connection, self._clock)
        self.nodes = remote.RemoteNodes(connection)
        self.alerts = remote.RemoteAlerts(connection)
        self.tokens = remote.RemoteTokens(connection)
        self.freezes = remote.RemoteFreezes(connection)
        self.flows = remote.RemoteFlows(connection)
        self.calendars = remote.RemoteCalendars(connection)
        self.triggers = remote.RemoteNamedTriggers(connection, self.timezone)

    def on(self, topic: Topic) -> Callable[[Callable[[Any], object]], Callable[[Any], object]]:
        """Call the function with each event of that kind, in order, in a thread of its own. It can neither fail a run
        nor hold it up: one that is slower than what happens misses events, which is logged and counted.
        """
        if topic not in TOPICS:
            raise SettingsError(f"app.on: no topic {topic!r}; {did_you_mean(str(topic), TOPICS)}")

        def take(hook: Callable[[Any], object]) -> Callable[[Any], object]:
            check_hook(hook, f"app.on({topic!r})")
            self._emitter.hook(TOPICS[topic], hook)
            return hook

        return take

    def override(
        self,
        *,
        url: str | None = None,
        name: str | None = None,
        workers: int | None = None,
        metrics_port: int | None = None,
        tune_gc: bool | None = None,
    ) -> None:
        """What the command line says counts more than the code; to be called before the store is first used."""
        if url is not None and self._given_store is not None:
            raise SettingsError("the app was made with a store of its own; leave out --store")
        if url is not None and _is_http(url):
            raise SettingsError(f"{url} is an HTTP API, not a database: an app with tasks of its own needs a database")
        self.url = url or self.url
        node = self._node_settings
        tuned = node.tune_gc if tune_gc is None else tune_gc
        changed = replace(node, name=name or node.name, capacity=workers or node.capacity, tune_gc=tuned)
        self._node_settings = checked_node(changed)
        if metrics_port is not None:
            self._settings = replace(self._settings, metrics_port=metrics_port)

    def override_node(self, given: Mapping[str, str | None]) -> None:
        """Group, roles and drain of the node, as text; what is None stays as it was."""
        settings = load_settings(given)
        said = {name for name, value in given.items() if value is not None}
        node = self._node_settings
        changed = replace(
            node,
            group=settings.group if "group" in said else node.group,
            roles=settings.role_names if "roles" in said else node.roles,
            drain_ms=settings.drain_ms if "drain" in said else node.drain_ms,
        )
        self._node_settings = checked_node(changed)

    # telling

    def log_events(self, logger: logging.Logger | None = None, *, log_format: str | None = None) -> None:
        """Make a record of the standard `logging` module of each event, as text or JSON; the setting `log_format` else.

        DEBUG is what happens all the time. The logger is "onthedot.events" unless one is given. This takes the place of
        what a node logs by itself.
        """
        from onthedot.stores.open import mask_url

        form = load_settings({"log_format": log_format}).log_format
        log = event_logger(logger or logging.getLogger(LOGGER), mask_url(self.url), form, self._clock)
        for kind in TOPICS.values():
            self._emitter.hook(kind, log)  # handlers of logging are the user's, and may block
        self._logs_by_itself = False

    @property
    def metrics(self) -> Metrics:
        """The Prometheus metrics of this app, counted from the first time that they are asked for."""
        if self._metrics is None:
            from onthedot.app.telemetry.metrics import Metrics

            by_schedule = self._settings.metrics_by == "schedule"
            self._metrics = Metrics(self._emitter, self._gauges, by_schedule=by_schedule)
        return self._metrics

    def _serve_metrics(self) -> None:
        host, port = self._settings.metrics_host, self._settings.metrics_port
        if port:
            from onthedot.app.telemetry.endpoint import Endpoint

            self._endpoint = Endpoint(host, port, self.metrics, self._is_healthy)

    def _gauges(self) -> Gauges | None:
        runner = self._runner or self._leaving
        return None if runner is None else runner.gauges()

    def _is_healthy(self) -> bool:
        runner = self._runner or self._leaving
        return runner is not None and runner.is_healthy

    # one-off work

    def enqueue(
        self,
        /,
        task: str | Task[..., Any] | Flow[...],
        *,
        args: Mapping[str, Any] | None = None,
        delay: timedelta | str | None = None,
        at: datetime | str | None = None,
        key: str | None = None,
        connection: Any = None,
        unchecked: bool = False,
        **options: Any,
    ) -> Run:
        """A run of the task or flow, now or later. A key that is known already gives the run that has it."""
        _refuse_both(delay, at)
        if self._connection is not None:
            from onthedot.app.remote import enqueue

            _refuse_over_http(connection, unchecked=unchecked)
            return enqueue(self._connection, task, args=args, delay=delay, at=at, key=key, options=options)
        run, _ = self.prepared(
            task, args=args, delay=delay, at=at, key=key, unchecked=unchecked, connection=connection, **options
        )
        return as_given(self._enqueue(self.open_store(), run, connection))

    def prepared(
        self,
        task: str | Task[..., Any] | Flow[...],
        *,
        args: Mapping[str, Any] | None = None,
        delay: timedelta | str | None = None,
        at: datetime | str | None = None,
        key: str | None = None,
        connection: Any = None,
        unchecked: bool = False,
        now_ms: int | None = None,
        **options: Any,
    ) -> tuple[Run, Author | None]:
        """What `enqueue` writes, checked, and in whose name: for those who write many at once, and know the time."""
        _refuse_both(delay, at)
        name, values = self.tasks.checked(task, args, unchecked=unchecked)
        now_ms = self.open_store().now_ms() if now_ms is None else now_ms
        due_ms = _due_ms(now_ms, delay, at)
        local = self.tasks.find(name)
        policy = self.tasks.policy_of(name, self._defaults, checked_for_runs(options, name), unchecked=unchecked)
        graph = self.tasks.graph_of(name)
        if graph is not None:
            check_flow(name, local, options, policy)
            self.tasks.save_graphs(name, unchecked=unchecked, connection=connection)
        with self._asking(name, None) as trace:
            run = Run(
                id=new_id(now_ms),
                task=name,
                cause="enqueue",
                scheduled_ms=due_ms,
                due_ms=due_ms,
                args=values,
                policy=policy,
                graph=graph,
                key=None if key is None else key_of_task(name, key_of(key, "enqueue: key")),
                trace=trace,
            )
        return run, author("enqueue")

    def _enqueue(self, store: Store, run: Run, connection: Any) -> Run:
        """Keep a run that was asked for; a door to a framework may wait for that framework's commit."""
        return store.enqueue([run], connection, author("enqueue"))[0]

    @property
    def aio(self) -> AsyncApp:
        """The same names, awaited, for programs with an event loop: `await app.aio.enqueue(…)`."""
        if self._aio is None:
            from onthedot.app.aio import AsyncApp

            with self._opening:
                self._aio = self._aio or AsyncApp(self)
        return self._aio

    # freezes

    def freeze(
        self, name: str, start: datetime | str, end: datetime | str, *, where: Mapping[str, str] | None = None
    ) -> Freeze:
        """From `start` up to `end` no tick of these schedules becomes a run: see `Freezes.put`."""
        return self.freezes.put(name, start, end, where=where)

    # how it stands

    def status(self) -> Status:
        """Whether all is well, what is late, what failed lately and who is alive."""
        return read_status(self.open_store())

    def lateness(
        self, first: datetime | str | None = None, last: datetime | str | None = None
    ) -> Sequence[MinuteCounts]:
        """How many runs began and ended in each minute from `first` up to `last`, and how late they began; the last
        hour, if left out, a week at most."""
        end_ms = self.open_store().now_ms() if last is None else ceil_ms(last)
        first_ms = end_ms - _HOUR_MS if first is None else ceil_ms(first)
        if not first_ms < end_ms <= first_ms + MINUTES_KEPT_MS:
            raise MomentError("lateness: the end must be later than the beginning, by 7 days at most")
        return read_minutes(self.open_store(), first_ms, end_ms)

    def statistics(
        self,
        *,
        schedule: str | None = None,
        task: str | None = None,
        step: str = "",
        since: Since = MONTH,
        by: By | None = None,
        timezone: str | None = None,
    ) -> Statistics:
        """How runs ended that ended since then (30 days, if left out): how many and how, how late they began and how
        long they took, what went wrong, and the same of each hour or day.

        Of a schedule, also of one step of a flow; of the runs that a task has without a schedule; or of everything.
        Days are those of `timezone`, which is the app's if left out. `ScheduleNotFound`.
        """
        zone = timezone or self.timezone
        wanted = asked(self.now_ms(), zone, schedule=schedule, task=task, step=step, since=since, by=by)
        if self._connection is not None:
            from onthedot.app.remote.statistics import statistics

            return statistics(self._connection, wanted, zone)
        found = read_statistics(self.open_store(), wanted)
        if schedule is not None and not found.counts.total:
            self.schedules.get(schedule)  # one that was deleted may have been counted
        return found

    # declared schedules

    def sync(self, *, prune: bool = False) -> Synced:
        """Create what is new, update what was changed in its declaration; an operator's edits and pauses stay."""
        self._import_included()
        refused = [problem for file in self._files for problem in file.refused]
        if prune and refused:
            raise SettingsError(f"prune might delete what stands in lines that cannot be read; mend them: {refused[0]}")
        return self._declared.sync(prune=prune)

    def load_file(self, path: str | os.PathLike[str]) -> JobFile:
        """Declare the schedules of a jobs.toml or crontab, its commands and HTTP calls as tasks; `FileError` if wrong.

        A line of a crontab that is wrong is left out alone, logged, and among `refused` of what this gives.
        A node that is started looks at the file once a second, and takes what it says then.
        """
        loaded = LoadedFile(
            path,
            self.tasks,
            self.schedules,
            self._declared,
            arounds=self._arounds,
            alerts=self._alerts,
            values={"calendar": self.calendars, "trigger": self.triggers},
            engines=self.engines,
        )
        job_file = loaded.load()
        self._files.append(loaded)
        return job_file

    def values_in_use(self) -> Sequence[Value]:
        """The calendars and named triggers that declared schedules use and that only the store knows: for tests."""
        uses, store = self._declared.uses(), self.open_store
        found = [value for use in sorted(uses) for value in store().values(use)]
        calendars = {each.use for value in found for each in direct_pins(value.content.get("trigger"))} - uses
        return [*found, *(value for use in sorted(calendars) for value in store().values(use))]

    def named_tasks(self) -> Sequence[tuple[str, str]]:
        """The schedules that are declared here, each with the name of its task, which another node may have."""
        return [*self._declared.tasks()]

    def _watch_files(self) -> None:
        if self._files:
            watch = FileWatch(self._files, self._resync, self._emitter.emit)
            self._watching = Loop("files", watch.run_once, self._clock, self._on_failure)
            self._watching.start()

    def _hear_starts(self) -> None:
        """Beginnings of runs are listened to only where somebody wants to be pinged of them."""
        wanted = (task.function for task in self.tasks.own(ping_task("")) if isinstance(task.function, Ping))
        if not self._pings_starts and any("start" in each.urls for each in wanted):
            self._pings_starts = True
            self._emitter.hook(RunStarted, self._ping_start)

    def _ping_start(self, started: RunStarted) -> None:
        """In the hook's own thread: as well as it goes, and never in the way of the run."""
        task = None if started.schedule is None else self.tasks.lookup(ping_task(started.schedule))
        if task is not None and isinstance(task.function, Ping):
            task.function.tell_of_start()

    def _resync(self) -> Synced:
        self._hear_starts()
        if self._runner is not None:
            self._runner.publish_tasks()
        return self._declared.sync()

    def _declare_again(self) -> None:
        """The node had lost its lease, perhaps with all that the store held."""
        self._declared.sync()

    def _on_failure(self, stage: str, error: BaseException) -> None:
        self._emitter.emit(Failure(stage, error))

    def _import_included(self) -> None:
        for pattern in self.include:
            for module in modules_of(pattern):
                _import(module)

    # running

    def run(self, *, log: bool = True) -> None:
        """Plan and execute until SIGTERM or Ctrl-C, then drain. Needs the main thread.

        A second Ctrl-C hands back what still runs, a third ends the process at once. `log`: see `start`.
        """
        refuse_while_importing("app.run()")
        if current_thread() is not main_thread():
            raise OnthedotError("run() handles signals and needs the main thread; elsewhere use start() and stop()")
        patience = Patience("ended at once: others begin what ran here anew when its lease is over")
        with signals_heard(signal.SIGTERM, signal.SIGINT, at_once=patience) as next_signal:
            try:
                self.start(log=log)
                while next_signal(500) is None:
                    if self._runner is not None and self._runner.is_drained:
                        break
            finally:
                self._stop_and_listen(next_signal)

    def _stop_and_listen(self, next_signal: Callable[[int], int | None]) -> None:
        """Stop in another thread: this one hears whether somebody is in a hurry."""
        runner = self._runner
        with ThreadPoolExecutor(1, "onthedot-stop") as thread:
            stopping = thread.submit(self.stop)
            while not stopping.done():
                if next_signal(_LISTEN_MS) == signal.SIGINT and runner is not None:
                    runner.hurry()
        stopping.result()

    def start(self, *, loop: asyncio.AbstractEventLoop | None = None, log: bool = True) -> None:
        """Start a node in the background, after `sync`. `async def` tasks run on the loop, or on one of our own.

        What goes wrong, and what is worth knowing, is logged by the standard `logging` module, unless `log` is False.
        """
        refuse_while_importing("app.start()")
        notice_fork()
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise OnthedotError(
                "a process for tasks has imported this program, and must not start a node of its own:"
                ' put what runs the app below `if __name__ == "__main__":`'
            )
        if self._runner is not None:
            raise OnthedotError("the app is running already; stop() it first")
        if self._stands_elsewhere:
            raise OnthedotError("inside simulate() and inline() no node may be started: time passes only by hand there")
        self._serve_metrics()
        try:
            self._begin_log(log)
            self._start(loop)
        except BaseException:
            self._event_log.end()
            self._close_endpoint()
            raise

    def _begin_log(self, log: bool) -> None:
        from onthedot.stores.open import mask_url

        if log and self._logs_by_itself:
            self._event_log.begin(mask_url(self.url))

    def _start(self, loop: asyncio.AbstractEventLoop | None) -> None:
        from onthedot.node.node import NodeRunner  # a program that only asks or enqueues never needs one

        self.open_store(create=True)
        self.sync()
        self._hear_starts()
        self._runner = NodeRunner(
            self.open_store(create=True),
            self._clock,
            self._emitter,
            self.tasks.lookup,
            lambda: (self.tasks.names(), self.tasks.infos()),
            settings=self._node_settings,
            declare=self._declared.touch,
            declare_again=self._declare_again,
            engines=self.engines,
        )
        if loop is not None:
            self._runner.worker.use_loop(loop)
        self._runner.start()
        self._watch_files()

    def stop(self) -> bool:
        """Drain and stop the node; whether everything ended in time."""
        runner, self._runner = self._runner, None
        if runner is None:
            return True
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.stop()
            watching.join(5)  # it may be waiting for a store that is away
        self._leaving = runner
        try:
            return runner.stop()
        finally:
            self._leaving = None
            self._event_log.end()
            if not self._emitter.drain(LAST_WORDS_MS):
                _log.warning("some hooks have not ended: the node has stopped without them")
            self._close_endpoint()

    def _close_endpoint(self) -> None:
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            endpoint.close()

    def running(self, *, log: bool = True) -> Running:
        """`with app.running():` or `async with app.running():`; `log`: see `start`."""
        return Running(self, log=log)

    @property
    def runner(self) -> NodeRunner | None:
        """The node of this process, while it runs."""
        return self._runner

    @property
    def node_settings(self) -> NodeSettings:
        """How its nodes behave."""
        return self._node_settings

    @property
    def clock(self) -> Clock:
        """By which it waits."""
        return self._clock

    @property
    def events(self) -> Emitter:
        """What `on` subscribes to."""
        return self._emitter

    # other surfaces

    def web(self, *, hosts: Sequence[str] | None = None, **settings: Any) -> FastAPI:
        """The HTTP API as an ASGI app, to be served, or mounted in a FastAPI or Starlette app of yours.

        It needs tokens, `app.tokens.create`, or `auth=`, which gets a request and gives a name and a role, or None.
        `hosts` are the names by which it may be called, where nobody before it looks at them; the other settings are
        those of `onthedot.web.WebSettings`.
        """
        # By its name: what lies above this layer is not imported by it.
        above = importlib.import_module("onthedot.web")
        chosen = None if hosts is None else tuple(hosts)
        try:
            web: FastAPI = above.make_web(self, above.WebSettings(hosts=chosen, **settings))
        except TypeError as error:
            raise SettingsError(f"app.web: {error}") from None
        return web

    # the store

    def open_store(self, *, create: bool = False, upgrade: bool = False) -> Store:
        """The store, opened on first use in each process; an app over HTTP has none."""
        if self._connection is not None:
            return self._connection.no_store()
        if self._given_store is not None:
            return self._given_store
        notice_fork()
        store = self._store
        if store is None:
            from onthedot.stores.open import open_store

            with self._opening:
                store = self._store = self._store or open_store(self.url, create=create, upgrade=upgrade)
        return store

    @property
    def connection(self) -> Connection | None:
        """To the HTTP API that this app works on; None for one that has a store."""
        return self._connection

    def now_ms(self) -> int:
        """The store's time; over HTTP to the second, as its last answer said."""
        return self.open_store().now_ms() if self._connection is None else self._connection.time_ms()

    @contextmanager
    def standing_on(self, store: Store, clock: Clock) -> Iterator[None]:
        """Inside, everything that is asked of this app happens on another store, by another clock: for tests."""
        if self._runner is not None:
            raise OnthedotError("the app is running; stop() it first")
        held = self._given_store, self._clock, self.runs
        self._given_store, self._clock, self.runs = store, clock, Runs(self.open_store, clock, self._by)
        self._stands_elsewhere = True
        try:
            with self._emitter.in_step():
                yield
        finally:
            self._given_store, self._clock, self.runs = held
            self._stands_elsewhere = False

    def close(self) -> None:
        """Let go of the store in this process; the next call opens it anew."""
        if self._aio is not None:
            self._aio.close()
        if self._connection is not None:
            self._connection.close()
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def after_fork(self) -> None:
        """For `onthedot.forks`: in a child process nothing runs, and nothing is open; `start` starts a node of its own.

        The parent's node goes on in the parent, with its connections.
        """
        leave_alone(self._runner, self._leaving, self._watching, self._store)
        self._runner = self._leaving = self._watching = self._store = None
        self._opening = Lock()
        self._event_log.after_fork()
        if self._aio is not None:
            self._aio.after_fork()
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            endpoint.after_fork()

    def _by(self, what: str) -> Author:
        return author(what) or Author(self._who, self.surface, what)

    def _on_broken_hook(self, event: Event, error: BaseException) -> None:
        if isinstance(event, Failure) or not self._event_log.is_on:
            _log.error("a hook for %s failed", type(event).__name__, exc_info=error)
        if not isinstance(event, Failure):
            self._emitter.emit(Failure(f"hook for {NAMES[type(event)]}", error))


def _is_http(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _due_ms(now_ms: int, delay: timedelta | str | None, at: datetime | str | None) -> int:
    try:
        if at is not None:
            return ceil_ms(at)
        return now_ms + (0 if delay is None else to_duration_ms(delay))
    except DurationError as error:
        raise DurationError(f"enqueue: delay: {error}") from None
    except MomentError as error:
        raise MomentError(f"enqueue: at: {error}") from None


def _refuse_over_http(connection: Any, *, unchecked: bool) -> None:
    if connection is not None:
        raise SettingsError("enqueue: a transaction of yours does not reach over HTTP; leave out connection")
    if unchecked:
        raise SettingsError("enqueue: over HTTP only tasks that a node has declared can be named; leave out unchecked")


def _refuse_both(delay: object, at: object) -> None:
    if delay is not None and at is not None:
        raise SettingsError("enqueue: give delay= or at=, not both")


def _on_or_off(value: bool | None) -> str | None:
    return None if value is None else "on" if value else "off"


def _checked_zone(name: str) -> str:
    try:
        get_zone(name)
    except TriggerError as error:
        raise SettingsError(f"timezone: {error.line}") from None
    return name


def _checked_include(include: Sequence[str]) -> tuple[str, ...]:
    if isinstance(include, str):
        raise SettingsError(f"App: include= takes a list of modules: [{include!r}]")
    return tuple(include)


def _import(module: str) -> None:
    """What a module itself raises is its own matter."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise SettingsError(f"include: there is no module {error.name!r}") from None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return str(os.getuid())
