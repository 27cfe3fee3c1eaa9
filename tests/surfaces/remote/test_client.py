"""`App("http://…", token=…)`: what a program does over HTTP is what it would do on the store, errors included."""

from __future__ import annotations

import asyncio
import pickle
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.patience import LONGEST_S
from tests.surfaces.counted_ends import count_ends
from tests.surfaces.test_operate import Place as Folder
from tests.surfaces.test_operate import well

from onthedot import App, cron, every
from onthedot.app.remote.problems import error_of
from onthedot.errors import (
    ArgumentsError,
    Conflict,
    NotAllowed,
    NotFound,
    OnthedotError,
    RunNotFound,
    ScheduleNotFound,
    SettingsError,
    StaleRevision,
    StoreError,
    StoreUnavailable,
    TaskNotFound,
    TriggerError,
)
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.web.problems import TABLE, problem_of
from onthedot.web.serving import Place, WebServer


@dataclass(frozen=True, slots=True)
class Both:
    """An app on its store, and what another program has of it over HTTP."""

    app: App
    remote: App
    url: str
    folder: Folder

    def as_role(self, role: str) -> App:
        return App(self.url, token=self.app.tokens.create(f"a-{role}", role).text)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    folder = Folder(tmp_path)
    app = App(f"sqlite:///{tmp_path}/jobs.db")

    @app.task
    def report(to: str = "ann") -> str:
        return f"sent to {to}"

    @app.task
    def takes_all(**_kept: object) -> None:
        pass

    @app.task
    def breaks() -> None:
        raise RuntimeError("no paper")

    app.open_store(create=True)
    token = app.tokens.create("shop", "admin").text
    server = WebServer(app, Place(port=0))
    with server.beside(), closing(App(server.address, token=token)) as remote, closing(app):
        yield Both(app, remote, server.address, folder)


def test_it_is_awaited_over_http_too(both: Both) -> None:
    aio = both.remote.aio

    async def main() -> None:
        asked = (aio.enqueue("report", args={"to": to}) for to in ("ann", "bob"))
        runs = await asyncio.gather(*asked, aio.enqueue("nobody has it"), return_exceptions=True)
        assert isinstance(runs[2], TaskNotFound)
        ids = [run.id for run in runs if isinstance(run, Run)]
        async with both.app.running(log=False):
            ended = await asyncio.gather(*(aio.runs.wait(each, timeout=f"{LONGEST_S}s") for each in ids))
        assert [run.result for run in ended] == ["sent to ann", "sent to bob"]
        with pytest.raises(RunNotFound):
            await aio.runs.wait("nobody")
        with pytest.raises(SettingsError, match="does not reach over HTTP"):
            await aio.enqueue("report", connection=object())

    asyncio.run(main())


def test_a_schedule_is_put_seen_changed_and_deleted_as_on_the_store(both: Both) -> None:
    app, remote = both.app, both.remote
    put = remote.schedules.put(
        "nightly",
        "report",
        cron("30 2 * * *", tz="Europe/Berlin"),
        args={"to": "bob"},
        overlap="discard",
        grace=timedelta(minutes=5),
        tags=["mail"],
    )
    kept = app.schedules.get("nightly")
    assert put == remote.schedules.get("nightly")
    assert (put.task, put.args, put.trigger, put.policy, put.given, put.tags) == (
        kept.task,
        kept.args,
        kept.trigger,
        kept.policy,
        kept.given,
        kept.tags,
    )
    assert (put.id, put.revision, put.next_run_ms, put.created_ms) == (
        kept.id,
        kept.revision,
        kept.next_run_ms,
        kept.created_ms,
    )
    assert remote.schedules.next("nightly", 3) == app.schedules.next("nightly", 3)
    changed = remote.schedules.update("nightly", trigger=every("15m"), priority=2, revision=put.revision)
    assert (changed.revision, changed.policy.priority, changed.args) == (2, 2, {"to": "bob"})
    with pytest.raises(StaleRevision) as stale:
        remote.schedules.update("nightly", priority=3, revision=1)
    assert (stale.value.expected, stale.value.actual) == (1, 2)
    assert remote.schedules.update("nightly", priority=None).policy.priority == 0
    assert remote.schedules.held("nightly") == app.schedules.held("nightly")
    assert remote.schedules.pause("nightly", note="moving").paused_note == "moving"
    assert app.schedules.get("nightly").enabled is False
    assert [each.enabled for each in remote.schedules.resume(where={"tag": "mail"})] == [True]
    who = {(each.by.who, each.by.what) for each in remote.schedules.changes("nightly")}
    assert who == {("shop", "put"), ("shop", "update"), ("shop", "pause"), ("shop", "resume")}
    assert remote.schedules.delete("nightly") is True
    assert remote.schedules.delete("nightly") is False
    with pytest.raises(ScheduleNotFound, match="shop"):  # it says who deleted it
        remote.schedules.get("nightly")


class _Colour(Enum):
    RED = "red"


_MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, timezone(timedelta(hours=2)))
ARGUMENTS = (UUID(int=5), Decimal("1.10"), _Colour.RED, _MOMENT.date(), timedelta(seconds=90), (1, 2), _MOMENT)
NO_ARGUMENTS = (float("nan"), "\ud800", {1}, b"x", object(), timedelta(seconds=-1), timedelta(microseconds=1), 10**5000)


def _given(app: App, value: object) -> list[dict[str, Any]]:
    """What a task is given, whichever way."""
    app.schedules.put("given", "takes_all", every("1h"))
    ways: list[Run | Schedule] = [
        app.enqueue("takes_all", args={"value": value}),
        app.schedules.trigger("given", args={"value": value}),
        app.schedules.update("given", args={"value": value}),
        app.schedules.put("given", "takes_all", every("1h"), args={"value": value}),
    ]
    return [dict(each.args) for each in ways]


@pytest.mark.parametrize(
    "ask",
    [
        lambda app: app.schedules.next("often", 150),
        lambda app: app.schedules.changes("never was").items,
        lambda app: app.schedules.changes("a/b").items,
        lambda app: app.schedules.delete("a/b"),
        lambda app: app.runs.logs("never-was"),
        lambda app: app.runs.log_page("never-was"),
        lambda app: app.runs.list(node="\ud800").items,
        lambda app: app.schedules.list(q="\ud800").items,
        lambda app: app.schedules.list(tag="x" * 70_000).items,
        *(partial(_given, value=value) for value in ARGUMENTS),
    ],
)
def test_what_is_asked_for_beside_the_common_is_answered_alike(both: Both, ask: Callable[[App], object]) -> None:
    both.app.schedules.put("often", "report", every("1h"))
    assert ask(both.remote) == ask(both.app)


@pytest.mark.parametrize(
    "ask",
    [
        lambda app: app.schedules.get("a/b"),
        lambda app: app.schedules.get(""),
        lambda app: app.schedules.trigger(".."),
        lambda app: app.schedules.put("a/b", "report", every("1h")),
        lambda app: app.schedules.list(limit=0),
        lambda app: app.schedules.changes(limit=0),
        lambda app: app.runs.list(limit=0),
        lambda app: app.runs.get("a/b"),
        lambda app: app.runs.log_page("x", limit=0),
        lambda app: app.nodes.drain("a/b"),
        lambda app: app.tokens.revoke("a/b"),
        lambda app: app.enqueue("report", key=""),
        lambda app: app.enqueue("report", key="\ud800"),
        lambda app: app.runs.cancel("x", reason="\ud800"),
        lambda app: app.runs.list(cursor="\ud800"),
        lambda app: app.schedules.list(cursor="\ud800"),
        lambda app: app.schedules.pause("often", note=object()),
        *(partial(_given, value=value) for value in NO_ARGUMENTS),
    ],
)
def test_what_is_refused_is_refused_alike(both: Both, ask: Callable[[App], object]) -> None:
    refusals = []
    for each in (both.remote, both.app):
        with pytest.raises(OnthedotError) as refused:
            ask(each)
        refusals.append(type(refused.value))
    assert refusals[0] is refusals[1]


def test_what_a_list_cannot_be_asked_for_is_not_left_out(both: Both) -> None:
    for app in (both.app, both.remote):
        with pytest.raises(TypeError):
            app.schedules.list(sate="paused")  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            app.runs.list(stat="failed")  # type: ignore[call-arg]


def test_what_cannot_be_kept_over_http_is_refused_and_not_left_out(both: Both) -> None:
    with pytest.raises(SettingsError, match="connection"):
        both.remote.enqueue("report", connection=object())
    with pytest.raises(SettingsError, match="unchecked"):
        both.remote.enqueue("report", unchecked=True)
    assert both.app.runs.list().items == []


def test_pages_go_on_where_the_last_one_ended(both: Both) -> None:
    for number in range(5):
        both.app.schedules.put(f"s{number}", "report", every("1h"))
    first = both.remote.schedules.list(limit=3)
    rest = both.remote.schedules.list(cursor=first.cursor or "", limit=3)
    assert [each.name for each in (*first, *rest)] == ["s0", "s1", "s2", "s3", "s4"]


def test_work_is_enqueued_waited_for_and_told_of(both: Both) -> None:
    app, remote = both.app, both.remote
    run = remote.enqueue("report", args={"to": "eve"}, key="once")
    assert remote.enqueue("report", args={"to": "eve"}, key="once").id == run.id
    assert (run.key, remote.runs.get(run.id).key) == ("once", "once")
    assert {each.enqueue("report", args={"to": "zoe"}, key="once").id for each in (remote, app)} == {run.id}
    app.start(log=False)
    try:
        ended = remote.runs.wait(run.id, timeout=timedelta(seconds=LONGEST_S))
        assert (ended.state, ended.result) == ("succeeded", "sent to eve")
        assert [each.name for each in remote.nodes.list()] == [each.name for each in app.nodes.list()]
        assert {each.name for each in remote.tasks.list()} == {"breaks", "report", "takes_all"}
        broken = remote.runs.wait(remote.enqueue("breaks").id, timeout=timedelta(seconds=LONGEST_S))
        assert broken.error is not None
        assert broken.error.endswith("RuntimeError: no paper\n")
        assert [each.outcome for each in broken.attempts] == ["failed"]
        assert [each.id for each in remote.runs.list(state="failed")] == [broken.id]
        assert remote.runs.logs(run.id) == app.runs.logs(run.id)
        assert [*remote.runs.follow(run.id)] == [*app.runs.follow(run.id)]
    finally:
        app.stop()


def test_why_a_run_was_or_was_not_is_told_in_the_same_words(both: Both) -> None:
    both.app.schedules.put("s", "report", every("1h"))
    moment = both.app.schedules.next("s", 1)[0]
    assert both.remote.schedules.explain("s", moment).text == both.app.schedules.explain("s", moment).text
    both.app.schedules.delete("s")
    assert both.remote.schedules.explain("s", moment).text == both.app.schedules.explain("s", moment).text


def test_schedules_go_from_one_store_to_another(both: Both) -> None:
    both.app.schedules.put("s", "report", every("1h"))
    document = both.remote.schedules.export()
    assert document == both.app.schedules.export()
    document["schedules"][0]["name"] = "t"
    would = both.remote.schedules.import_document(document, dry_run=True)
    assert (would.created, would.only_here, would.written) == (("t",), ("s",), False)
    assert both.remote.schedules.import_document(document).written is True
    assert both.app.schedules.get("t").task == "report"


def test_nodes_are_told_with_their_pools_and_forgotten_there_as_here(both: Both) -> None:
    store = both.app.open_store()
    node = store.join(Node("n-1", "web", tasks=("report",), pools={"fast": 4, "slow": 2}), both.app.tasks.infos())
    assert [dict(each.pools) for each in both.remote.nodes.list()] == [{"fast": 4, "slow": 2}]
    assert {**both.remote.nodes.pools()} == {node.id: [*both.app.nodes.pools()[node.id]]}
    assert [each.pool for each in both.remote.tasks.list()] == [each.pool for each in both.app.tasks.list()]
    with pytest.raises(Conflict, match="node web is alive"):
        both.remote.nodes.forget("web")
    store.leave(node.id)
    both.remote.nodes.forget("web")
    assert store.gone_nodes() == []


@pytest.mark.parametrize(
    ("act", "error", "said"),
    [
        (lambda app: app.schedules.get("nightl"), ScheduleNotFound, "No schedule named 'nightl'"),
        (lambda app: app.runs.get("nobody"), RunNotFound, "No run nobody"),
        (lambda app: app.schedules.put("x", "nothing", every("1h")), TaskNotFound, "nothing"),
        (lambda app: app.enqueue("report", args={"too": 1}), ArgumentsError, "too"),
        (lambda app: app.schedules.put("x", "report", every("1h"), nonsense=1), SettingsError, "nonsense"),
        (lambda app: app.schedules.put("x", "report", every("1h"), unchecked=True), SettingsError, "unchecked"),
        (lambda app: app.schedules.put("../x%00", "report", every("1h")), SettingsError, "x%00"),
        (lambda app: app.nodes.drain("nobody"), NotFound, "No live node nobody"),
        (lambda app: app.nodes.forget("nobody"), NotFound, "No node nobody"),
        (lambda app: app.tokens.create("shop"), Conflict, "shop"),
        (lambda app: app.start(), StoreError, "not a database"),
        (lambda app: app.sync(), StoreError, "not a database"),
    ],
)
def test_errors_come_back_as_they_were(both: Both, act, error, said) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=said):
        act(both.remote)


def test_a_trigger_that_is_wrong_names_its_column_there_as_here(both: Both) -> None:
    problem = both.remote.connection
    assert problem is not None
    with pytest.raises(TriggerError) as here:
        cron("30 2 * * 8")
    with pytest.raises(TriggerError) as there:
        problem.post("preview", body={"trigger": "30 2 * * 8"})
    assert (there.value.column, str(there.value)) == (here.value.column, str(here.value))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.kind)
def test_every_problem_has_its_error_and_can_be_pickled(row) -> None:  # type: ignore[no-untyped-def]
    values: dict[str, Any] = {
        "reason": "no", "text": "x", "column": 0, "hint": None, "version": 9, "known": 1, "path": "f",
        "problems": ("a",), "max_runs": 5, "name": "n", "nearest": ("m",), "run_id": "r", "node": "n",
        "expected": 1, "actual": 2, "scheme": "s", "package": "p", "extra": "e", "node_id": "n", "what": "w",
        "kind": "calendar",
    }  # fmt: skip
    if row.kind in ("value-not-found", "alert-not-found"):  # of a trigger it is the version that a node knows
        values["known"] = ("m",)
    told = {"type": f"urn:onthedot:problem:{row.kind}", "detail": "as it was said", **values}
    made = error_of({name: [*each] if isinstance(each, tuple) else each for name, each in told.items()}, row.status)
    assert type(made) is row.error
    assert type(pickle.loads(pickle.dumps(made))) is row.error
    assert problem_of(made).kind == row.kind


def test_who_may_not_is_told_so(both: Both) -> None:
    with closing(both.as_role("viewer")) as viewer:
        assert viewer.schedules.list().items == []
        with pytest.raises(NotAllowed, match="operator is needed here; a-viewer is viewer"):
            viewer.enqueue("report")
    with closing(App(both.url)) as nobody, pytest.raises(NotAllowed, match="a token is needed"):
        nobody.schedules.list()
    both.app.tokens.revoke("shop")
    with pytest.raises(NotAllowed):
        both.remote.schedules.list()


def test_a_server_that_is_not_there_is_a_store_that_is_away() -> None:
    with closing(App("http://127.0.0.1:9", token="x")) as app, pytest.raises(StoreUnavailable, match="does not answer"):
        app.schedules.list()


@pytest.mark.parametrize(
    ("url", "token", "said"),
    [
        ("http://jobs.example", "t", "use https"),
        ("https://", "t", "names no host"),
        ("https://ann:secret@jobs.example", None, "no user"),
        ("https://jobs.example?x=1", None, "query"),
        ("https://jobs.example", "naïve", "characters"),
    ],
)
def test_an_url_or_token_that_cannot_be_is_refused_before_anything_is_sent(url: str, token: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        App(url, token=token)


def test_the_command_line_takes_the_same_url(both: Both) -> None:
    token = both.app.tokens.create("cli", "admin").text
    both.app.schedules.put("nightly", "report", every("1h"))

    def printed(*arguments: str) -> str:
        return well(both.folder.run(*arguments, "--store", both.url, ONTHEDOT_TOKEN=token))

    assert "nightly" in printed("schedules", "list")
    assert "paused" in printed("schedules", "pause", "nightly", "--note", "moving")
    assert both.app.schedules.get("nightly").paused_note == "moving"
    assert "nightly" in printed("schedules", "show", "nightly")
    assert "nightly" in printed("explain", "nightly")
    run = both.app.enqueue("report")
    assert run.id in printed("runs", "show", run.id)
    assert "report" in printed("tasks")
    assert "cli" in printed("tokens", "list")
    assert "schema" in both.folder.run("doctor", "--store", both.url, ONTHEDOT_TOKEN=token).stdout
    refused = both.folder.run("prune", "--store", both.url, ONTHEDOT_TOKEN=token)
    assert "not a database" in refused.stderr
    assert "ONTHEDOT_TOKEN" in both.folder.run("schedules", "list", "--store", both.url).stderr


def test_status_and_a_run_are_told_over_http_in_the_same_words_as_on_the_store(both: Both) -> None:
    run = _eventful(both.app)
    token = both.app.tokens.create("cli", "viewer").text

    def printed(*arguments: str) -> str:
        """On the store, after it was seen to be the same over HTTP; how long ago things were may differ by then."""
        here, there = (
            both.folder.run(*arguments, "--store", url, ONTHEDOT_TOKEN=token).stdout for url in (both.app.url, both.url)
        )
        here, there = (re.sub(r"(renewed|was due) [\w ]+ ago", r"\1 a while ago", each) for each in (here, there))
        assert there == here
        return here

    status = printed("status")
    for word in ("is not healthy", "1 paused", "node web: alive", "node old died", "paused: held is paused by"):
        assert word in status
    for word in ("late: report was due a while ago", "failed: breaks failed once", "1 worker"):
        assert word in status
    shown = printed("runs", "show", run.id)
    for word in ("story:", "attempt 2, node web", "note:      attempt 1 failed", "RuntimeError: no paper"):
        assert word in shown


def _eventful(app: App) -> Run:
    """A run that failed twice on a node that lives; one that waits for nobody; a node that died; a pause."""
    store = app.open_store()
    for name, lease_ms in (("old", 0), ("web", 3_600_000)):
        store.join(Node(f"n-{name}", name, capacity=1, tasks=("breaks",), lease_ms=lease_ms), app.tasks.infos())
    store.take_over("n-old", 0)
    app.schedules.put("held", "report", every("1d"))
    app.schedules.pause("held", note="moving")
    app.schedules.put("alone", "report", every("1d"))
    app.enqueue("report")
    run = app.enqueue("breaks", retries=1, backoff="1ms")
    for _ in range(2):
        end = time.monotonic() + LONGEST_S
        while not (begun := store.start_due("n-web", ["breaks"], 1).runs) and time.monotonic() < end:
            app.runs.wait(run.id, timeout="20ms")
        error = "Traceback\nRuntimeError: no paper"
        store.finish("n-web", [Outcome(run.id, begun[0].claim_no, "failed", error=error)])
    while not app.status().late and time.monotonic() < end:
        app.runs.wait(run.id, timeout="20ms")
    return app.runs.get(run.id)


def test_statistics_are_as_on_the_store(both: Both) -> None:
    app, remote = both.app, both.remote
    app.schedules.put("nightly", "report", every("1h"))
    count_ends(app)
    questions: tuple[dict[str, Any], ...] = (
        {"schedule": "nightly", "since": "3h"},
        {"timezone": "Asia/Kolkata"},
        {"task": "report"},
    )
    for asked in questions:
        here, there = app.statistics(**asked), remote.statistics(**asked)
        assert (there.counts, there.errors, there.by) == (here.counts, here.errors, here.by)
        assert [(each.start_at, each.counts) for each in there.series] == [
            (each.start_at, each.counts) for each in here.series
        ]
    with pytest.raises(ScheduleNotFound, match="Did you mean nightly"):
        remote.statistics(schedule="nighly")
