"""What users do around every run: a generator, plain or async, up to its `yield` before and from there on after."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from onthedot.errors import SettingsError
from onthedot.execution.context import Context


@dataclass(frozen=True, slots=True)
class Around:
    """A generator function that was given to `app.around`."""

    generator: Callable[..., Any]
    is_async: bool
    takes_context: bool

    def begin(self, context: Context) -> Any:
        """A (maybe async) context manager of it for one run."""
        make: Any = asynccontextmanager if self.is_async else contextmanager
        manager = make(self.generator)
        return manager(context) if self.takes_context else manager()


def around_of(generator: Callable[..., Any]) -> Around:
    """The same, checked."""
    is_async = inspect.isasyncgenfunction(generator)
    name = getattr(generator, "__qualname__", repr(generator))
    if not is_async and not inspect.isgeneratorfunction(generator):
        raise SettingsError(
            f"app.around: {name} has no yield; what stands before it is done before each run, the rest after"
        )
    parameters = len(inspect.signature(generator).parameters)
    if parameters > 1:
        raise SettingsError(f"app.around: {name} takes {parameters} parameters; it gets the run's context, or nothing")
    return Around(generator, is_async, parameters == 1)


def within_sync(arounds: Sequence[Around], context: Context, call: Callable[[], Any]) -> Any:
    """Call it in this thread. Async generators get a loop of their own here, as long as the run lasts."""
    raised: BaseException | None = None
    result = None
    with ExitStack() as stack:
        runner: asyncio.Runner | None = None
        for around in arounds:
            manager = around.begin(context)
            if around.is_async:
                runner = runner or stack.enter_context(asyncio.Runner())
                manager = _driven(manager, runner)
            stack.enter_context(manager)
        try:
            result = call()
        except BaseException as error:
            raised = error
            raise
    if raised is not None:  # somebody swallowed it
        raise raised
    return result


@contextmanager
def _driven(manager: AbstractAsyncContextManager[Any], runner: asyncio.Runner) -> Iterator[Any]:
    """An async context manager, for code that is not."""
    value = runner.run(_awaited(manager.__aenter__()))
    try:
        yield value
    except BaseException as error:
        if not runner.run(_awaited(manager.__aexit__(type(error), error, error.__traceback__))):
            raise
    else:
        runner.run(_awaited(manager.__aexit__(None, None, None)))


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def within_async(arounds: Sequence[Around], context: Context, call: Callable[[], Awaitable[Any]]) -> Any:
    """Call it on this loop."""
    raised: BaseException | None = None
    result = None
    async with AsyncExitStack() as stack:
        for around in arounds:
            if around.is_async:
                await stack.enter_async_context(around.begin(context))
            else:
                stack.enter_context(around.begin(context))
        try:
            result = await call()
        except BaseException as error:
            raised = error
            raise
    if raised is not None:
        raise raised
    return result
