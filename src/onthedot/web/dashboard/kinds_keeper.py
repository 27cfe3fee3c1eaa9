"""What schedules have in common, kept: of very many it is looked for behind the back of who looks."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock, Thread

from onthedot.app.outlook import Planned
from onthedot.web.dashboard.timeline_view import Kinds, kinds_of

_MANY = 5000
"""So many are looked at in less than 20 ms."""


class KindsKeeper:
    """Of one mapping at a time, which never changes. Of many schedules that of the mapping before may be told, for as
    long as looking at them takes."""

    def __init__(self) -> None:
        self._held: tuple[Mapping[str, Planned], Kinds] | None = None
        self._looking = Lock()

    def of(self, planned: Mapping[str, Planned]) -> Kinds:
        """What these have in common."""
        held = self._held
        if held is not None and held[0] is planned:
            return held[1]
        if held is None or len(planned) < _MANY:
            self._held = held = planned, kinds_of(planned)
        elif self._looking.acquire(blocking=False):
            self._look_behind(planned)
        return held[1]

    def _look_behind(self, planned: Mapping[str, Planned]) -> None:
        """With the lock held, which it gives back."""

        def look() -> None:
            try:
                self._held = planned, kinds_of(planned)
            finally:
                self._looking.release()

        try:
            Thread(target=look, name="kinds", daemon=True).start()
        except RuntimeError:  # no more threads: the next who looks tries again
            self._looking.release()
