"""Watches what this node has at one engine: gives it runs, asks for them, tells how they ended. One thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

from onthedot.clock import Clock
from onthedot.execution.engines.away import Away, Next
from onthedot.execution.engines.engine import CannotSend, Engine, EngineAway, Status, Unknown
from onthedot.loop import Loop
from onthedot.model.outcome import Outcome
from onthedot.model.remote import Sent, sending, taken
from onthedot.storable import shown

POLL_MS = 1000
"""How often an engine is asked."""
SOON_MS = 100
"""How soon after something was given to it."""
_AGAIN_MS = (500, 10_000)
"""How soon an engine that does not answer is asked again: the first time, and at most."""
_MOST_TO_FORGET = 10_000

Note = Callable[[str, Sequence[Sent]], Sequence[str]]
"""Tells the store, for an owner; the ids of those that are still its own."""


class Outpost:
    """`put`, `drop`, `forget`, `wake` and `trouble` are for any thread; `run_once` is called by one."""

    def __init__(
        self,
        name: str,
        engine: Engine,
        clock: Clock,
        note: Note,
        on_error: Callable[[str, BaseException], None],
    ) -> None:
        self.name = name
        self._engine = engine
        self._clock = clock
        self._note = note
        self._on_error = on_error
        self._lock = Lock()
        self._here: dict[str, Away] = {}
        """By the ids of their runs."""
        self._to_forget: deque[str] = deque(maxlen=_MOST_TO_FORGET)
        self._pause_ms = _AGAIN_MS[0]
        self._loop = Loop(f"engine {name}", self.run_once, clock, on_error)
        self._runs = False
        self.trouble = ""
        """What it said when it did not answer; empty while it does."""

    # for any thread

    def put(self, away: Away) -> None:
        """Have it done, or go on watching it."""
        with self._lock:
            self._here[away.run.id] = away
            starts, self._runs = not self._runs, True
        if starts:
            self._loop.start()
        self._loop.wake()

    def drop(self, run_id: str, claim_no: int) -> None:
        """It is another's now, or nobody's: the engine goes on with it."""
        with self._lock:
            away = self._here.get(run_id)
            if away is not None and away.run.claim_no == claim_no:
                away.dropped = True
                del self._here[run_id]

    def forget(self, engine_id: str) -> None:
        """How it ended is in the store."""
        self._to_forget.append(engine_id)
        self._loop.wake()

    def wake(self) -> None:
        """Look now: somebody may have asked for something to be stopped."""
        self._loop.wake()

    def close(self) -> None:
        """Let go of the engine, which goes on with what it has."""
        self._loop.stop()
        self._loop.join(5)  # it may be waiting for an engine that says nothing
        self._engine.close()

    # the thread

    def run_once(self) -> int | None:
        """One pass; says when to make another, or None while there is nothing to watch."""
        with self._lock:
            here = list(self._here.values())
        if not here and not self._to_forget:
            self.trouble = ""  # nobody asks it for anything: whether it answers is not known any more
            return None
        self._end_what_is_over(here)
        try:
            sent = self._give(each for each in here if not each.given and not each.dropped)
            self._stop(here)
            self._ask([each for each in here if each.given and not each.dropped])
            self._forget()
        except _Away as problem:
            return self._is_away(problem.error)
        self.trouble, self._pause_ms = "", _AGAIN_MS[0]
        return SOON_MS if sent else POLL_MS

    def _is_away(self, error: BaseException) -> int:
        if not self.trouble:
            self._on_error(f"engine {self.name}", error)
        self.trouble = _one_line(error)
        pause_ms, self._pause_ms = self._pause_ms, min(self._pause_ms * 2, _AGAIN_MS[1])
        return pause_ms

    # giving

    def _give(self, fresh: Iterable[Away]) -> bool:
        """Give what is new to the engine. The store knows of it first: whoever comes after this node must find it."""
        ready = [each for each in fresh if self._is_ready(each)]
        self._say(ready, sending(self.name))
        given = [each for each in ready if not each.dropped and self._submit(each)]
        return bool(given)

    def _is_ready(self, away: Away) -> bool:
        if away.context.cancelled:
            self._end(away, away.cancelled())
        elif not away.prepared:
            if not away.enter():
                self.drop(away.run.id, away.run.claim_no)
                return False
            self._prepare(away)
        return not away.dropped

    def _prepare(self, away: Away) -> None:
        """Give a step its arguments. One that another node has given to the engine goes on, whatever they are."""
        outcome = away.prepare()
        away.prepared = outcome is None
        if outcome is not None and not (away.given and outcome.ending == "handed_back"):
            self._end(away, outcome)

    def _say(self, aways: Sequence[Away], remote: str) -> None:
        """What the store says is no longer ours is dropped: the next renewal tells what became of it."""
        news = [each for each in aways if each.said != remote]
        by_owner: dict[str, list[Away]] = {}
        for each in news:
            by_owner.setdefault(each.run.owner or "", []).append(each)
        for owner, own in by_owner.items():
            stood = set(self._note(owner, [Sent(each.run.id, each.run.claim_no, remote) for each in own]))
            for each in own:
                each.said = remote
                if each.run.id not in stood:
                    self.drop(each.run.id, each.run.claim_no)

    def _submit(self, away: Away) -> bool:
        """Whether the engine may have it now."""
        try:
            done = self._engine.submit(away.id, away.call())
        except CannotSend as error:
            self._end(away, away.refused(str(error)))
            return False
        except EngineAway as error:
            raise _Away(error) from None
        except Exception as error:  # it may have arrived: `poll` tells
            away.given = True
            self._on_error(f"engine {self.name}", error)
            return True
        away.given = True
        if done is not None:
            self._judge(away, done)
        else:
            away.taken = True
        return True

    # asking

    def _ask(self, others: Iterable[Away]) -> None:
        given: list[Away] = []
        for each in others:
            if not each.prepared:
                self._prepare(each)
            given += [each] if each.prepared and not each.dropped else []
        if not given:
            return
        try:
            found = self._engine.poll([each.id for each in given])
        except Exception as error:
            raise _Away(error) from None
        for each in given:
            self._judge(each, found.get(each.id, Unknown()))
        self._say([each for each in given if each.taken and not each.dropped], taken(self.name))

    def _judge(self, away: Away, status: Status) -> None:
        next_ = away.judge(status, self._clock.now_ms(), dedupes=self._engine.dedupes)
        if next_ is Next.SUBMIT:
            away.given = False  # by the next pass
        elif isinstance(next_, Outcome):
            self._end(away, next_)

    def _stop(self, here: Iterable[Away]) -> None:
        for each in here:
            if each.context.cancelled and each.given and each.asked_ms is None and not each.dropped:
                if not self._cancel(each):
                    return  # asked again with the next pass
                each.asked_ms = self._clock.now_ms()

    def _cancel(self, away: Away) -> bool:
        try:
            self._engine.cancel(away.id)
        except Exception as error:
            self._on_error(f"engine {self.name}", error)
            return False
        return True

    def _end_what_is_over(self, here: Iterable[Away]) -> None:
        """Also while the engine does not answer."""
        now_ms = self._clock.now_ms()
        for each in here:
            if not each.dropped and each.is_over(now_ms):
                self._end(each, each.timed_out(was_asked=each.given and self._cancel(each)))

    def _forget(self) -> None:
        while self._to_forget:
            try:
                self._engine.forget(self._to_forget[0])
            except Exception as error:
                raise _Away(error) from None
            self._to_forget.popleft()

    def _end(self, away: Away, outcome: Outcome) -> None:
        self.drop(away.run.id, away.run.claim_no)
        away.end(outcome)


class _Away(Exception):
    """The engine does not answer: the pass is over."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


def _one_line(error: BaseException) -> str:
    text = " ".join(shown(error).split())
    return text[:300] or type(error).__name__
