"""Lines of the audit as sentences, with what was before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onthedot.model.change import Author, Change
from onthedot.triggers import cron
from onthedot.triggers.codec import encode
from onthedot.web.dashboard.change_lines import line_of


def _change(what: str, before: Mapping[str, Any], after: Mapping[str, Any], schedule: str = "nightly") -> Change:
    return Change("id", "s", schedule, 2, 0, Author("ann", "dashboard", what), before, after)


def test_a_pause_shows_its_note_and_no_noughts() -> None:
    line = line_of(_change("pause", {"enabled": True}, {"enabled": False, "paused_note": "OPS-412", "skipped": 0}))
    assert (line.did, line.what, line.note) == ("paused", "nightly", "OPS-412")
    assert [(each.name, each.before.text, each.after.text) for each in line.fields] == [("enabled", "yes", "no")]


def test_a_trigger_is_told_as_it_is_written() -> None:
    before, after = ({"trigger": encode(cron(text, tz="UTC"))} for text in ("0 2 * * *", "0 3 * * *"))
    (field,) = line_of(_change("update", before, after)).fields
    assert ("0 2 * * *" in field.before.text, "0 3 * * *" in field.after.text) == (True, True)


def test_moments_are_left_to_the_zone_of_the_page_and_durations_are_told() -> None:
    line = line_of(
        _change(
            "update",
            {"next_run_ms": 5, "policy": {"grace_ms": 1000}},
            {"next_run_ms": 6, "policy": {"grace_ms": 90_000}},
        )
    )
    assert [(each.name, each.after.ms, each.after.text) for each in line.fields] == [
        ("next run", 6, ""),
        ("grace", None, "1m30s"),
    ]


def test_a_run_that_was_taken_over_names_the_node() -> None:
    after = {
        "run": "r1",
        "task": "t",
        "state": "waiting",
        "node": "nyc-2",
        "node_id": "n",
        "renewed_ms": 1,
        "died": True,
    }
    line = line_of(_change("take over", {"state": "running"}, after))
    assert (line.did, line.what, line.run, line.from_node) == ("took over a run of", "nightly", "r1", "nyc-2")


def test_nodes_and_tokens_have_no_schedule() -> None:
    assert line_of(_change("drain", {}, {"node": "ams-1", "node_id": "n", "state": "draining"}, "")).what == "ams-1"
    token = line_of(_change("revoke token", {"role": "viewer"}, {"token": "bot"}, ""))
    assert (token.did, token.what, token.about) == ("revoked the token", "bot", "token")
