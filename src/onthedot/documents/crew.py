"""The threads that work documents, and how many they should be given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread

from onthedot.clock import Clock
from onthedot.documents.held import Held
from onthedot.documents.working import Outcome

_AHEAD_MS = 200
"""Documents are locked ahead of the workers for so much work, by what the last ones took, and no more: what lies here
cannot be done elsewhere."""
_MOST_AHEAD = 4000
_REMEMBERED = 200
"""By how many documents it is judged what one takes."""


class Crew:
    """So many threads; each takes the next document, works it, and rests."""

    def __init__(
        self, size: int, work: Callable[[Held], Outcome | None], rest_ms: int, clock: Clock, on_room: Callable[[], None]
    ) -> None:
        self._size = size
        self._work = work
        self._rest_ms = rest_ms
        self._clock = clock
        self._on_room = on_room
        self._waiting: SimpleQueue[Held | None] = SimpleQueue()
        self._outcomes: deque[tuple[Held, Outcome]] = deque()
        self._lock = Lock()
        self._in_hand = 0
        self._finished = self._took_ms = 0
        self._ahead = 0
        self._stopping = Event()
        self._threads = [Thread(target=self._run, name=f"onthedot-documents-{n}", daemon=True) for n in range(size)]
        self.working = 0
        """How many are inside the handler."""

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def room(self) -> int:
        """How many more documents should be locked now."""
        with self._lock:
            in_that_time = self._size * _AHEAD_MS * self._finished // max(self._took_ms, 1)
            self._ahead = min(in_that_time, 2 * self._ahead + self._size, _MOST_AHEAD)
            return max(self._size + self._ahead - self._in_hand, 0)

    def give(self, jobs: list[Held]) -> None:
        with self._lock:
            self._in_hand += len(jobs)
        for held in jobs:
            self._waiting.put(held)

    def take_outcomes(self) -> list[tuple[Held, Outcome]]:
        """What has become of documents since the last call."""
        return [self._outcomes.popleft() for _ in range(len(self._outcomes))]

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a document here nor an outcome that nobody has taken."""
        return self._in_hand == 0 and not self._outcomes

    def owns(self, thread: Thread) -> bool:
        return thread in self._threads

    def stop(self) -> list[Held]:
        """Begin nothing further; what had not begun comes back."""
        self._stopping.set()
        not_begun = []
        while True:
            try:
                held = self._waiting.get_nowait()
            except Empty:
                break
            if held is not None:
                not_begun.append(held)
        for _ in self._threads:
            self._waiting.put(None)
        return not_begun

    def join(self, for_ms: int) -> bool:
        """Wait so long for those that have begun; whether all have ended."""
        end_ms = self._clock.monotonic_ms() + for_ms
        for thread in self._threads:
            thread.join(max(end_ms - self._clock.monotonic_ms(), 0) / 1000)
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (held := self._waiting.get()) is not None:
            began_ms = self._clock.monotonic_ms()
            with self._lock:
                self.working += 1
            outcome = self._work(held)
            if outcome is not None:
                self._outcomes.append((held, outcome))
            if self._ended(self._clock.monotonic_ms() - began_ms):
                self._on_room()
            if self._rest_ms:
                self._clock.wait(self._stopping, self._rest_ms)

    def _ended(self, took_ms: int) -> bool:
        """Count it; whether more should be given now."""
        with self._lock:
            self.working -= 1
            self._in_hand -= 1
            self._finished += 1
            self._took_ms += took_ms + self._rest_ms
            if self._finished > _REMEMBERED:
                self._finished //= 2
                self._took_ms //= 2
            return self._in_hand < self._size + self._ahead // 2
