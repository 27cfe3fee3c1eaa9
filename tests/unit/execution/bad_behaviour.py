"""Whatever a task can return or raise to hurt those around it, for threads, event loops and processes alike."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from onthedot import Context, GiveUp, Retry, Skip
from onthedot.app.app import App
from onthedot.clock import SystemClock
from onthedot.node.settings import NodeSettings
from onthedot.stores.memory import MemoryStore

app = App("memory://", store=MemoryStore(SystemClock().now_ms), node=NodeSettings(capacity=1, poll_ms=50))
"""One place in each pool: one that is not given back, or a thread that dies, holds up all that comes after."""


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class UnshowableSkip(Skip):
    def __str__(self) -> str:
        raise SystemExit(3)


class Untraceable(Exception):
    @property
    def __notes__(self) -> NoReturn:  # type: ignore[override]
        raise RuntimeError("no notes")


class Unclassed(Exception):
    @property  # type: ignore[misc]
    def __class__(self) -> NoReturn:  # type: ignore[override]
        raise RuntimeError("no class")


class Own(BaseException): ...


class CarelessRetry(Retry):
    def __init__(self) -> None: ...


class Trap(dict[str, int]):
    """A dict that raises when somebody wants to write it down; the second time, if the first went well."""

    def __init__(self, error: BaseException, good_times: int = 0) -> None:
        super().__init__({"a": 1})
        self._error = error
        self._good_times = good_times

    def items(self) -> Any:
        self._good_times -= 1
        if self._good_times < 0:
            raise self._error
        return super().items()


class Shy(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("not now")

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    __str__ = __repr__


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def _raised(error: BaseException) -> NoReturn:
    raise error


BEHAVIOURS: dict[str, Callable[[], Any]] = {
    "nested too deep": lambda: nested(5000),
    "nested a little too deep": lambda: nested(200),
    "items raises": lambda: Trap(RuntimeError("no items")),
    "items raises later": lambda: Trap(RuntimeError("no items"), good_times=1),
    "items exits": lambda: Trap(SystemExit(2)),
    "a mapping without a text": Shy,
    "not a number": lambda: float("nan"),
    "infinity": lambda: {"a": [float("-inf")]},
    "a set": lambda: {1, 2},
    "a very long number": lambda: 1 << 100_000,
    "unshowable": lambda: _raised(Unshowable()),
    "unshowable skip": lambda: _raised(UnshowableSkip()),
    "untraceable": lambda: _raised(Untraceable("x")),
    "unclassed": lambda: _raised(Unclassed("x")),
    "exit": lambda: sys.exit(1),
    "interrupt": lambda: _raised(KeyboardInterrupt()),
    "generator exit": lambda: _raised(GeneratorExit()),
    "own base exception": lambda: _raised(Own("mine")),
    "cancelled though nobody asked": lambda: _raised(asyncio.CancelledError()),
    "stop iteration": lambda: _raised(StopIteration()),
    "too long an error": lambda: _raised(ValueError("x" * 17_000_000)),
    "too long a reason": lambda: _raised(Skip("y" * 17_000_000)),
    "nul and surrogates in a result": lambda: {"k\0\ud800": ["v\0", {"\udfff": 1}], "fine": "😀"},
    "nul and surrogates in an error": lambda: _raised(GiveUp("bad \0 text \ud800")),
}


def behave(how: str) -> Any:
    return BEHAVIOURS[how]()


@app.task(pool="fast")
def in_a_thread(how: str) -> Any:
    return behave(how)


@app.task
async def on_the_loop(how: str) -> Any:
    await asyncio.sleep(0)
    return behave(how)


@app.task(pool="process")
def in_a_process(how: str) -> Any:
    return behave(how)


@app.task(pool="fast", timeout="1h")
def in_a_thread_with_a_time_out(how: str) -> Any:
    return behave(how)


@app.task(timeout="1h")
async def on_the_loop_with_a_time_out(how: str) -> Any:
    await asyncio.sleep(0)
    return behave(how)


@app.task
async def in_a_task_of_the_loop(how: str) -> Any:
    """asyncio lets SystemExit and KeyboardInterrupt of such a task end the loop itself."""

    async def inner() -> Any:
        return behave(how)

    return await asyncio.create_task(inner())


@app.task(pool="fast", retries=0)
def asks_carelessly_for_a_retry(ctx: Context) -> int:
    if ctx.attempt == 1:
        raise CarelessRetry
    return ctx.attempt


@app.task
async def forgets_a_task_that_exits() -> None:
    async def exits() -> None:
        sys.exit(1)

    _forgotten.append(asyncio.create_task(exits()))


_forgotten: list[asyncio.Task[None]] = []


TASKS = (
    in_a_thread,
    on_the_loop,
    in_a_process,
    in_a_thread_with_a_time_out,
    on_the_loop_with_a_time_out,
    in_a_task_of_the_loop,
)


app.task(name="well_behaved_in_a_thread", pool="fast")(lambda: "done")


@app.task
async def well_behaved_on_the_loop() -> str:
    return "done"


@app.task(pool="process")
def well_behaved_in_a_process() -> str:
    return "done"
