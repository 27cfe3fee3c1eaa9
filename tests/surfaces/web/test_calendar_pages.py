"""The pages of calendars: what they show, what their forms do, and what is refused."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from tests.surfaces.web.client import Callers, Client

from onthedot import App, calendar, every


@pytest.fixture
def page(callers: Callers) -> Client:
    """An admin who needs no session: a bearer's forms need no token against forgery."""
    return Client(callers.web, token=callers.admin.token, headers={"Accept": "text/html"}, prefix="")


def _post(page: Client, path: str, **fields: str) -> tuple[int, str]:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = page.ask("POST", path, content=urlencode(fields), headers=headers)
    return answer.status_code, answer.text


def test_a_calendar_is_put_shown_by_the_year_and_deleted(app: App, page: Client) -> None:
    assert _post(page, "/calendars", name="de", days="2026-12-25 Christmas <Day>\n2026-12-30..2026-12-31\n")[0] == 303
    assert app.calendars.get("de").days.entries() == [
        ("2026-12-25", "Christmas <Day>"),
        ("2026-12-30..2026-12-31", ""),
    ]
    shown = page.ask("GET", "/calendars/de?year=2026").text
    assert "de leaves out 3 days of 2026" in shown
    assert "<title>2026-12-25 Christmas &lt;Day&gt;</title>" in shown
    assert "No day of 2031 is in it." in page.ask("GET", "/calendars/de?year=2031").text
    app.schedules.put("hourly", "report", every("1h") - calendar("de"))
    assert 'href="/schedules/hourly"' in page.ask("GET", "/calendars/de").text
    _post(page, "/calendars/de/delete")
    assert app.calendars.get("de").rev == 1, "what is used is not deleted"
    app.schedules.delete("hourly")
    assert _post(page, "/calendars/de/delete")[0] == 303
    assert page.ask("GET", "/calendars/de").status_code == 404


def test_a_named_trigger_is_put_and_deleted(app: App, page: Client) -> None:
    assert _post(page, "/triggers", name="nightly", trigger="0 3 * * *", tz="Europe/Berlin")[0] == 303
    assert "at 03:00 every day, Europe/Berlin time" in page.ask("GET", "/calendars").text
    assert _post(page, "/triggers/nightly/delete")[0] == 303
    assert app.triggers.list() == []


@pytest.mark.parametrize(
    ("path", "fields", "said"),
    [
        ("/calendars", {"name": "de", "days": "25.12.2026"}, "is no date"),
        ("/calendars", {"name": "de", "days": ""}, "no dates were given"),
        ("/calendars", {"name": "de", "days": "BEGIN:VCALENDAR\nEND:VCALENDAR"}, "no event of it lies in"),
        ("/triggers", {"name": "x", "trigger": "0 25 * * *"}, "hour"),
        ("/triggers", {"name": "x", "trigger": "every 1h except calendar fr"}, "no calendar named &#39;fr&#39;"),
    ],
)
def test_what_is_wrong_is_told_beside_the_form_and_what_was_typed_stays(
    page: Client, path: str, fields: dict[str, str], said: str
) -> None:
    status, text = _post(page, path, **fields)
    assert status == 422
    assert said in text
    assert f'value="{fields["name"]}"' in text


def test_viewers_see_calendars_and_no_forms(app: App, callers: Callers) -> None:
    app.calendars.put("de", {"2026-12-25": "Christmas Day"})
    viewer = Client(callers.web, token=callers.viewer.token, headers={"Accept": "text/html"}, prefix="")
    for path in ("/calendars", "/calendars/de"):
        text = viewer.ask("GET", path).text
        assert "<textarea" not in text
        assert "de" in text
    assert _post(viewer, "/calendars", name="de", days="2026-12-25")[0] == 403
