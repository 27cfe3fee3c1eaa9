"""Lists over HTTP: filters, orders, cursors; ticks, lateness, the audit; and acts on what a filter finds."""

from __future__ import annotations

from typing import Any

import pytest
from tests.surfaces.counted_ends import count_ends
from tests.surfaces.web.client import Callers, Client, kind_of

from onthedot import App, at, every
from onthedot.model.histogram import bucket_of
from onthedot.model.minute import MINUTE_MS, Minute
from onthedot.model.node import Node
from onthedot.moments import iso

BAD_NAMES = [
    "../",
    "%00",
    "x" * 20_000,
    "🦉",
    "'",
    '"',
    "'; DROP TABLE schedules; --",
    "<script>alert(1)</script>",
    "%",
    "_",
]


@pytest.fixture
def schedules(app: App) -> list[str]:
    app.task(name="send")(lambda: None)
    app.schedules.put("alpha", "report", every("1h"), tags=["mail"])
    app.schedules.put("beta", "send", every("1m"), tags=["mail"])
    app.schedules.put("gamma", "report", every("10m"))
    app.schedules.pause("gamma")
    return ["alpha", "beta", "gamma"]


def _names(client: Client, **params: Any) -> list[str]:
    answer = client.get("/schedules", params=params)
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["schedules"]]


def test_schedules_are_found_by_text_state_tag_and_task(callers: Callers, schedules: list[str]) -> None:
    viewer = callers.viewer
    assert _names(viewer) == schedules
    assert _names(viewer, q="ALPH") == ["alpha"]
    assert _names(viewer, q="end") == ["beta"], "part of its task's name"
    assert _names(viewer, state="paused") == ["gamma"]
    assert _names(viewer, tag="mail", task="report") == ["alpha"]
    assert _names(viewer, q="zzz") == []


def test_schedules_are_read_page_by_page_in_either_order(callers: Callers, schedules: list[str]) -> None:
    for sort, expected in (("name", schedules), ("next", ["beta", "gamma", "alpha"])):
        found: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            answer = callers.viewer.get("/schedules", params={"sort": sort, "cursor": cursor, "limit": 1}).json()
            found += [each["name"] for each in answer["schedules"]]
            cursor = answer["cursor"]
        assert sorted(found) == sorted(expected)
        if sort == "name":
            assert found == expected
        else:
            assert found.index("beta") < found.index("alpha")


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/schedules", {"state": "broken"}),
        ("/schedules", {"sort": "random"}),
        ("/schedules", {"limit": 201}),
        ("/schedules", {"q": "x" * 201}),
        ("/runs", {"state": "broken"}),
        ("/runs", {"from": "yesterday"}),
        ("/schedules/alpha/ticks", {"limit": 501}),
        ("/schedules/alpha/ticks", {"from": "2026-01-01"}),
        ("/lateness", {"from": "2026-01-01T00:00Z", "to": "2026-01-09T00:00Z"}),
        ("/lateness", {"from": "2026-01-02T00:00Z", "to": "2026-01-01T00:00Z"}),
    ],
)
def test_what_cannot_be_asked_for_is_refused(
    callers: Callers, schedules: list[str], path: str, params: dict[str, Any]
) -> None:
    answer = callers.viewer.get(path, params=params)
    assert answer.status_code == 422, answer.text
    kind_of(answer)


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: ascii(name[:12]))
def test_bad_names_find_nothing_and_break_nothing(callers: Callers, schedules: list[str], name: str) -> None:
    viewer = callers.viewer
    for params in (
        {"tag": name},
        {"task": name},
        {"q": name[:200]},
        {"cursor": name},
        {"cursor": name, "sort": "next"},
    ):
        answer = viewer.get("/schedules", params=params)
        assert answer.status_code in (200, 422), (params, answer.text)
    for key in ("schedule", "task", "node", "cursor"):
        assert viewer.get("/runs", params={key: name}).status_code in (200, 422), key
    assert viewer.get("/changes", params={"cursor": name}).status_code in (200, 422)
    for tail in ("ticks", "changes", "explain", "next"):
        path = "/schedules/" + "".join(f"%{byte:02X}" for byte in name.encode()) + f"/{tail}"
        assert viewer.get(path).status_code in (404, 422), tail
    assert _names(viewer) == schedules


def test_runs_are_found_by_task_node_lateness_and_when_they_were_made(
    app: App, callers: Callers, schedules: list[str]
) -> None:
    viewer, store = callers.viewer, app.open_store()
    first, second = app.enqueue("report"), app.enqueue("send")
    store.join(Node("n1", "web"), app.tasks.infos())
    (started,) = store.start_due("n1", ["report"], 1).runs

    def ids(**params: Any) -> list[str]:
        return [each["id"] for each in viewer.get("/runs", params=params).json()["runs"]]

    assert ids() == [second.id, first.id]
    assert ids(task="send") == [second.id]
    assert ids(node="n1") == ids(node="web") == [started.id]
    assert ids(node="nobody") == []
    assert ids(late=True) == []
    assert ids(**{"from": iso(store.now_ms() + 60_000)}) == []
    assert ids(to=iso(store.now_ms() - 3_600_000)) == []
    assert ids(**{"from": iso(store.now_ms() - 60_000), "state": "running"}) == [first.id]


def test_a_run_tells_its_attempts_and_how_far_it_is(app: App, callers: Callers) -> None:
    store = app.open_store()
    run = app.enqueue("report")
    store.join(Node("n1", "web"), app.tasks.infos())
    store.start_due("n1", ["report"], 1)
    told = callers.viewer.get(f"/runs/{run.id}").json()
    (attempt,) = told["attempts"]
    assert (attempt["number"], attempt["node"], attempt["outcome"], told["progress"]) == (1, "n1", None, None)


def test_ticks_are_told_in_order_with_those_to_come(app: App, callers: Callers, schedules: list[str]) -> None:
    app.schedules.trigger("beta")
    ticks = callers.viewer.get("/schedules/beta/ticks", params={"limit": 20}).json()["ticks"]
    assert [each["at"] for each in ticks] == sorted(each["at"] for each in ticks)
    assert ticks[0]["kind"] == "run"
    assert ticks[0]["run"]["state"] == "waiting"
    assert {each["kind"] for each in ticks[1:]} == {"coming"}
    paused = callers.viewer.get("/schedules/gamma/ticks").json()["ticks"]
    assert [each for each in paused if each["kind"] == "coming"] == []
    app.schedules.delete("beta")
    assert len(callers.viewer.get("/schedules/beta/ticks").json()["ticks"]) == 1


def test_the_audit_is_read_page_by_page_and_nothing_is_told_twice(
    app: App, callers: Callers, schedules: list[str]
) -> None:
    for path, expected in (("/changes", len(app.schedules.changes(limit=1000))), ("/schedules/gamma/changes", 2)):
        found: list[str] = []
        params: dict[str, Any] = {"limit": 2}
        while True:
            page = callers.viewer.get(path, params=params).json()
            found += [each["id"] for each in page["changes"]]
            if page["cursor"] is None:
                break
            params["cursor"] = page["cursor"]
        assert len(found) == len(set(found)) == expected
        assert found == sorted(found, reverse=True)


def test_lateness_is_told_by_the_minute(app: App, callers: Callers) -> None:
    store = app.open_store()
    minute_ms = store.now_ms() // MINUTE_MS * MINUTE_MS - 5 * MINUTE_MS
    lateness = {bucket_of(2): 98, bucket_of(9000): 2}
    store.tally([
        Minute(minute_ms, "n1", 100, {"succeeded": 99}, lateness, 9000, "r1", "nightly"),
        Minute(minute_ms, "n2", 1, {"failed": 1}, {bucket_of(2): 1}, 2, "r2", "hourly"),
    ])  # fmt: skip
    told = callers.viewer.get("/lateness").json()
    (minute,) = told["minutes"]
    assert (told["begun"], minute["begun"], minute["at"]) == (101, 101, iso(minute_ms))
    assert minute["ended"] == {"succeeded": 99, "failed": 1}
    assert minute["latest"] == {"run": "r1", "name": "nightly", "late_ms": 9000}
    assert minute["p50_ms"] <= 3
    assert minute["p99_ms"] == 9000
    assert callers.viewer.get("/lateness", params={"to": iso(minute_ms)}).json()["minutes"] == []


def test_nodes_tell_what_they_run_and_who_died(app: App, callers: Callers) -> None:
    store = app.open_store()
    app.enqueue("report")
    store.join(Node("n1", "web"), app.tasks.infos())
    store.start_due("n1", ["report"], 1)
    store.join(Node("n2", "gone", lease_ms=0), [])
    store.take_over("n2", 0)
    told = callers.viewer.get("/nodes").json()
    (node,) = told["nodes"]
    assert (node["running"], sum(each["running"] for each in node["pools"]), node["roles"]) == (
        1,
        1,
        ["plan", "execute"],
    )
    assert [each["name"] for each in told["died"]] == ["gone"]


# many at once


def test_an_act_reaches_all_that_a_filter_finds_if_they_are_as_many_as_were_shown(
    callers: Callers, schedules: list[str]
) -> None:
    given = {"act": "pause", "filter": {"tag": "mail", "state": "active"}}
    assert callers.operator.post("/bulk", {**given, "expect": 3}).status_code == 409
    done = callers.operator.post("/bulk", {**given, "expect": 2}).json()
    assert [each["name"] for each in done["results"]] == ["alpha", "beta"]
    assert _names(callers.viewer, state="paused") == schedules
    found = callers.operator.post("/bulk", {"act": "resume", "filter": {"q": "gam"}}).json()
    assert [each["name"] for each in found["results"]] == ["gamma"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"filter": {}},
        {"filter": {"q": ""}},
        {"filter": {"tag": "mail"}, "names": ["alpha"]},
        {"filter": {"name": "alpha"}},
    ],
)
def test_an_act_without_a_clear_aim_reaches_nothing(
    app: App, callers: Callers, schedules: list[str], given: dict[str, Any]
) -> None:
    assert callers.operator.post("/bulk", {"act": "pause", **given}).status_code == 422
    assert _names(callers.viewer, state="paused") == ["gamma"]


def test_a_schedule_that_has_ended_is_found_by_that(app: App, callers: Callers) -> None:
    app.schedules.put("once", "report", at(iso(app.open_store().now_ms() + 3_600_000)), max_runs=1)
    assert _names(callers.viewer, state="ended") == []
    assert _names(callers.viewer, state="active") == ["once"]


def test_the_forecast_is_the_same_from_the_kept_index_and_made_anew(callers: Callers, schedules: list[str]) -> None:
    kept = callers.viewer.get("/forecast").json()
    part = {"from": kept["start"], "to": kept["end"]}
    whole = callers.viewer.get("/forecast", params=part).json()
    tagged = callers.viewer.get("/forecast", params={**part, "tag": "mail"}).json()
    assert kept["counts"] == whole["counts"] == tagged["counts"]
    assert kept["runs"] == sum(kept["counts"]) > 1000
    far = callers.viewer.get("/forecast", params={"from": kept["start"], "to": "2026-12-10T00:00Z", "bucket": "1d"})
    assert far.status_code in (200, 422)


def test_a_schedule_that_is_named_twice_is_one_schedule(callers: Callers, schedules: list[str]) -> None:
    given = {"act": "pause", "names": ["alpha", "alpha"], "dry_run": True}
    assert callers.operator.post("/bulk", {**given, "expect": 2}).status_code == 409
    done = callers.operator.post("/bulk", {**given, "expect": 1}).json()
    assert [each["name"] for each in done["results"]] == ["alpha"]


def test_statistics_tell_how_runs_ended_how_late_they_began_and_how_long_they_took(app: App, callers: Callers) -> None:
    app.schedules.put("nightly", "report", every("1h"))
    count_ends(app)
    count_ends(app, None, good=5, bad=0, ago_ms=2 * MINUTE_MS)
    told = callers.viewer.get("/statistics", params={"schedule": "nightly", "since": "24h"}).json()
    assert (told["total"], told["success_rate"], told["by"]) == (10, 0.8, "hour")
    assert told["errors"] == [{"text": "OSError: disk # is <full>", "count": 2}]
    assert 100 <= told["lateness"]["p50_ms"] <= 122
    assert 2000 <= told["duration"]["p99_ms"] <= 2430
    assert sum(each["total"] for each in told["series"]) == 10
    days = callers.viewer.get("/statistics", params={"tz": "Europe/Berlin"}).json()
    assert (days["total"], days["by"], days["schedule"]) == (15, "day", None)
    assert 30 <= len(days["series"]) <= 32
    assert all("T00:00:00+0" in each["start"] for each in days["series"])
    of_task = callers.viewer.get("/statistics", params={"task": "report"}).json()
    assert (of_task["total"], of_task["success_rate"]) == (5, 1.0)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"schedule": "nigtly"}, "schedule-not-found"),
        ({"schedule": "a", "task": "b"}, "settings"),
        ({"step": "load"}, "settings"),
        ({"since": "32d"}, "moment"),
        ({"since": "soon"}, "duration"),
        ({"tz": "Europe/Nowhere"}, "trigger"),
        ({"by": "week"}, "request"),
    ],
)
def test_what_statistics_cannot_be_asked_is_refused(callers: Callers, asked: dict[str, str], kind: str) -> None:
    assert kind_of(callers.viewer.get("/statistics", params=asked)) == kind
