"""Each page with each role, as a browser asks for it; and forms of other sites."""

from __future__ import annotations

import re

import pytest
from fastapi.routing import APIRoute
from tests.surfaces.web.client import Callers, Client

from onthedot import App, every
from onthedot.model.token import Role
from onthedot.web.dashboard import PAGES
from onthedot.web.dashboard.page_route import PageRoute
from onthedot.web.security import COOKIE, csrf_of

WHO = ("nobody", "viewer", "operator", "admin")
BROWSER = {"Accept": "text/html"}


def _named(route: APIRoute) -> str:
    return f"{' '.join(route.methods or ())} {route.path}"


def test_every_page_is_guarded_and_none_is_in_the_openapi_document(callers: Callers) -> None:
    assert all(isinstance(route, PageRoute) for route in PAGES)
    assert all(path.startswith(("/api/", "/healthz", "/metrics")) for path in callers.web.openapi()["paths"])


@pytest.mark.parametrize("route", PAGES, ids=_named)
def test_each_page_lets_in_those_whose_role_includes_its_own_and_nobody_else(
    callers: Callers, route: PageRoute
) -> None:
    path = re.sub(r"\{\w+\}", "missing", route.path)
    (method,) = list(route.methods or ())
    for who in WHO:
        answer = callers.named()[who].ask(method, path, headers=BROWSER)
        if route.role is None or (who != "nobody" and Role(who).includes(route.role)):
            assert answer.status_code != 403, who
            assert "/sign-in?next" not in answer.headers.get("location", ""), who
        elif who == "nobody":
            assert (answer.status_code, answer.headers["location"][:14]) == (303, "/sign-in?next="), who
        else:
            assert answer.status_code == 403, who
        assert answer.status_code < 500, answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'"), who


@pytest.fixture
def signed_in(app: App, callers: Callers) -> Client:
    """An operator's browser."""
    (token,) = [each for each in app.tokens.list() if each.role is Role.OPERATOR]
    secret, _ = app.tokens.sign_in(token)
    return Client(callers.web, headers={"Cookie": f"{COOKIE}={secret}", **BROWSER}, prefix="")


def _csrf(client: Client) -> str:
    return csrf_of(client.headers["Cookie"].partition("=")[2])


@pytest.fixture
def nightly(app: App) -> str:
    return app.schedules.put("nightly", "report", every("1d")).name


def test_a_form_without_the_token_against_forgery_changes_nothing(app: App, signed_in: Client, nightly: str) -> None:
    for fields in ({}, {"csrf": "wrong"}):
        answer = signed_in.ask("POST", f"/schedules/{nightly}/pause", data=fields)
        assert answer.status_code == 403
    other_site = {"Sec-Fetch-Site": "cross-site"}
    answer = signed_in.ask("POST", f"/schedules/{nightly}/pause", data={"csrf": _csrf(signed_in)}, headers=other_site)
    assert answer.status_code == 403
    assert app.schedules.get(nightly).enabled


def test_a_form_with_it_acts_and_leads_back(app: App, signed_in: Client, nightly: str) -> None:
    fields = {"csrf": _csrf(signed_in), "back": "/changes?name=nightly", "note": "why"}
    answer = signed_in.ask("POST", f"/schedules/{nightly}/pause", data=fields)
    assert (answer.status_code, answer.headers["location"]) == (303, "/changes?name=nightly")
    assert app.schedules.get(nightly).paused_note == "why"
    assert app.schedules.changes(nightly).items[0].by.surface == "dashboard"


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:1"])
def test_nobody_is_led_to_another_site(app: App, signed_in: Client, nightly: str, elsewhere: str) -> None:
    fields = {"csrf": _csrf(signed_in), "back": elsewhere}
    answer = signed_in.ask("POST", f"/schedules/{nightly}/pause", data=fields)
    assert answer.headers["location"] == "/schedules/nightly"
    text = app.tokens.create("ann", "viewer").text
    answer = Client(signed_in.web, prefix="").ask("POST", "/sign-in", data={"token": text, "next": elsewhere})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_link_on_another_site_is_asked_for_again_from_here_where_the_cookie_goes_along(callers: Callers) -> None:
    browser = Client(callers.web, headers={**BROWSER, "Sec-Fetch-Site": "cross-site"}, prefix="")
    answer = browser.ask("GET", "/changes?name=%22x")
    assert answer.status_code == 200
    assert 'content="0;url=/changes?name=%22x"' in answer.text


def test_programs_are_told_problems_and_people_pages(callers: Callers) -> None:
    admin = callers.admin
    assert admin.ask("GET", "/nothing").headers["content-type"] == "application/problem+json"
    assert admin.ask("GET", "/nothing", headers=BROWSER).headers["content-type"].startswith("text/html")
    assert admin.ask("GET", "/api/v1/nothing", headers=BROWSER).headers["content-type"] == "application/problem+json"


def test_a_toast_that_was_forged_is_not_shown(signed_in: Client) -> None:
    forged = f"{signed_in.headers['Cookie']}; onthedot_toast=abc.WyJZb3UgaGF2ZSB3b24iLG51bGwsZmFsc2Vd"
    answer = signed_in.ask("GET", "/nodes", headers={"Cookie": forged})
    assert answer.status_code == 200
    assert "You have won" not in answer.text


def test_files_are_kept_by_browsers_until_they_change(callers: Callers) -> None:
    nobody = Client(callers.web, prefix="")
    page = nobody.ask("GET", "/sign-in").text
    (style,) = re.findall(r'href="(/static/[^"]+/style\.css)"', page)
    answer = nobody.ask("GET", style)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    assert nobody.ask("GET", "/static/older/style.css").headers["cache-control"] == "no-cache"
    assert nobody.ask("GET", "/static/x/..%2Fcss").status_code == 404


def test_no_template_has_a_style_attribute() -> None:
    from importlib.resources import files

    for template in files("onthedot.web.dashboard").joinpath("templates").iterdir():
        assert " style=" not in template.read_text(), template.name
