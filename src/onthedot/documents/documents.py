"""`Documents`: a collection or table of the user's own, worked as a queue in place."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Lock, Thread, current_thread, get_ident, main_thread
from typing import Any, TypeVar, Unpack

from onthedot.clock import Clock, SystemClock
from onthedot.documents.crew import Crew
from onthedot.documents.handler import Caller, Handler
from onthedot.documents.held import Held, Holdings, Renewer
from onthedot.documents.hooks import Hooks, Idled, Started, Stopped
from onthedot.documents.jobs import Change
from onthedot.documents.locking import Locker
from onthedot.documents.options import Options, read_options
from onthedot.documents.recording import Recorder
from onthedot.documents.sources import open_source
from onthedot.documents.stopping import LOOK_MS, Stopping
from onthedot.documents.working import Outcome, Working
from onthedot.durations import to_duration_ms
from onthedot.errors import OnthedotError, SettingsError
from onthedot.loop import Loop
from onthedot.signals import Patience, signals_heard

_LONGEST_UNWRITTEN_MS = 1000
H = TypeVar("H", bound=Callable[..., object])


class Documents:
    """Calls `on_document` for each document whose `sleep_until` has come, once among all workers on all machines.

    `source` is a pymongo collection, a SQLAlchemy table or mapped class (with `engine=`), or a `JobStore`. `condition`
    is a filter of MongoDB or a SQL expression: other documents are left alone. See `Options` for the rest.
    """

    def __init__(
        self,
        source: Any,
        *,
        condition: Any = None,
        engine: Any = None,
        clock: Clock | None = None,
        on_document: Handler | None = None,
        on_start: Callable[[], object] | None = None,
        on_stop: Callable[[], object] | None = None,
        on_idle: Callable[[], object] | None = None,
        on_error: Callable[[BaseException, Any], object] | None = None,
        **options: Unpack[Options],
    ) -> None:
        fields, self._pace = read_options(options)
        self._clock = clock or SystemClock()
        self._store = open_source(source, engine, fields, condition, self._clock)
        self._hooks = Hooks()
        self._caller: Caller | None = None
        self._crew: Crew | None = None
        self._loop: Loop | None = None
        self._renewal: Loop | None = None
        self._stopping: Stopping | None = None
        self._holdings = Holdings()
        self._locker = Locker(self._store, self._holdings, self._pace.lock_duration, self._clock)
        self._renewer = Renewer(self._store, self._holdings, self._pace.lock_duration, self._clock)
        self._recorder = Recorder(self._store, self._clock, self._hooks, self._holdings)
        self._starting = Lock()
        self._stopped = Event()
        self._stopped.set()
        self._loop_ident: int | None = None
        self._renewal_ident: int | None = None
        self._is_idle = False
        self._look_again_ms = 0
        given = (on_document, self.on_document), (on_start, self.on_start), (on_stop, self.on_stop)
        for hook, take in (*given, (on_idle, self.on_idle), (on_error, self.on_error)):
            if hook is not None:
                take(hook)

    # what the user is called for; each of these is a decorator, too

    def on_document(self, handler: H) -> H:
        """Work one document, which it is given as the collection or table has it (a row as a dict); plain or async.

        If it raises, the error is kept on the document, which is worked again at its next tick or when its lock is
        over, whichever is sooner.
        """
        if self._caller is not None:
            raise SettingsError("there is an on_document already: a document is worked by one handler")
        self._caller = Caller(handler)
        return handler

    def on_start(self, hook: H) -> H:
        """Called without arguments when this process begins to look for documents."""
        self._hooks.call(Started, hook)
        return hook

    def on_stop(self, hook: H) -> H:
        """Called without arguments when the last document was worked and written."""
        self._hooks.call(Stopped, hook)
        return hook

    def on_idle(self, hook: H) -> H:
        """Called without arguments when nothing is due and nothing is worked here; once per idle period."""
        self._hooks.call(Idled, hook)
        return hook

    def on_error(self, hook: H) -> H:
        """Called with the error and the document, or None where it is the store that failed."""
        self._hooks.call_with_error(hook)
        return hook

    @property
    def is_running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._loop is not None

    @property
    def is_processing(self) -> bool:
        """Whether a handler is at work in this process."""
        return self._crew is not None and self._crew.working > 0

    @property
    def is_idle(self) -> bool:
        """Whether it runs, and found nothing to do when it last looked."""
        return self.is_running and self._is_idle

    # living

    def run(self) -> None:
        """Work documents until SIGTERM or Ctrl-C, then finish those at hand. Needs the main thread.

        A second Ctrl-C does not wait for them: they are worked again when their locks are over. A third ends the
        process at once.
        """
        if current_thread() is not main_thread():
            raise OnthedotError("run() handles signals and needs the main thread; elsewhere use start() and stop()")
        patience = Patience("ended at once: what was worked here is worked again when its lock is over")
        with signals_heard(signal.SIGTERM, signal.SIGINT, at_once=patience) as next_signal:
            self.start()
            try:
                while self.is_running and next_signal(500) is None:
                    pass
            finally:
                self._stop_and_listen(next_signal)

    def _stop_and_listen(self, next_signal: Callable[[int], int | None]) -> None:
        """Stop in another thread: this one hears whether somebody is in a hurry."""
        with ThreadPoolExecutor(1, "onthedot-documents-stop") as thread:
            stopping = thread.submit(self.stop)
            while not stopping.done():
                if next_signal(LOOK_MS) == signal.SIGINT and self._stopping is not None:
                    self._stopping.hurry()
        stopping.result()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Work documents in the background while the block is open."""
        self.start()
        try:
            yield
        finally:
            self.stop()

    def start(self) -> None:
        """Work documents in threads of this process, until `stop`."""
        with self._starting:
            self._refuse_running()
            loop = Loop("documents", self._pass, self._clock, lambda _, error: self._hooks.fail(error))
            self._crew = Crew(self._pace.workers, self._worker(), self._pace.next_delay, self._clock, loop.wake)
            self._is_idle, self._look_again_ms = False, 0
            self._holdings.clear()
            self._loop = loop
            self._stopped.clear()
        self._hooks.emit(Started())
        self._crew.start()
        self._renewal = self._start_renewal()
        loop.start()

    def stop(self, wait: timedelta | str = "30s") -> bool:
        """Begin no further document, and wait so long for those that have begun; whether all of them have ended.

        What had not begun is free for others at once; what does not end in time is worked again when its lock is over.
        Called by a handler or a hook it cannot wait: it returns False at once and is done by another thread.
        """
        wait_ms = to_duration_ms(wait)
        if self._is_inside():
            Thread(target=self.stop, args=(wait,), name="onthedot-documents-stop").start()
            return False
        with self._starting:
            loop, crew, self._loop = self._loop, self._crew, None
        if loop is None or crew is None:
            return self._clock.wait(self._stopped, wait_ms)  # by who was faster, or it never ran
        try:
            return self._end(loop, crew, wait_ms)
        finally:
            self._stopped.set()

    def _end(self, loop: Loop, crew: Crew, wait_ms: int) -> bool:
        self._stopping = stopping = Stopping(crew, self._clock)
        loop.stop()
        loop.join()
        self._loop_ident = None  # the system gives the number to other threads
        not_begun = crew.stop()
        all_ended = stopping.wait(wait_ms)
        handed_back = [(held, Change(held.job, held.job.sleep_until)) for held in not_begun]
        self._recorder.record([*crew.take_outcomes(), *handed_back])
        if self._renewal is not None:
            self._end_renewal(self._renewal)
        if all_ended:
            self._handler().close()
        self._hooks.emit(Stopped())
        return all_ended

    def run_once(self, limit: int = 100) -> int:
        """Work up to so many documents that are due now, one after the other in this thread; how many it were."""
        self._refuse_running()
        work = self._worker()
        jobs = self._locker.lock_due(limit)
        if jobs:
            self._work_here(jobs, work)
        return len(jobs)

    def _work_here(self, jobs: list[Held], work: Callable[[Held], Outcome | None]) -> None:
        renewal = self._start_renewal()
        try:
            for held in jobs:
                outcome = work(held)
                if outcome is not None:
                    self._recorder.record([(held, outcome)])
        finally:
            self._end_renewal(renewal)

    def _worker(self) -> Callable[[Held], Outcome | None]:
        working = Working(self._handler(), self._pace, self._clock, self._hooks)

        def work(held: Held) -> Outcome | None:
            outcome = working.work(held)
            if outcome is None:
                self._holdings.release(held)
            return outcome

        return work

    # locks are renewed by a thread of its own: neither a long work nor a slow answer keeps it from that

    def _start_renewal(self) -> Loop:
        renewal = Loop("documents-renewal", self._renew, self._clock, lambda _, error: self._hooks.fail(error))
        renewal.start()
        return renewal

    def _renew(self) -> int:
        self._renewal_ident = get_ident()
        return self._renewer.run_once()

    def _end_renewal(self, renewal: Loop) -> None:
        renewal.stop()
        renewal.join()
        self._renewal_ident = None

    def _refuse_running(self) -> None:
        if not self._stopped.is_set():
            raise OnthedotError("it is running already, in threads of its own; stop() it first")

    def _is_inside(self) -> bool:
        """Whether this is one of our own threads."""
        here = current_thread()
        if here.ident in (self._loop_ident, self._renewal_ident):
            return True
        return any(each is not None and each.owns(here) for each in (self._crew, self._caller))

    # one pass of the loop

    def _pass(self) -> int | None:
        """Write what has ended, and lock as many documents as there are workers for."""
        crew, self._loop_ident = self._crew, get_ident()
        assert crew is not None
        self._recorder.record(crew.take_outcomes())
        now_ms = self._clock.monotonic_ms()
        room = crew.room()
        if now_ms < self._look_again_ms or not room:
            if now_ms < self._look_again_ms:
                self._note_idle(crew)
            return max(self._look_again_ms - now_ms, _LONGEST_UNWRITTEN_MS if not room else 0)
        jobs = self._locker.lock_due(room)
        if jobs:
            self._is_idle = False
            crew.give(jobs)
            return 0
        self._look_again_ms = self._clock.monotonic_ms() + self._pace.idle_delay
        self._note_idle(crew)
        return self._pace.idle_delay

    def _note_idle(self, crew: Crew) -> None:
        """Nothing was due at the last look, and all is written."""
        if crew.is_empty and not self._is_idle:
            self._is_idle = True
            self._hooks.emit(Idled())

    def _handler(self) -> Caller:
        if self._caller is None:
            raise SettingsError("no handler: decorate a function with @documents.on_document first")
        return self._caller
