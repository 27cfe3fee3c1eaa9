"""What tasks produce and people write, on every store: what is bad is refused, cut or repaired before the store sees
it, what is just allowed is kept, and the node goes on and stops cleanly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.execution import bad_behaviour as bad
from tests.unit.execution.places import ended
from tests.unit.execution.test_boundary import OUTCOMES

from onthedot import App, ArgumentsError, Context, every
from onthedot.events import Failure
from onthedot.execution.context import MOST_LOG_BYTES
from onthedot.node.settings import NodeSettings
from onthedot.storable import MOST_BYTES

STORES = ["sqlite", "postgresql_15_url", "mariadb_url", "mongodb_url", "redis_url"]
NOTE = "ö" * (MOST_BYTES // 2)


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue(request.param)
    labels = {"zone": "ö" * 200}
    app = App(url, node=NodeSettings(name="😀" * 200, group="ö" * 200, labels=labels, poll_ms=100))
    yield app
    app.close()


def test_nothing_that_a_task_does_reaches_the_batch_of_the_others(app: App) -> None:
    failures: list[Failure] = []
    app.events.subscribe(Failure, failures.append)

    @app.task
    def behaves(how: str) -> Any:
        """Doc \0 \ud800."""
        return bad.behave(how)

    @app.task
    def chatters(ctx: Context) -> str:
        ctx.keep("INFO", "a NUL \0 and half a pair \ud800")  # as the logging module has it kept, which prints it too
        ctx.progress(0.5, "\0")
        ctx.keep("INFO", "x" * 17_000_000)
        for _ in range(20):
            ctx.keep("INFO", "😀" * 100_000)
        return "done"

    with app.running():
        runs = {how: app.enqueue(behaves, args={"how": how}) for how in bad.BEHAVIOURS}
        talk = app.enqueue(chatters)
        for how, (state, said) in OUTCOMES.items():
            run = ended(app, runs[how])
            assert (run.state, (said or "") in f"{run.error}{run.reason}") == (state, True), how
        assert ended(app, talk).result == "done"
    lines = app.runs.logs(talk.id)
    assert [line.text for line in lines[:2]] == ["a NUL \ufffd and half a pair \\ud800", "50% \ufffd"]
    assert sum(len(line.text.encode()) for line in lines) < MOST_LOG_BYTES + 1000
    assert max(len(line.text.encode()) for line in lines) <= MOST_BYTES
    assert lines[-1].text.startswith("nothing more is kept")
    assert failures == []


def test_what_is_just_allowed_is_kept_as_it_is(app: App) -> None:
    most = {"what": "x" * (1_000_000 - len('{"what":""}'))}
    result = {"k\u2028": ["😀" * 100, {"deep": bad.nested(90)}], "much": "x" * 60_000}

    @app.task
    def returns(what: Any = None) -> Any:
        return result

    @app.task
    def fails() -> None:
        raise ValueError("😀" * 100_000)

    app.open_store(create=True)
    app.schedules.put("😀" * 200, returns, every("1h"), args=most, tags=["ö" * 200], group="ö" * 200)
    paused = app.schedules.pause("😀" * 200, note=NOTE)
    assert (paused.paused_note, paused.args) == (NOTE, most)
    assert app.schedules.get("😀" * 200).tags == ("ö" * 200,)
    with app.running():
        run = ended(app, app.schedules.trigger("😀" * 200, token="t" * 400))
        assert (run.result, run.args) == (result, most)
        assert ended(app, app.enqueue(returns, args=most, key="😀" * 400)).result == result
        error = ended(app, app.enqueue(fails)).error or ""
        assert error.endswith("😀\n")
        assert len(error.encode()) <= MOST_BYTES
        with pytest.raises(ArgumentsError, match="the most is 1,000,000"):
            app.enqueue(returns, args={"what": "x" * 16_000_000})
    waiting = app.enqueue(returns, delay="1h")
    assert app.runs.cancel(waiting.id, reason=NOTE).reason == NOTE
    assert app.runs.get(waiting.id).reason == NOTE
