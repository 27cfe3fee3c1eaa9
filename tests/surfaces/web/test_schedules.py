"""Schedules over HTTP: defined, changed by revision, steered, explained, many at once, exported and imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from tests.surfaces.web.client import Callers, Client, kind_of

from onthedot import App, cron, every
from onthedot.app.schedules import Affected, Put
from onthedot.errors import ScheduleNotFound
from onthedot.stores import roll_up
from onthedot.stores.retention import Retention

NIGHTLY: dict[str, Any] = {
    "name": "nightly",
    "task": "report",
    "trigger": {"cron": "30 2 * * *", "tz": "Europe/Berlin"},
    "args": {"to": "bob"},
    "options": {"tags": ["mail"], "overlap": "discard"},
}
DEFINITION = {name: value for name, value in NIGHTLY.items() if name != "name"}


def test_a_schedule_is_created_shown_changed_and_deleted(admin: Client) -> None:
    made = admin.post("/schedules", NIGHTLY)
    assert (made.status_code, made.headers["etag"]) == (201, '"1"')
    shown = admin.get("/schedules/nightly")
    assert shown.json() == made.json()
    assert (shown.json()["args"], shown.json()["policy"]["overlap"]) == ({"to": "bob"}, "discard")
    changed = admin.patch("/schedules/nightly", {"trigger": "every 15m"}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert (changed.json()["trigger"]["interval"], changed.json()["args"]) == ("15m", {"to": "bob"})
    replaced = admin.put("/schedules/nightly", DEFINITION, headers={"If-Match": '"2"'})
    assert replaced.headers["etag"] == '"3"'
    assert admin.delete("/schedules/nightly", headers={"If-Match": '"3"'}).status_code == 204
    assert kind_of(admin.get("/schedules/nightly")) == "schedule-not-found"
    whats = [each["what"] for each in admin.get("/schedules/nightly/changes").json()["changes"]]
    assert whats == ["delete", "put", "update", "put"]


def test_every_with_at_is_a_time_of_day(admin: Client) -> None:
    fortnightly = {"every": "2w", "at": "09:00", "anchor": "2026-01-05", "tz": "Europe/Berlin", "fold": "last"}
    made = admin.post("/schedules", {**NIGHTLY, "trigger": fortnightly}).json()
    assert made["trigger"]["at"] == "09:00"
    again = admin.patch("/schedules/nightly", {"trigger": made["trigger"]}).json()  # what it shows, it takes
    assert again["trigger"] == made["trigger"]


def test_an_option_that_a_patch_gives_as_null_is_taken_back(admin: Client) -> None:
    admin.post("/schedules", {**NIGHTLY, "options": {"timeout": "5m", "group": "eu", "tags": ["mail"]}})
    changed = admin.patch("/schedules/nightly", {"options": {"timeout": None, "tags": None}}).json()
    assert (changed["policy"]["timeout"], changed["tags"], changed["given"]) == (None, [], ["group"])
    assert kind_of(admin.patch("/schedules/nightly", {"options": {"timeuot": None}})) == "settings"


def test_who_changes_what_somebody_else_has_changed_is_told_both_revisions(admin: Client) -> None:
    admin.post("/schedules", NIGHTLY)
    admin.patch("/schedules/nightly", {"args": {"to": "eve"}})
    for late in (
        admin.patch("/schedules/nightly", {"args": {}}, headers={"If-Match": '"1"'}),
        admin.put("/schedules/nightly", DEFINITION, headers={"If-Match": '"1"'}),
        admin.delete("/schedules/nightly", headers={"If-Match": '"1"'}),
    ):
        assert (late.status_code, kind_of(late)) == (412, "stale-revision")
        assert (late.json()["expected"], late.json()["actual"]) == (1, 2)
    assert admin.get("/schedules/nightly").json()["args"] == {"to": "eve"}


def test_what_must_be_new_is_refused_if_it_is_not(admin: Client) -> None:
    assert admin.put("/schedules/nightly", DEFINITION, headers={"If-None-Match": "*"}).status_code == 200
    again = admin.put("/schedules/nightly", DEFINITION, headers={"If-None-Match": "*"})
    assert (again.status_code, again.json()["actual"]) == (412, 1)
    assert kind_of(admin.post("/schedules", NIGHTLY)) == "conflict"


@pytest.mark.parametrize("etag", ["x", '"-1"', '"1.5"', '"' + "9" * 30 + '"', '"²"'])
def test_an_if_match_that_is_no_etag_is_refused(admin: Client, etag: str) -> None:
    admin.post("/schedules", NIGHTLY)
    answer = admin.patch("/schedules/nightly", {"args": {}}, headers={"If-Match": etag.encode()})
    assert (answer.status_code, kind_of(answer)) == (422, "settings")


def test_a_wrong_trigger_is_told_with_its_column(admin: Client) -> None:
    answer = admin.post("/schedules", {**NIGHTLY, "trigger": "30 2 * * 8"})
    assert (answer.status_code, kind_of(answer)) == (422, "trigger")
    assert (answer.json()["text"], answer.json()["column"]) == ("30 2 * * 8", 10)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"task": "reprot"}, "task-not-found"),
        ({"args": {"too": 1}}, "arguments"),
        ({"options": {"overlapp": "discard"}}, "settings"),
        ({"options": {"unchecked": True}}, "settings"),
        ({"options": {"revision": 7}}, "settings"),
        ({"name": "a/b"}, "settings"),
        ({"trigger": {"cron": "* * * * *", "every": "1m"}}, "trigger"),
        ({"trigger": {"every": "1m", "gap": "skip"}}, "trigger"),
        ({"trigger": {"v": 1, "type": "moon"}}, "trigger"),
        ({"trigger": {"at": "2026-12-24 18:00"}}, "trigger"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_with_its_kind(admin: Client, fields: dict[str, Any], kind: str) -> None:
    answer = admin.post("/schedules", {**NIGHTLY, **fields})
    assert (answer.status_code, kind_of(answer)) == (422, kind), answer.text
    assert admin.get("/schedules").json()["schedules"] == []


@pytest.mark.parametrize("field", ["command", "shell", "url", "http"])
def test_commands_and_urls_cannot_be_defined_over_http(admin: Client, field: str) -> None:
    assert kind_of(admin.post("/schedules", {**NIGHTLY, field: "rm -rf /"})) == "request"
    assert kind_of(admin.post("/schedules", {**NIGHTLY, "options": {field: "rm -rf /"}})) == "settings"


@pytest.mark.parametrize("name", ["50%", "it's", 'say "hi"', "naïve 🕰", "<script>", "a; DROP TABLE x", "a?b#c", "..x"])
def test_names_come_back_as_they_were_written(admin: Client, name: str) -> None:
    assert admin.post("/schedules", {**NIGHTLY, "name": name}).json()["name"] == name
    assert admin.get(f"/schedules/{quote(name)}").json()["name"] == name


@pytest.mark.parametrize("name", ["%00", "..%2F..%2Fetc", "x" * 5000, "%ED%A0%80", "%F0%9F%95%B0"])
def test_names_that_nobody_has_are_not_found(admin: Client, name: str) -> None:
    for answer in (admin.get(f"/schedules/{name}"), admin.post(f"/schedules/{name}/pause"), admin.get(f"/runs/{name}")):
        assert answer.status_code == 404, answer.text


def test_a_name_that_is_nearly_right_is_told(admin: Client) -> None:
    admin.post("/schedules", NIGHTLY)
    assert admin.get("/schedules/nihgtly").json()["nearest"] == ["nightly"]


def test_schedules_are_listed_by_tag_and_cursor(app: App, admin: Client) -> None:
    for name in "abc":
        app.schedules.put(name, "report", every("1h"), tags=["x"] if name != "b" else [])
    first = admin.get("/schedules?limit=2").json()
    assert ([each["name"] for each in first["schedules"]], first["cursor"]) == (["a", "b"], "b")
    rest = admin.get("/schedules", params={"limit": 2, "cursor": first["cursor"]}).json()
    assert ([each["name"] for each in rest["schedules"]], rest["cursor"]) == (["c"], None)
    assert [each["name"] for each in admin.get("/schedules?tag=x").json()["schedules"]] == ["a", "c"]
    assert admin.get("/schedules?limit=201").status_code == 422


# steering


def test_pause_says_what_it_skipped_and_the_audit_who_did_it(app: App, callers: Callers) -> None:
    app.schedules.put("nightly", "report", every("1h"))
    paused = callers.operator.post("/schedules/nightly/pause", {"note": "disk is full"}).json()
    assert (paused["skipped"], paused["running"]) == (0, 0)
    assert (paused["schedule"]["state"], paused["schedule"]["paused_note"]) == ("paused", "disk is full")
    assert callers.operator.post("/schedules/nightly/resume").json()["schedule"]["state"] == "active"
    resumed, stopped, _ = callers.viewer.get("/schedules/nightly/changes").json()["changes"]
    assert (stopped["who"], stopped["surface"], stopped["what"]) == ("the-operator", "http", "pause")
    assert (stopped["before"]["enabled"], stopped["after"]["enabled"]) == (True, False)
    assert resumed["what"] == "resume"


def test_one_idempotency_key_is_one_run(app: App, callers: Callers) -> None:
    app.schedules.put("nightly", "report", every("1h"))
    key = {"Idempotency-Key": "deploy-7"}
    first, second = (callers.operator.post("/schedules/nightly/trigger", headers=key) for _ in range(2))
    assert first.status_code == second.status_code == 202
    assert first.json()["id"] == second.json()["id"]
    refused = callers.operator.post("/schedules/nightly/trigger", {"args": {"to": "eve"}}, headers=key)
    assert (refused.status_code, kind_of(refused)) == (422, "idempotency-key")
    assert first.json()["id"] in refused.json()["detail"]
    by_token = callers.operator.post("/schedules/nightly/trigger", {"args": {"to": "eve"}, "token": "deploy-7"})
    assert by_token.json()["id"] == first.json()["id"]
    app.schedules.update("nightly", args={"to": "zoe"})
    again = callers.operator.post("/schedules/nightly/trigger", headers=key)
    assert again.json()["id"] == first.json()["id"], "it was asked for in the same words"
    other = callers.operator.post("/schedules/nightly/trigger", {"args": {"to": "eve"}})
    assert (other.json()["args"], other.json()["cause"]) == ({"to": "eve"}, "manual")


def test_a_key_whose_run_has_been_forgotten_still_stands_for_it(
    app: App, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roll_up, "ROLL_UP_AFTER_MS", -1000)  # else it would stay for a minute
    app.schedules.put("nightly", "report", every("1h"))
    client = callers.operator.with_headers(Idempotency_Key="deploy-7")
    first = client.post("/schedules/nightly/trigger", {"args": {"to": "eve"}}).json()["id"]
    app.runs.cancel(first)
    app.open_store().prune(Retention(history_ms=-1000))
    assert kind_of(callers.viewer.get(f"/runs/{first}")) == "run-not-found"
    for args in ({"to": "eve"}, {"to": "zoe"}):
        again = client.post("/schedules/nightly/trigger", {"args": args})
        assert (again.status_code, again.json()["id"]) == (202, first)


def test_a_moment_that_lies_ahead_can_be_the_next(app: App, callers: Callers) -> None:
    app.schedules.put("nightly", "report", every("1h"))
    moved = callers.operator.post("/schedules/nightly/reschedule", {"at": "2199-01-01T00:00:00Z"})
    assert moved.json()["next_run_at"] == "2199-01-01T00:00:00Z"
    past = callers.operator.post("/schedules/nightly/reschedule", {"at": "2020-01-01T00:00:00Z"})
    assert (past.status_code, kind_of(past)) == (409, "conflict")
    assert kind_of(callers.operator.post("/schedules/nightly/reschedule", {"at": "soon"})) == "moment"


# what it will do, and why it did not


def test_a_preview_tells_words_moments_and_what_the_clock_does_to_them(admin: Client) -> None:
    given = {"trigger": {"cron": "30 2 * * *", "tz": "Europe/Berlin", "starts_at": "2027-03-27T00:00:00Z"}, "n": 3}
    told = admin.post("/preview", given).json()
    assert told["timezone"] == "Europe/Berlin"
    assert [(each["local"], each["note"]) for each in told["moments"]] == [
        ("2027-03-27T02:30:00+01:00", None),
        ("2027-03-28T03:00:00+02:00", "moved by a gap"),
        ("2027-03-29T02:30:00+02:00", None),
    ]
    assert kind_of(admin.post("/preview", {"trigger": "30 2 31 2 *"})) == "trigger"


def test_the_coming_moments_of_a_schedule(app: App, admin: Client) -> None:
    app.schedules.put("nightly", "report", cron("0 3 * * *", tz="Europe/Berlin"))
    told = admin.get("/schedules/nightly/next?n=3").json()
    assert (told["timezone"], told["state"], len(told["moments"])) == ("Europe/Berlin", "active", 3)
    assert all("T03:00:00+0" in each["local"] for each in told["moments"])
    assert admin.get("/schedules/nightly/next?n=101").status_code == 422


def test_an_explanation_tells_its_story_with_who_did_what(app: App, admin: Client) -> None:
    app.schedules.put("nightly", "report", every("1h"))
    admin.post("/schedules/nightly/pause", {"note": "disk is full"})
    told = admin.get("/schedules/nightly/explain?at=2099-01-01T03:00:00Z").json()
    paused = next(fact for fact in told["story"] if fact["kind"] == "paused")
    assert (paused["who"], paused["surface"], paused["text"]) == ("the-admin", "http", "paused it: “disk is full”")
    assert told["answer"]


def test_why_it_did_not_run_is_explained(app: App, admin: Client) -> None:
    app.schedules.put("nightly", "report", every("1h"))
    told = admin.get("/schedules/nightly/explain?at=2020-01-01T03:00:00Z").json()
    assert told["moment"] == "2020-01-01T03:00:00Z"
    assert "did not exist" in told["text"]
    assert admin.get("/schedules/nightly/explain").status_code == 200


# many at once, and files


def test_a_dry_run_says_what_an_act_would_do_and_does_nothing(app: App, callers: Callers) -> None:
    for name in ("a", "b"):
        app.schedules.put(name, "report", every("1h"), tags=["x"])
    dry = callers.operator.post("/bulk", {"act": "pause", "tag": "x", "dry_run": True}).json()
    assert [(each["name"], each["schedule"]["state"]) for each in dry["results"]] == [("a", "paused"), ("b", "paused")]
    assert app.schedules.get("a").enabled
    assert len(app.schedules.changes("a")) == 1
    asked = {"act": "pause", "tag": "x", "note": "moving", "expect": 2}
    assert callers.operator.post("/bulk", asked).status_code == 200
    assert (app.schedules.get("b").enabled, app.schedules.get("b").paused_note) == (False, "moving")
    assert kind_of(callers.operator.post("/bulk", {**asked, "expect": 3})) == "conflict"


def test_in_bulk_each_stands_for_itself(app: App, callers: Callers) -> None:
    app.schedules.put("a", "report", every("1h"))
    done = callers.operator.post("/bulk", {"act": "trigger", "names": ["a", "missing"]}).json()["results"]
    assert done[0]["run"]["schedule"] == "a"
    assert done[1]["problem"]["status"] == 404
    assert kind_of(callers.operator.post("/bulk", {"act": "delete", "names": ["a"]})) == "role"
    assert callers.admin.post("/bulk", {"act": "delete", "names": ["a"]}).json()["results"][0]["problem"] is None
    assert callers.admin.get("/schedules").json()["schedules"] == []
    assert kind_of(callers.admin.post("/bulk", {"act": "pause"})) == "settings"


def test_in_bulk_a_batch_goes_on_where_one_of_it_is_refused(app: App) -> None:
    for name in ("a", "c"):
        app.schedules.put(name, "report", every("1h"))
    told = app.schedules.each_counted("pause", ["a", "b", "c"])
    assert [type(each) for each in told.values()] == [Affected, ScheduleNotFound, Affected]
    assert [app.schedules.get(name).enabled for name in ("a", "c")] == [False, False]


@pytest.mark.parametrize("act", ["pause", "resume", "trigger", "delete"])
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_thousand_names_known_or_not_are_few_questions_to_the_store(
    app: App, callers: Callers, monkeypatch: pytest.MonkeyPatch, act: str, *, dry_run: bool
) -> None:
    names = [f"n{number}" for number in range(500)]
    app.schedules.put_many([Put(name, "report", every("1h")) for name in names])
    store, asked = app.open_store(), Counter[str]()
    for method in ("schedules", "change", "changes", "enqueue", "now_ms"):
        monkeypatch.setattr(store, method, _counting(asked, method, getattr(store, method)))
    body = {"act": act, "names": [*names, *(f"unknown-{number}" for number in range(500))], "dry_run": dry_run}
    results = callers.admin.post("/bulk", body).json()["results"]
    assert [each["name"] for each in results] == body["names"]
    assert [each["problem"] is None for each in results] == [True] * 500 + [False] * 500
    assert {each["problem"]["type"] for each in results[500:]} == {"urn:onthedot:problem:schedule-not-found"}
    assert asked.total() < 40, asked


def _counting(asked: Counter[str], name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*args: Any, **options: Any) -> Any:
        asked[name] += 1
        return method(*args, **options)

    return counted


def test_what_was_exported_is_imported_and_told_beforehand(admin: Client) -> None:
    admin.post("/schedules", NIGHTLY)
    document = admin.get("/export").json()
    admin.delete("/schedules/nightly")
    dry = admin.post("/import?dry_run=true", document).json()
    assert (dry["created"], dry["written"]) == (["nightly"], False)
    assert admin.post("/import", document).json()["written"]
    assert admin.get("/schedules/nightly").json()["args"] == {"to": "bob"}
    assert app_surface(admin) == "http"


def test_tasks_that_nobody_has_cannot_be_imported(admin: Client) -> None:
    admin.post("/schedules", NIGHTLY)
    document = admin.get("/export").json()
    document["schedules"][0] |= {"name": "other", "task": "rm"}
    answer = admin.post("/import", document)
    assert (answer.status_code, kind_of(answer)) == (422, "file")
    assert answer.json()["problems"] == ["other: nobody has the task 'rm'"]
    assert kind_of(admin.post("/import", {"schedules": 7})) == "file"


def test_a_file_is_checked_with_all_that_is_wrong(callers: Callers) -> None:
    told = callers.operator.post("/check", {"text": "0 8 * * * /bin/backup\n99 * * * * /bin/no\n"}).json()
    assert told["schedules"] == ["backup"]
    assert len(told["problems"]) == 1
    broken = callers.operator.post("/check", {"text": '[schedules.a]\ncron = "x"\n[schedules.b]\nevery = "y"\n'})
    assert (broken.status_code, kind_of(broken), len(broken.json()["problems"]) >= 2) == (422, "file", True)


def app_surface(client: Client) -> str:
    return str(client.get("/changes?limit=1").json()["changes"][0]["surface"])
