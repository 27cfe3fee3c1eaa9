"""What users call: `app.aio` and its parts. Each method has the signature of the one that it stands for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from onthedot.app.aio.awaited import awaited, awaited_by
from onthedot.app.aio.batches import Batches
from onthedot.app.aio.calls import Calls
from onthedot.app.aio.lending import lent
from onthedot.app.aio.waits import Waits
from onthedot.app.alerts import Alerts
from onthedot.app.app import App
from onthedot.app.flow_graphs import Flows
from onthedot.app.freezes import Freezes
from onthedot.app.nodes import Nodes
from onthedot.app.runs import Runs
from onthedot.app.schedules import Schedules
from onthedot.app.tasks import Tasks
from onthedot.app.tokens import Tokens
from onthedot.app.values import Calendars, NamedTriggers
from onthedot.errors import SettingsError
from onthedot.model.log_line import LogLine
from onthedot.model.run import Run

_FOLLOW_S = 0.5


class Part:
    """Stands for one of the things that hang on an app."""

    def __init__(self, app: App, calls: Calls, name: str) -> None:
        self._app = app
        self._name = name
        self.calls = calls

    def part(self) -> Any:
        return getattr(self._app, self._name)


class AsyncRuns(Part):
    """`app.runs`, awaited."""

    def __init__(self, app: App, calls: Calls, waits: Waits) -> None:
        super().__init__(app, calls, "runs")
        self.wait = waits.wait

    get = awaited(Runs.get)
    list = awaited(Runs.list)
    report = awaited(Runs.report)
    story = awaited(Runs.story)
    cancel = awaited(Runs.cancel)
    retry = awaited(Runs.retry)
    log_page = awaited(Runs.log_page)
    logs = awaited(Runs.logs)

    async def follow(self, run_id: str) -> AsyncIterator[LogLine]:
        """What the run says, line by line as it comes, until the run has ended."""
        shown = 0
        while True:
            ended = (await self.get(run_id)).is_final  # asked first: what was said before the end is then all there
            while lines := await self.log_page(run_id, after=shown):
                for line in lines:
                    yield line
                shown += len(lines)
            if ended:
                return
            await asyncio.sleep(_FOLLOW_S)


class AsyncSchedules(Part):
    """`app.schedules`, awaited."""

    put = awaited(Schedules.put)
    put_many = awaited(Schedules.put_many)
    take = awaited(Schedules.take)
    update = awaited(Schedules.update)
    pause = awaited(Schedules.pause)
    resume = awaited(Schedules.resume)
    matching = awaited(Schedules.matching)
    reschedule = awaited(Schedules.reschedule)
    skip_next = awaited(Schedules.skip_next)
    trigger = awaited(Schedules.trigger)
    trigger_all = awaited(Schedules.trigger_all)
    trigger_each = awaited(Schedules.trigger_each)
    backfill = awaited(Schedules.backfill)
    delete = awaited(Schedules.delete)
    pause_counted = awaited(Schedules.pause_counted)
    resume_counted = awaited(Schedules.resume_counted)
    delete_counted = awaited(Schedules.delete_counted)
    each_counted = awaited(Schedules.each_counted)
    get = awaited(Schedules.get)
    get_many = awaited(Schedules.get_many)
    remembered = awaited(Schedules.remembered)
    list = awaited(Schedules.list)
    ticks = awaited(Schedules.ticks)
    beads = awaited(Schedules.beads)
    next = awaited(Schedules.next)
    held = awaited(Schedules.held)
    explain = awaited(Schedules.explain)
    changes = awaited(Schedules.changes)
    preview = awaited(Schedules.preview)
    export = awaited(Schedules.export)
    import_document = awaited(Schedules.import_document)


class AsyncNodes(Part):
    """`app.nodes`, awaited."""

    list = awaited(Nodes.list)
    gone = awaited(Nodes.gone)
    load = awaited(Nodes.load)
    pools = awaited(Nodes.pools)
    drain = awaited(Nodes.drain)
    forget = awaited(Nodes.forget)


class AsyncTasks(Part):
    """`app.tasks`, as far as it asks the store, awaited."""

    list = awaited(Tasks.list)


class AsyncAlerts(Part):
    """`app.alerts`, awaited."""

    list = awaited(Alerts.list)
    of = awaited(Alerts.of)
    test = awaited(Alerts.test)


class AsyncFreezes(Part):
    """`app.freezes`, awaited."""

    put = awaited(Freezes.put)
    list = awaited(Freezes.list)
    get = awaited(Freezes.get)
    thaw = awaited(Freezes.thaw)


class AsyncFlows(Part):
    """`app.flows`, awaited."""

    list = awaited(Flows.list)
    get = awaited(Flows.get)
    of_run = awaited(Flows.of_run)


class AsyncTokens(Part):
    """`app.tokens`, awaited."""

    create = awaited(Tokens.create)
    list = awaited(Tokens.list)
    revoke = awaited(Tokens.revoke)
    check = awaited(Tokens.check)


class AsyncCalendars(Part):
    """`app.calendars`, awaited."""

    put = awaited(Calendars.put)
    get = awaited(Calendars.get)
    list = awaited(Calendars.list)
    delete = awaited(Calendars.delete)
    users = awaited(Calendars.users)


class AsyncNamedTriggers(Part):
    """`app.triggers`, awaited."""

    put = awaited(NamedTriggers.put)
    get = awaited(NamedTriggers.get)
    list = awaited(NamedTriggers.list)
    delete = awaited(NamedTriggers.delete)
    users = awaited(NamedTriggers.users)


class AsyncApp:
    """`app.aio`. May be used from any number of loops, also at once."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.calls = calls = Calls()
        self._batches = Batches(app, calls)
        self._waits = Waits(app)
        self.runs = AsyncRuns(app, calls, self._waits)
        self.schedules = AsyncSchedules(app, calls, "schedules")
        self.nodes = AsyncNodes(app, calls, "nodes")
        self.tasks = AsyncTasks(app, calls, "tasks")
        self.alerts = AsyncAlerts(app, calls, "alerts")
        self.freezes = AsyncFreezes(app, calls, "freezes")
        self.flows = AsyncFlows(app, calls, "flows")
        self.tokens = AsyncTokens(app, calls, "tokens")
        self.calendars = AsyncCalendars(app, calls, "calendars")
        self.triggers = AsyncNamedTriggers(app, calls, "triggers")

    def part(self) -> App:
        """The app itself."""
        return self._app

    freeze = awaited(App.freeze)
    status = awaited(App.status)
    lateness = awaited(App.lateness)
    statistics = awaited(App.statistics)
    sync = awaited(App.sync)
    stop = awaited(App.stop)
    now_ms = awaited(App.now_ms)

    async def start(self, *, log: bool = True) -> None:
        """Start a node in the background; `async def` tasks run on this loop."""
        await self.calls.call(self._app.start, loop=asyncio.get_running_loop(), log=log)

    async def _enqueue(self, *args: Any, connection: Any = None, **options: Any) -> Run:
        if connection is None:
            return await self._batches.add(*args, **options)
        if self._app.connection is not None:
            raise SettingsError("enqueue: a transaction of yours does not reach over HTTP; leave out connection")
        return await lent(connection, lambda plain: self._app.enqueue(*args, connection=plain, **options))

    def close(self) -> None:
        """Wait until all that was asked for is done, and end the threads; the next call makes new ones."""
        self._waits.close()
        self.calls.close()

    def after_fork(self) -> None:
        """For `App.after_fork`."""
        self._waits.after_fork()
        self._batches.after_fork()
        self.calls.after_fork()

    enqueue = awaited_by(App.enqueue, _enqueue)
