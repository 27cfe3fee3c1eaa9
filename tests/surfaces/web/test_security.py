"""Tokens, sessions, other sites, other hosts, large bodies."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount
from tests.surfaces.web.client import Callers, Client, kind_of

from onthedot import App
from onthedot.errors import Conflict, SettingsError
from onthedot.model.token import Role
from onthedot.stores.memory import MemoryStore
from onthedot.testing.clock import ManualClock
from onthedot.web.dashboard.kept_pages import KeptPage, KeptPages
from onthedot.web.limits import POLICY, SignInLimit
from onthedot.web.problems import Refused
from onthedot.web.security import COOKIE, Caller

HOUR = 3_600_000


# tokens


def test_of_a_token_only_a_digest_is_kept(app: App) -> None:
    made = app.tokens.create("bot", "operator")
    (kept,) = app.tokens.list()
    secret = made.text.rpartition(".")[2]
    assert len(secret) == 43  # 256 bits
    assert secret not in f"{kept} {app.schedules.changes()}"
    assert len(kept.digest) == 64


@pytest.mark.parametrize(
    "text", ["", "otd.bot.wrong", "otd.nobody.x", "bot", "otd.", "otd..", "otd.b\x00t.x", "\ud800"]
)
def test_what_is_no_token_opens_nothing(app: App, text: str) -> None:
    app.tokens.create("bot")
    assert app.tokens.check(text) is None


def test_a_token_counts_until_it_expires(manual: tuple[App, ManualClock]) -> None:
    app, clock = manual
    made = app.tokens.create("bot", expires="1h")
    assert app.tokens.check(made.text) == made.token
    clock.pass_by(HOUR)
    assert app.tokens.check(made.text) is None


def test_a_token_that_is_revoked_opens_nothing_and_its_name_is_free(app: App) -> None:
    old = app.tokens.create("bot")
    with pytest.raises(Conflict, match="already"):
        app.tokens.create("bot")
    app.tokens.revoke("bot")
    new = app.tokens.create("bot", "admin")
    assert app.tokens.check(old.text) is None
    assert app.tokens.check(new.text) == new.token


def test_a_token_whose_row_cannot_be_read_opens_nothing(app: App, tmp_path: Path) -> None:
    made = app.tokens.create("bot", "admin")
    app.close()
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as database, database:
        database.execute("UPDATE onthedot_tokens SET role = 'root'")
    assert app.tokens.check(made.text) is None
    assert [each.name for each in app.tokens.list()] == ["bot"]
    app.tokens.revoke("bot")


@pytest.mark.parametrize(("name", "role"), [("a b", "viewer"), ("", "viewer"), ("x" * 101, "viewer"), ("a", "root")])
def test_a_token_has_a_plain_name_and_a_known_role(app: App, name: str, role: str) -> None:
    with pytest.raises(SettingsError, match="token: "):
        app.tokens.create(name, role)


def test_tokens_are_made_and_revoked_over_http(callers: Callers) -> None:
    made = callers.admin.post("/tokens", {"name": "bot", "role": "operator", "expires": "1d"})
    assert made.status_code == 201
    bot = callers.nobody.with_token(made.json()["text"])
    assert bot.get("/session").json() == {"name": "bot", "role": "operator", "how": "token", "csrf": None}
    listed = callers.admin.get("/tokens").json()["tokens"]
    assert [each["name"] for each in listed] == ["bot", "the-admin", "the-operator", "the-viewer"]
    assert "text" not in listed[0]
    assert callers.admin.delete("/tokens/bot").status_code == 204
    assert bot.get("/session").status_code == 401
    assert kind_of(callers.admin.delete("/tokens/bot")) == "token-not-found"
    lines = callers.admin.get("/changes").json()["changes"][:2]
    assert [(each["who"], each["surface"], each["what"]) for each in lines] == [
        ("the-admin", "http", "revoke token"),
        ("the-admin", "http", "create token"),
    ]


# sessions


def test_a_browser_signs_in_acts_with_its_csrf_token_and_signs_out(callers: Callers) -> None:
    browser, csrf = _signed_in(callers.nobody, callers.operator.token)
    assert browser.get("/session").json()["csrf"] == csrf
    run = {"task": "report"}
    assert kind_of(browser.post("/runs", run)) == "csrf"
    assert kind_of(browser.with_headers(X_CSRF_Token="wrong").post("/runs", run)) == "csrf"
    acting = browser.with_headers(X_CSRF_Token=csrf)
    assert acting.post("/runs", run).status_code == 202
    assert acting.delete("/session").status_code == 204
    assert browser.get("/session").status_code == 401


def test_who_is_signed_in_may_sign_in_anew(callers: Callers) -> None:
    browser, _ = _signed_in(callers.nobody, callers.viewer.token)
    again, _ = _signed_in(browser, callers.admin.token)
    assert again.get("/session").json()["name"] == "the-admin"


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(callers: Callers) -> None:
    plain = callers.nobody.post("/session", {"token": callers.viewer.token}).headers["set-cookie"].lower()
    assert "httponly" in plain
    assert "samesite=strict" in plain
    assert "secure" not in plain
    safe = replace(callers.nobody, base="https://scheduler.example")
    assert "secure" in safe.post("/session", {"token": callers.viewer.token}).headers["set-cookie"].lower()


def test_a_session_ends_with_its_token_at_once(app: App, callers: Callers) -> None:
    browser, _ = _signed_in(callers.nobody, callers.viewer.token)
    assert browser.get("/session").status_code == 200
    app.tokens.revoke("the-viewer")
    assert browser.get("/session").status_code == 401
    app.tokens.create("the-viewer", "admin")
    assert browser.get("/session").status_code == 401


def test_a_session_lasts_no_longer_than_twelve_hours_or_its_token(manual: tuple[App, ManualClock]) -> None:
    app, clock = manual
    brief, _ = app.tokens.sign_in(app.tokens.create("brief", expires="1h").token)
    long, _ = app.tokens.sign_in(app.tokens.create("long").token)
    clock.pass_by(HOUR)
    assert app.tokens.signed_in(brief) is None
    assert app.tokens.signed_in(long) is not None
    clock.pass_by(11 * HOUR)
    assert app.tokens.signed_in(long) is None


def test_who_guesses_tokens_must_wait(callers: Callers) -> None:
    for _ in range(10):
        assert kind_of(callers.nobody.post("/session", {"token": "otd.the-admin.guess"})) == "token-wrong"
    refused = callers.nobody.post("/session", {"token": callers.admin.token})
    assert (refused.status_code, kind_of(refused)) == (429, "too-many-attempts")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    elsewhere = replace(callers.nobody, address="192.0.2.7")
    assert elsewhere.post("/session", {"token": callers.admin.token}).status_code == 201


def test_after_a_minute_one_may_try_again() -> None:
    clock = ManualClock(0)
    limit = SignInLimit(2, clock)
    for _ in range(2):
        limit.check("a")
        limit.failed("a")
        clock.pass_by(20_000)
    with pytest.raises(Refused, match="try again in 21 s"):
        limit.check("a")
    clock.pass_by(20_000)
    limit.check("a")


# other sites, other hosts


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Origin": "null"}]
)
def test_another_site_can_ask_for_no_change(callers: Callers, headers: dict[str, str]) -> None:
    browser, csrf = _signed_in(callers.nobody, callers.admin.token)
    answer = browser.with_headers(X_CSRF_Token=csrf, **headers).post("/runs", {"task": "report"})
    assert (answer.status_code, kind_of(answer)) == (403, "other-site")
    signing_in = callers.nobody.with_headers(**headers).post("/session", {"token": callers.admin.token})
    assert kind_of(signing_in) == "other-site"


def test_a_page_of_ours_may_ask_also_where_a_proxy_has_changed_the_host(callers: Callers) -> None:
    browser, csrf = _signed_in(callers.nobody, callers.admin.token)
    own = browser.with_headers(X_CSRF_Token=csrf, Origin="https://jobs.example", Sec_Fetch_Site="same-origin")
    assert own.post("/runs", {"task": "report"}).status_code == 202


def test_on_loopback_everything_is_open_until_the_first_token_is_made(app: App) -> None:
    local = Client(app.web(hosts=["localhost"], open_on_loopback=True), base="http://localhost:8642")
    assert local.get("/session").json()["how"] == "local"
    assert local.post("/runs", {"task": "report"}).status_code == 202
    assert app.schedules.changes()[0].by.who == "local"
    assert kind_of(local.with_headers(Origin="http://evil.example").post("/runs", {"task": "report"})) == "other-site"
    assert replace(local, address="192.0.2.7").get("/session").status_code == 401
    for header in ("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Forwarded", "Via"):
        assert local.get("/session", headers={header: "192.0.2.7"}).status_code == 401, header
    assert kind_of(replace(local, base="http://evil.example").get("/session")) == "host"
    app.tokens.create("first", "admin")
    assert local.get("/session").status_code == 401


def test_mounted_in_another_app_nothing_is_open(app: App) -> None:
    assert Client(app.web(), base="http://localhost").get("/session").status_code == 401


@pytest.mark.parametrize("host", ["127.0.0.1:80", "[::1]:80", "LOCALHOST"])
def test_a_host_is_known_with_any_port_and_case(app: App, host: str) -> None:
    client = Client(app.web(hosts=["localhost", "127.0.0.1", "::1"]))
    assert client.with_headers(Host=host).ask("GET", "/openapi.json").status_code == 200


# sizes and headers


def test_bodies_are_bounded_whether_they_tell_their_size_or_not(app: App) -> None:
    token = app.tokens.create("a", "admin").text
    client = Client(app.web(max_body_bytes=1000), token)
    answer = client.post("/check", {"text": "#" * 2000})
    assert (answer.status_code, kind_of(answer)) == (413, "body-too-large")
    assert answer.json()["max_bytes"] == 1000

    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"text": "'
        for _ in range(20):
            yield b"#" * 100

    headers = {"Content-Type": "application/json"}
    assert client.ask("POST", "/api/v1/check", content=pieces(), headers=headers).status_code == 413


def test_every_answer_has_the_content_policy(callers: Callers) -> None:
    for answer in (callers.nobody.get("/runs"), callers.viewer.get("/runs"), callers.nobody.ask("GET", "/nothing")):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("outer", [FastAPI, Starlette])
def test_it_can_be_mounted_and_keeps_to_its_path(app: App, outer: type[Starlette]) -> None:
    around = outer(routes=[Mount("/jobs", app=app.web())])
    token = app.tokens.create("a", "admin").text
    client = Client(around, token, prefix="/jobs/api/v1")
    assert client.get("/schedules").json() == {"schedules": [], "cursor": None}
    signed_in = client.with_token(None).post("/session", {"token": token})
    assert "path=/jobs;" in signed_in.headers["set-cookie"].lower()
    document = client.ask("GET", "/jobs/openapi.json").json()
    assert document["servers"] == [{"url": "/jobs"}]


def test_a_setting_that_is_none_is_named(app: App) -> None:
    with pytest.raises(SettingsError, match="max_body"):
        app.web(max_body=3)


def test_many_may_ask_at_once_each_under_their_own_name(app: App, callers: Callers) -> None:
    async def all_at_once() -> None:
        transport = httpx.ASGITransport(callers.web)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:

            async def ask(who: Client) -> None:
                headers = {"Authorization": f"Bearer {who.token}"}
                answer = await client.post("/api/v1/runs", json={"task": "report"}, headers=headers)
                assert answer.status_code == 202

            await asyncio.gather(*(ask(who) for who in (callers.operator, callers.admin) * 3))

    asyncio.run(all_at_once())
    names = [each.by.who for each in app.schedules.changes() if each.by.what == "enqueue"]
    assert sorted(names) == ["the-admin"] * 3 + ["the-operator"] * 3


@pytest.fixture
def manual() -> tuple[App, ManualClock]:
    clock = ManualClock(1_800_000_000_000)
    return App(store=MemoryStore(clock)), clock


@pytest.mark.parametrize(("ends_ms", "shown"), [(None, True), (2000, True), (1000, False), (500, False)])
def test_the_last_truth_of_a_page_is_not_shown_after_the_end_of_a_session(ends_ms: int | None, *, shown: bool) -> None:
    scope = {"type": "http", "method": "GET", "path": "/nodes", "query_string": b"", "headers": [(b"cookie", b"a=b")]}
    request, kept = Request(scope), KeptPages()
    kept.keep(request, KeptPage("nodes.html", {}, Caller("ann", Role.VIEWER, "secret", ends_ms=ends_ms)))
    assert (kept.find(request, 1000) is not None) is shown


def _signed_in(client: Client, token: str | None) -> tuple[Client, str]:
    answer = client.post("/session", {"token": token})
    assert answer.status_code == 201, answer.text
    return client.with_headers(Cookie=f"{COOKIE}={answer.cookies[COOKIE]}"), answer.json()["csrf"]


def test_roles_include_the_former() -> None:
    assert [[one.includes(other) for other in Role] for one in Role] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
