"""The loops of a node: started and stopped together, restarted where one has ended, healthy while each passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from onthedot.loop import Loop

STUCK_MS = 60_000
"""A pass that takes longer is stuck: no statement of ours may take so long."""


class Supervisor:
    """Knows all loops. `look` is called again and again, by one of them."""

    def __init__(self, loops: Sequence[Loop], on_restart: Callable[[str], None]) -> None:
        self._loops = {loop.name: loop for loop in loops}
        self._on_restart = on_restart

    @property
    def loops(self) -> Mapping[str, Loop]:
        """By name."""
        return self._loops

    def start(self) -> None:
        for loop in self._loops.values():
            loop.start()

    def stop(self, names: Sequence[str] | None = None) -> None:
        """Stop these, or all, and wait until their passes are over."""
        chosen = [loop for name, loop in self._loops.items() if names is None or name in names]
        for loop in chosen:
            loop.stop()
        for loop in chosen:
            loop.join()

    def look(self) -> None:
        """Restart what has ended though nobody asked it to."""
        for name, loop in self._loops.items():
            if loop.restart_if_dead():
                self._on_restart(name)

    def stuck(self) -> list[str]:
        """The loops that have not come to the end of a pass lately."""
        return [name for name, loop in self._loops.items() if loop.busy_for_ms() > STUCK_MS]
