"""Mounted in an app that knows its people: what they may do here is what that app says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Mount
from tests.surfaces.web.client import API, Client, kind_of

from onthedot import App
from onthedot.model.token import Token
from onthedot.web.streams import Holder
from onthedot.web.watching import OUTSIDE_MS, holder_of, is_over

ROLES = {"ann": "admin", "oli": "operator", "vic": "viewer"}


def who(request: Request) -> tuple[str, str] | None:
    """As an app might know it: by a cookie of its own."""
    name = request.cookies.get("shop_session", "")
    return (name, ROLES[name]) if name in ROLES else None


async def who_async(request: Request) -> tuple[str, str] | None:
    return who(request)


class Asked:
    """An object that is called, and awaited."""

    async def __call__(self, request: Request) -> tuple[str, str] | None:
        return who(request)


def mounted(app: App, auth: Callable[[Any], Any]) -> Client:
    return Client(Starlette(routes=[Mount("/jobs", app.web(auth=auth))]), prefix=f"/jobs{API}")


def called(client: Client, name: str) -> Client:
    return client.with_headers(Cookie=f"shop_session={name}")


@pytest.mark.parametrize("auth", [who, who_async, Asked()], ids=["plain", "async", "object"])
def test_who_is_known_outside_needs_no_token_and_may_what_their_role_may(app: App, auth: Callable[[Any], Any]) -> None:
    web = mounted(app, auth)
    told = called(web, "oli").get("/session").json()
    assert told == {"name": "oli", "role": "operator", "how": "outside", "csrf": None}
    assert called(web, "oli").post("/runs", {"task": "report"}).status_code == 202
    assert kind_of(called(web, "oli").get("/tokens")) == "role"
    assert kind_of(called(web, "vic").post("/runs", {"task": "report"})) == "role"
    assert called(web, "ann").get("/tokens").json() == {"tokens": []}


def test_what_they_do_is_kept_under_their_name(app: App) -> None:
    called(mounted(app, who), "ann").post("/tokens", {"name": "bot", "role": "viewer"})
    assert [each.by.who for each in app.schedules.changes()] == ["ann"]


def test_who_is_not_known_outside_needs_a_token(app: App) -> None:
    web = mounted(app, who)
    assert kind_of(called(web, "eve").get("/schedules")) == "token-needed"
    token = app.tokens.create("bot", "viewer").text
    assert called(web, "eve").with_token(token).get("/session").json()["name"] == "bot"
    page = called(web, "eve").ask("GET", "/jobs/")
    assert (page.status_code, page.headers["location"]) == (303, "/jobs/sign-in?next=/jobs/")


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
def test_another_site_cannot_act_in_their_name(app: App, headers: dict[str, str]) -> None:
    ann = called(mounted(app, who), "ann")
    run = {"task": "report"}
    assert kind_of(ann.post("/runs", run, headers=headers)) == "other-site"
    form = ann.ask("POST", "/jobs/tasks/run", data=run, headers=headers)
    assert form.status_code in (403, 404)
    assert app.runs.list().items == []


def test_pages_show_who_they_are_and_no_way_to_sign_out(app: App) -> None:
    page = called(mounted(app, who), "oli").ask("GET", "/jobs/")
    assert page.status_code == 200
    assert "oli" in page.text
    assert "sign out" not in page.text


def test_what_is_raised_is_the_answer(app: App) -> None:
    def leads_on(_request: Request) -> None:
        raise HTTPException(303, headers={"Location": "/login"})

    page = mounted(app, leads_on).ask("GET", "/jobs/")
    assert (page.status_code, page.headers["location"]) == (303, "/login")


@pytest.mark.parametrize("given", ["ann", ("ann", "root"), ("", "admin"), ("ann",), 7, {"ann": "admin"}])
def test_an_auth_that_gives_something_else_opens_nothing_and_is_told_in_the_log(
    app: App, given: object, caplog: pytest.LogCaptureFixture
) -> None:
    answer = mounted(app, lambda _request: given).get("/schedules")
    assert (answer.status_code, kind_of(answer)) == (500, "auth")
    assert "it gives None, or a name and a role: ('ann', 'operator')" in caplog.text


def test_the_last_truth_is_shown_to_whom_it_was_shown_before(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    web = mounted(app, who)
    assert called(web, "ann").ask("GET", "/jobs/tokens").status_code == 200
    app.close()
    kept = [each for route in web.web.routes for each in route.app.state.dashboard.kept._pages]
    assert len(kept) == 1
    assert called(web, "vic").ask("GET", "/jobs/tokens").status_code == 403


def test_their_stream_is_opened_anew_after_a_while_whatever_tokens_there_are() -> None:
    from onthedot.model.token import Role
    from onthedot.web.security import Caller

    holder = holder_of(Caller("oli", Role.OPERATOR, outside=True), 1000)
    assert holder == Holder(expires_ms=1000 + OUTSIDE_MS, outside=True)
    tokens = [Token("bot", Role.VIEWER, "x")]
    assert not is_over(holder, tokens, 1000 + OUTSIDE_MS - 1)
    assert is_over(holder, tokens, 1000 + OUTSIDE_MS)
