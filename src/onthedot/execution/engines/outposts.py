"""The engines of a node, each with who watches what was given to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from onthedot.clock import Clock
from onthedot.execution.engines.away import Away
from onthedot.execution.engines.engine import Engine
from onthedot.execution.engines.outpost import Note, Outpost
from onthedot.model.node import ENGINES_LABEL, WARNING_LABEL
from onthedot.model.run import Run
from onthedot.stores.answers import Finished

_GOES_ON = "its runs wait, and go on when it answers"


class Outposts:
    """Thread-safe. Where a run is that has ended is known here until that is recorded."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        clock: Clock,
        note: Note,
        on_error: Callable[[str, BaseException], None],
    ) -> None:
        self._by_name = {name: Outpost(name, engine, clock, note, on_error) for name, engine in engines.items()}
        self._ended: dict[tuple[str, int], tuple[str, str]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def put(self, name: str, away: Away) -> None:
        """Have it done by that engine, or go on watching it."""
        self._by_name[name].put(away)

    def drop(self, name: str, run: Run) -> None:
        """It is another's now: the engine goes on with it."""
        self._by_name[name].drop(run.id, run.claim_no)

    def wake(self, name: str) -> None:
        """Something of it was asked to stop."""
        self._by_name[name].wake()

    def has_ended(self, name: str, run: Run) -> None:
        """An outcome of it is on its way to the store."""
        self._ended[run.id, run.claim_no] = name, f"{run.id}.{run.attempt}"

    def recorded(self, claims: Iterable[tuple[str, int]], finished: Finished) -> None:
        """The store has taken the outcomes of these, or refused them: then they are another's to forget."""
        if not self._ended:
            return
        for run_id, claim_no in claims:
            if run_id not in finished.again:
                name, engine_id = self._ended.pop((run_id, claim_no), ("", ""))
                if name and run_id not in finished.refused:
                    self._by_name[name].forget(engine_id)

    def labels(self) -> dict[str, str]:
        """What a node says of its engines: which they are, and which does not answer."""
        if not self._by_name:
            return {}
        silent = {name: each.trouble for name, each in self._by_name.items() if each.trouble}
        warnings = {
            f"{WARNING_LABEL}engine {name}": f"it does not answer: {why.replace('; ', ', ')}; {_GOES_ON}"
            for name, why in silent.items()
        }
        return {ENGINES_LABEL: "\n".join(sorted(self._by_name)), **warnings}

    def close(self) -> None:
        """Let go of all of them."""
        for each in self._by_name.values():
            each.close()
