"""Sentences on a page: moments in its zone, runs as links, everything else as it is written."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from onthedot.moments import ceil_ms
from onthedot.web.dashboard.addresses import Addresses
from onthedot.web.dashboard.prose import prose

NOW = ceil_ms("2026-03-26T14:00:00Z")
RUN = "019d29c1-4f40-7a2e-8000-0123456789ab"
URL = Addresses("/jobs", "/jobs/runs")


def shown(text: str) -> str:
    return str(prose(text, URL, NOW, ZoneInfo("Europe/Berlin")))


def test_a_moment_is_told_in_the_zone_and_its_title_holds_it_in_utc() -> None:
    assert shown("no node was alive from 2026-03-26T13:30:00Z on") == (
        'no node was alive from <time datetime="2026-03-26T13:30:00Z" title="2026-03-26T13:30:00Z">14:30</time> on'
    )


def test_a_run_is_a_link_to_its_page() -> None:
    assert shown(f"behind run {RUN} of x") == (
        f'behind run <a class="now mono" href="/jobs/runs/{RUN}" title="{RUN}">…6789ab</a> of x'
    )


def test_what_somebody_wrote_stays_text() -> None:
    assert shown("<b>&'") == "&lt;b&gt;&amp;&#39;"


def test_how_long_something_took_is_not_torn_apart() -> None:
    assert shown("for 8 min 42 s; 3 ms late") == "for 8\u00a0min 42\u00a0s; 3\u00a0ms late"
