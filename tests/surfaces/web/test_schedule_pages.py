"""The pages of schedules as plain HTML: what they say, and that they act without scripts."""

from __future__ import annotations

import html
import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
from tests.surfaces.web.client import Callers, Client

from onthedot import App, cron, every
from onthedot.app.acting import acting_as
from onthedot.model.node import Node
from onthedot.moments import ceil_ms
from onthedot.web.dashboard.definition_form import shown_fields
from onthedot.web.dashboard.next_ticks import next_ticks

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def look(client: Client, path: str) -> str:
    response = client.ask("GET", path)
    assert response.status_code == 200
    return html.unescape(response.text)


def send(client: Client, path: str, **fields: str | list[str]) -> httpx.Response:
    return client.ask("POST", path, content=urlencode(fields, doseq=True), headers=FORM)


@pytest.fixture
def nightly(app: App, node: Node) -> None:
    app.schedules.put("nightly", "report", cron("30 2 * * *", tz="Europe/Berlin"), tags=["eu"])


# the list


def test_without_schedules_the_list_shows_the_first_program(admin: Client) -> None:
    assert "Nothing is scheduled yet" in look(admin, "/schedules")


def test_the_list_tells_the_trigger_in_words_and_as_written(admin: Client, nightly: None) -> None:
    page = look(admin, "/schedules")
    assert "1 schedule: none failed in the last day" in page
    assert "at 02:30 every day" in page
    assert "30 2 * * * · Berlin" in page


def test_what_is_searched_for_may_be_a_name_a_task_and_a_tag(app: App, admin: Client, nightly: None) -> None:
    app.schedules.put("hourly", "report", every("1h"), tags=["us"])
    for query in ("q=night", "q=tag:eu", "q=tag:eu+task:report", "tag=eu"):
        page = look(admin, f"/schedules?{query}")
        assert ">nightly</a>" in page
        assert ">hourly</a>" not in page


def test_where_nothing_is_found_each_part_of_the_filter_is_counted(app: App, admin: Client, nightly: None) -> None:
    app.schedules.put("hourly", "report", every("1h"))
    app.schedules.pause("hourly")
    page = look(admin, "/schedules?q=tag:eu&state=paused")
    assert "No schedule matches tag:eu paused" in page
    assert "tag:eu, 1" in page
    assert "paused, 1" in page


@pytest.mark.parametrize("part", ["nigh", "nobody"])
def test_a_text_is_looked_for_among_all_schedules_once(
    app: App, admin: Client, nightly: None, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, asked = app.open_store(), []
    schedules = store.schedules

    def overheard(**wanted: Any) -> Any:
        asked.append(wanted)
        return schedules(**wanted)

    monkeypatch.setattr(store, "schedules", overheard)
    page = look(admin, f"/schedules?q={part}")
    assert ("Nothing has it." in page) == (part == "nobody")
    searched = [each for each in asked if each.get("search")]
    assert len([each for each in searched if each.get("names") is None and each["state"] is None]) == 1


def test_the_next_page_goes_on_where_the_first_ended(app: App, admin: Client, node: Node) -> None:
    for number in range(60):
        app.schedules.put(f"s{number:02d}", "report", every("1h"))
    seen: list[str] = []
    path: str | None = "/schedules"
    while path is not None:
        page = look(admin, path)
        seen += re.findall(r'class="strong" href="[^"]+">([^<]+)</a>', page)
        more = re.search(r'<a href="([^"]+)" rel="next"', page)
        path = None if more is None else more[1]
    assert seen == [f"s{number:02d}" for number in range(60)]


def test_they_can_be_sorted_by_what_comes_next(app: App, admin: Client, node: Node) -> None:
    app.schedules.put("a-late", "report", every("20h"))
    app.schedules.put("b-soon", "report", every("3s"))
    names = re.findall(r'class="strong" href="[^"]+">([^<]+)</a>', look(admin, "/schedules?sort=next"))
    assert names == ["b-soon", "a-late"]


@pytest.mark.parametrize("query", ["state=nonsense", "sort=x&cursor=%F0%9F", "q=" + "x" * 900, "cursor=zz&sort=next"])
def test_an_address_that_was_cut_short_still_shows_a_page(admin: Client, nightly: None, query: str) -> None:
    look(admin, f"/schedules?{query}")


@pytest.mark.parametrize(
    "path", ["/schedules?state=odd", "/schedules?sort=odd", "/timeline?range=odd", "/timeline?at=odd"]
)
def test_what_of_an_address_nobody_knows_is_told(admin: Client, nightly: None, path: str) -> None:
    assert "no moment" in look(admin, path) or "There is no" in look(admin, path)
    assert 'role="alert"' not in look(admin, path.partition("?")[0])


def test_a_page_of_the_list_stays_below_its_size(app: App, admin: Client, node: Node) -> None:
    for number in range(40):
        tags = ["finance", "europe"]
        app.schedules.put(f"a-schedule-with-a-name-{number:03d}", "report", cron("*/15 6-22 * * *"), tags=tags)
    assert len(look(admin, "/schedules").encode()) < 60_000


def test_a_viewer_is_offered_no_acts(callers: Callers, nightly: None) -> None:
    page = look(callers.viewer, "/schedules") + look(callers.viewer, "/schedules/nightly")
    assert 'name="act"' not in page
    assert "Trigger…" not in page
    assert "/edit" not in page


# one schedule


def test_a_pause_is_answered_with_who_and_their_note(app: App, admin: Client, nightly: None) -> None:
    send(admin, "/schedules/nightly/pause", note="warehouse migration")
    page = look(admin, f"/schedules/nightly?tick={datetime.now(UTC).year + 1}-03-03T01:30Z")
    assert "the-admin" in page
    assert "“warehouse migration”" in page
    assert "It is paused" in page


def test_the_next_ten_note_the_night_in_which_the_clock_jumps() -> None:
    trigger = cron("30 2 * * *", tz="Europe/Berlin")
    start = ceil_ms("2026-03-27T00:00Z")
    ticks = next_ticks(trigger, list(trigger.between_ms(start, start + 5 * 86_400_000)))
    assert [f"{each.local:%d %H:%M}" for each in ticks] == ["27 02:30", "28 02:30", "29 03:00", "30 02:30", "31 02:30"]
    assert ticks[2].moved
    assert "jumps from 02:00 to 03:00" in ticks[2].note
    assert ticks[3].note == "From here on an hour earlier in UTC: summer time."
    assert not ticks[1].note


def test_a_time_that_the_clock_shows_twice_is_noted() -> None:
    trigger = cron("30 2 * * *", tz="Europe/Berlin", fold="both")
    start = ceil_ms("2026-10-25T00:00Z")
    ticks = next_ticks(trigger, list(trigger.between_ms(start, start + 86_400_000)))
    assert [each.note[-15:] for each in ticks[:2]] == ["the first time.", "he second time."]


def test_a_moment_without_a_zone_is_meant_on_the_schedules_own_clock(admin: Client, nightly: None) -> None:
    page = look(admin, "/schedules/nightly?" + urlencode({"tick": "2026-03-13 02:30"}))
    assert "onthedot explain nightly 2026-03-13T01:30Z" in page


def test_a_moment_that_is_none_says_so_and_shows_the_page(admin: Client, nightly: None) -> None:
    assert "is no moment" in look(admin, "/schedules/nightly?tick=nonsense")


def test_one_that_was_deleted_says_who_did_it_and_offers_to_put_it_back(admin: Client, nightly: None) -> None:
    send(admin, "/schedules/nightly/delete", name="nightly")
    page = look(admin, "/schedules/nightly")
    assert "does not exist any more" in page
    assert "the-admin" in page
    assert send(admin, "/schedules/nightly/put-back", revision="1").status_code == 303
    assert "does not exist any more" not in look(admin, "/schedules/nightly")


def test_one_that_never_was_is_not_found(admin: Client, nightly: None) -> None:
    response = admin.ask("GET", "/schedules/nightlt")
    assert response.status_code == 404
    assert "nightly" in response.text


def test_rules_that_were_set_here_are_told_apart_from_defaults(app: App, admin: Client, node: Node) -> None:
    app.schedules.put("nightly", "report", every("1h"), overlap="discard")
    page = look(admin, "/schedules/nightly")
    assert '<dd class="set">discard</dd>' in page
    assert "<dd>fire once, grace 10 s</dd>" in page


@pytest.mark.parametrize("name", ["100%", "a'b\"c", "<script>alert(1)", "🦉", "new", "import", "é?&#"])
def test_a_name_is_shown_as_it_is_written(app: App, admin: Client, node: Node, name: str) -> None:
    app.schedules.put(name, "report", every("1h"))
    for path in ("/schedules", f"/schedules/{quote(name, safe='')}", f"/schedules/{quote(name, safe='')}/edit"):
        page = admin.ask("GET", path)
        assert page.status_code == 200
        assert html.escape(name, quote=False).split("'")[0] in page.text.replace("&#39;", "'")
        assert "<script>alert" not in page.text


# defining


def test_a_wrong_trigger_marks_its_column_and_cannot_be_saved(app: App, admin: Client, nightly: None) -> None:
    response = send(admin, "/schedules/nightly/edit", do="save", trigger="30 2 * * 8", revision="1")
    page = html.unescape(response.text)
    assert response.status_code == 422
    assert "\n         ^\n" in page.replace("data-wrong>", "data-wrong>\n")
    assert "(column 10)" in page
    assert 'value="30 2 * * 8"' in page
    assert app.schedules.get("nightly").revision == 1


def test_the_check_without_scripts_shows_what_it_would_do_and_saves_nothing(
    app: App, admin: Client, nightly: None
) -> None:
    response = send(admin, "/schedules/nightly/edit", do="check", trigger="0 9 * * *", revision="1")
    assert response.status_code == 200
    assert "At 09:00 every day" in response.text
    assert app.schedules.get("nightly").revision == 1


def test_a_saved_edit_can_be_undone_and_leaves_the_rest_as_it_was(app: App, admin: Client, nightly: None) -> None:
    response = send(admin, "/schedules/nightly/edit", do="save", trigger="0 9 * * *", revision="1")
    assert response.status_code == 303
    changed = app.schedules.get("nightly")
    assert (changed.trigger["text"], changed.trigger["tz"], changed.tags) == ("0 9 * * *", "Europe/Berlin", ("eu",))
    send(admin, "/schedules/nightly/put-back", revision="1")
    assert app.schedules.get("nightly").trigger["text"] == "30 2 * * *"


def test_the_second_of_two_who_edit_sees_both_versions_and_loses_nothing(
    app: App, admin: Client, nightly: None
) -> None:
    with acting_as("ops-2", "dashboard"):
        app.schedules.update("nightly", trigger=cron("0 5 * * *", tz="Europe/Berlin"))
    response = send(
        admin, "/schedules/nightly/edit", do="save", trigger="0 9 * * *", args='{"to": "bob"}', revision="1"
    )
    page = html.unescape(response.text)
    assert response.status_code == 412
    assert "ops-2 changed nightly while you were editing" in page
    assert "0 5 * * *" in page
    assert 'value="0 9 * * *"' in page
    assert """value="{"to": "bob"}\"""" in page
    assert app.schedules.get("nightly").revision == 2
    again = send(admin, "/schedules/nightly/edit", do="save", trigger="0 9 * * *", args='{"to": "bob"}', revision="2")
    assert again.status_code == 303
    assert app.schedules.get("nightly").args == {"to": "bob"}


def test_a_trigger_that_cannot_be_typed_is_shown_as_json_and_comes_back_whole(
    app: App, node: Node, admin: Client
) -> None:
    both = cron("0 9 * * *", tz="UTC") | every("7h")
    schedule = app.schedules.put("mixed", "report", both)
    fields = shown_fields(schedule)
    assert json.loads(fields.trigger)["type"] == "union"
    send(admin, "/schedules/mixed/edit", do="save", trigger=fields.trigger, tags="x", revision="1")
    assert app.schedules.get("mixed").trigger == schedule.trigger
    assert app.schedules.get("mixed").tags == ("x",)


def test_a_new_schedule_is_made_of_a_form_and_never_replaces_one(app: App, admin: Client, node: Node) -> None:
    given = {"name": "fresh", "task": "report", "trigger": "every 15m", "args": '{"to": "bob"}', "do": "save"}
    assert send(admin, "/new", **given, retries="2", tags="a, b").status_code == 303
    made = app.schedules.get("fresh")
    assert (made.args, made.tags, made.policy.retries) == ({"to": "bob"}, ("a", "b"), 2)
    again = send(admin, "/new", **given)
    assert again.status_code == 422
    assert "There is a schedule fresh already" in again.text
    assert 'value="every 15m"' in again.text


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("args", "{", "no JSON"),
        ("args", "[]", "object is wanted"),
        ("retries", "many", "whole number"),
        ("timeout", "soon", "timeout"),
        ("options", '{"nonsense": 1}', "nonsense"),
        ("tz", "Mars/Base", "Mars/Base"),
    ],
)
def test_what_is_wrong_with_a_field_is_said_and_what_was_typed_stays(
    admin: Client, node: Node, field: str, value: str, said: str
) -> None:
    fields = {"name": "fresh", "task": "report", "trigger": "0 9 * * *", "do": "save", field: value}
    response = send(admin, "/new", **fields)
    assert response.status_code == 422
    assert said in html.unescape(response.text)
    assert value in html.unescape(response.text)


def test_an_import_says_what_would_differ_before_it_writes(app: App, admin: Client, nightly: None) -> None:
    document = app.schedules.export()
    document["schedules"][0]["trigger"]["text"] = "0 9 * * *"
    document["schedules"].append({**document["schedules"][0], "name": "another"})
    text = json.dumps(document)
    page = html.unescape(send(admin, "/import", document=text, do="check").text)
    assert "1 schedule would be created, 1 changed" in page
    assert app.schedules.get("nightly").revision == 1
    assert send(admin, "/import", document=text, do="import").status_code == 303
    assert app.schedules.get("another").trigger["text"] == "0 9 * * *"


def test_an_import_that_is_no_document_says_all_that_is_wrong(admin: Client, node: Node) -> None:
    assert "this is no JSON" in html.unescape(send(admin, "/import", document="{", do="check").text)
    wrong = send(admin, "/import", document='{"onthedot": 1, "schedules": [{"name": "a"}]}', do="import")
    assert wrong.status_code == 422
    assert "schedule 1 (a)" in html.unescape(wrong.text)


def test_a_trigger_that_cannot_be_read_has_a_page_that_says_so(app: App, admin: Client, nightly: None) -> None:
    with closing(sqlite3.connect(app.url.removeprefix("sqlite:///"))) as connection, connection:
        spoilt = json.dumps({"trigger": {"v": 9, "type": "moon"}})
        connection.execute("UPDATE onthedot_schedules SET definition = ?", (spoilt,))
    page = look(admin, "/schedules/nightly")
    assert "Its trigger cannot be read" in page
    assert "next <b>" not in page


def test_no_more_is_to_come_than_max_runs_leaves(app: App, admin: Client, node: Node) -> None:
    app.schedules.put("thrice", "report", cron("0 4 * * *"), args={"to": "ann"}, max_runs=3)
    page = look(admin, "/schedules/thrice")
    assert "<h2>Next 3</h2>" in page
    assert page.count('<td class="nowrap"><time') == 3


def test_a_zone_is_named_once(app: App, admin: Client, node: Node) -> None:
    app.schedules.put("both", "report", cron("30 2 25 10 *", tz="Europe/Berlin", fold="both"), args={"to": "ann"})
    assert look(admin, "/schedules/both").count("Europe/Berlin time") == 1


def test_an_option_whose_field_is_emptied_is_taken_back(app: App, admin: Client, nightly: None) -> None:
    app.schedules.update(
        "nightly", timeout="5m", retries=2, overlap="discard", group="eu", limit="mail:5", max_runs=9
    )  # fmt: skip
    shown = shown_fields(app.schedules.get("nightly"))
    assert (shown.timeout, shown.retries, shown.overlap) == ("5m", "2", "discard")
    assert json.loads(shown.options) == {"group": "eu", "limit": "mail:5", "max_runs": 9}
    emptied = {"timeout": "", "retries": "", "overlap": "", "tags": "", "options": '{"limit": "mail:5"}'}
    assert send(admin, "/schedules/nightly/edit", do="save", revision="2", **emptied).status_code == 303
    back = app.schedules.get("nightly")
    assert (back.given, back.tags, back.max_runs) == (("limit",), (), None)
    policy = back.policy
    assert (policy.timeout_ms, policy.retries, policy.overlap, policy.group) == (None, 0, "serial", None)
    send(admin, "/schedules/nightly/put-back", revision="2")
    assert app.schedules.get("nightly").policy.timeout_ms == 300_000
