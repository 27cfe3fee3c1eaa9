"""`inline`: what is enqueued is done at once, in the caller's thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from onthedot.app.app import App
from onthedot.clock import SystemClock
from onthedot.errors import OnthedotError
from onthedot.execution.context import Context
from onthedot.execution.engines.engine import Call
from onthedot.execution.targets import Target
from onthedot.model.graph import MOST_ITEMS
from onthedot.model.ids import seeded
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace as with_fields
from onthedot.node.settings import NodeSettings
from onthedot.rules.effects import Before, Effects
from onthedot.testing.virtual_store import NEVER
from onthedot.testing.world import Cast, World


@contextmanager
def inline(
    app: App, *, raises: bool = True, tasks: Mapping[str, Callable[..., Any]] | None = None
) -> Iterator[InlineWorld]:
    """Inside, `app.enqueue` and `app.schedules.trigger` call the task and give the run as it ended.

    Delays and back-offs take no time; schedules do not tick. What a task raised when its run ended for good is raised
    by the call that asked for it, unless `raises` is false. What the task itself enqueues is done before that.
    """
    world = InlineWorld(app, SystemClock().now_ms(), Cast({}, True, tasks or {}), 0)
    world.raises = raises
    with seeded(0), app.standing_on(world.store, world.clock):
        world.open(nodes=1)
        world.store.on_enqueued = world.done
        yield world


class InlineWorld(World):
    """A world of one node that does not plan, and whose time passes when something is enqueued."""

    raises = True

    def __init__(self, app: App, start_ms: int, cast: Cast, seed: int) -> None:
        super().__init__(app, start_ms, cast, seed)
        self.store.plans_ticks = False
        self._errors: dict[str, BaseException] = {}

    def done(self, runs: list[Run]) -> list[Run]:
        """These runs as they ended; as they are, if a task asked for them."""
        if self.is_moving:
            return runs
        return [self._done(run.id) for run in runs]

    def _done(self, run_id: str) -> Run:
        self.settle()
        while (moment_ms := self.next_ms(idle=False)) < NEVER:
            self.pass_by(moment_ms - self.clock.now_ms())
        run = self.app.runs.get(run_id)
        if not run.is_final:
            raise OnthedotError(f"run {run_id} of {run.task!r} cannot be done here: is its task in this app?")
        error = self._error_of(run)
        if self.raises and error is not None and run.state in (State.FAILED, State.TIMED_OUT):
            raise error
        return run

    def _error_of(self, run: Run) -> BaseException | None:
        """What its task raised last; of a flow what a step of it did that went wrong."""
        if not run.is_flow:
            return self._errors.pop(run.id, None)
        steps = self.store.runs(parent=run.id, limit=MOST_ITEMS)
        wrong = (
            self._error_of(step) for step in steps if step.is_step and step.state in (State.FAILED, State.TIMED_OUT)
        )
        return next((error for error in wrong if error is not None), None)

    def _lookup(self, name: str) -> Target | None:
        target = super()._lookup(name)
        return None if target is None else _Noting(target, self._errors)

    def _settings(self, number: int) -> NodeSettings:
        return replace(super()._settings(number), roles=("execute",))

    @staticmethod
    def _declared(before: Before, now_ms: int) -> Effects:
        """Nodes that only execute still look after local schedules; here nothing ticks."""
        effects = World._declared(before, now_ms)
        assert effects.schedule is not None
        return replace(effects, schedule=with_fields(effects.schedule, mode="durable"))


@dataclass(frozen=True, slots=True)
class _Noting:
    """Calls a target, and remembers what it raised."""

    target: Target
    errors: dict[str, BaseException]

    @property
    def is_async(self) -> bool:
        return self.target.is_async

    @property
    def stops_itself(self) -> bool:
        return self.target.stops_itself

    @property
    def pool(self) -> str | None:
        return self.target.pool

    @property
    def engine(self) -> str | None:
        return self.target.engine

    def elsewhere(self, context: Context) -> Call:
        return self.target.elsewhere(context)

    def call(self, context: Context, args: Mapping[str, Any]) -> Any | Awaitable[Any]:
        if self.is_async:
            return self._awaited(context, args)
        try:
            return self.target.call(context, args)
        except BaseException as error:
            self.errors[context.run_id] = error
            raise

    async def _awaited(self, context: Context, args: Mapping[str, Any]) -> Any:
        try:
            return await self.target.call(context, args)
        except BaseException as error:
            self.errors[context.run_id] = error
            raise
