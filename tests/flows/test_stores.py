"""One flow that uses everything, on every store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.patience import LONGEST

from onthedot import App, Context
from onthedot.model.states import State

STORES = {
    "memory": "memory://",
    "postgresql": "postgresql_15_url",
    "mariadb": "mariadb_url",
    "mongodb": "mongodb_url",
    "redis": "redis_url",
}
LARGE = 300_000


@pytest.fixture(params=[*STORES])
def app(request: pytest.FixtureRequest) -> Iterator[App]:
    said = STORES[request.param]
    app = App(said if "://" in said else request.getfixturevalue(said))
    yield app
    app.close()


def test_a_flow_of_maps_flows_conditions_and_large_results_is_done_retried_and_shown(app: App) -> None:
    mended: list[bool] = []
    done: list[str] = []

    @app.task
    def source(many: int) -> list[dict[str, str]]:
        return [{"name": f"n{number}", "text": "ä" * 1000} for number in range(many)]

    @app.task
    async def measure(one: dict[str, str]) -> int:
        if one["name"] == "n7" and not mended:
            raise RuntimeError("not yet")
        return len(one["text"])

    @app.task
    def join(parts: list[int]) -> str:
        return "x" * (LARGE if sum(parts) == 30_000 else 0)

    @app.task
    def read(ctx: Context, text: str) -> list[int]:
        return [len(text), sum(ctx.results("measure"))]

    @app.task
    def tell(word: str) -> None:
        done.append(word)

    @app.flow
    def inner(word: str) -> None:
        tell(word)

    @app.flow
    def outer(many: int = 30) -> None:
        lengths = measure.options(parallel=10).map(source(many))
        text = join(lengths)
        counted = read.options(after=[lengths])(text)
        inner.map(["a", "b"])
        tell.options(name="left out", when=counted[0] < 0)("never")
        tell.options(name="bad", on="failure")("failure")
        tell.options(name="end", on="end")("end")

    with app.running():
        run = app.runs.wait(app.enqueue(outer).id, timeout=LONGEST)
        assert (run.state, run.error) == (State.FAILED, "measure: 1 of 30 went wrong: RuntimeError: not yet")
        assert sorted(done) == ["a", "b", "end", "failure"]
        mended.append(True)
        app.runs.retry(run.id)
        run = app.runs.wait(run.id, timeout=LONGEST)
        assert (run.state, run.error) == (State.SUCCEEDED, None)
        assert sorted(done) == ["a", "b", "end", "end", "failure"]
        (counted,) = app.runs.list(parent=run.id, task="read")
        assert counted.result == [LARGE, 30_000]
        assert {each.name: (each.state, each.total) for each in app.runs.get(run.id).steps} == {
            "source": ("succeeded", 1),
            "measure": ("succeeded", 30),
            "join": ("succeeded", 1),
            "read": ("succeeded", 1),
            "inner": ("succeeded", 2),
            "left out": ("skipped", 1),
            "bad": ("skipped", 0),
            "end": ("succeeded", 1),
        }
