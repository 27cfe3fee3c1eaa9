"""What `cron()` promises, seen from outside."""

from __future__ import annotations

from onthedot import cron


def test_a_working_day_schedule_in_berlin_skips_the_weekend() -> None:
    nightly = cron("30 2 * * mon-fri", tz="Europe/Berlin")
    assert str(nightly.next("2026-11-13T12:00Z")) == "2026-11-16 01:30:00+00:00"
