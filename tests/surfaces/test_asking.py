"""What people ask the command line for: who changed what, runs and schedules by what they are, what is to come."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.counted_ends import count_ends
from tests.surfaces.test_operate import Place, refusal

from onthedot import every


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    app = place.app()
    app.open_store(create=True)
    app.task(name="report")(lambda: None)
    app.task(name="send")(lambda: None)
    app.schedules.put("nightly", "report", every("1h"))
    app.schedules.put("mails", "send", every("1m"))
    app.schedules.pause("nightly", note="holidays")
    app.schedules.trigger("mails")
    app.close()
    return place


def test_changes_tell_who_did_what_newest_first_page_by_page(place: Place) -> None:
    lines = place.printed("changes").splitlines()
    assert [line.split("  ")[1].split(" by ")[0].split(" of ")[0] for line in lines] == [
        "trigger mails",
        "pause nightly",
        "put mails",
        "put nightly",
    ]
    first = place.document("changes", "nightly", "--limit", "1")
    assert [each["after"]["paused_note"] for each in first["changes"]] == ["holidays"]
    second = place.document("changes", "nightly", "--limit", "1", "--cursor", first["cursor"])
    assert [each["what"] for each in second["changes"]] == ["put"]
    assert "Did you mean nightly?" in refusal(place.run("changes", "nighly"), 1)


def test_schedules_are_listed_by_text_state_task_and_next_run(place: Place) -> None:
    def names(*arguments: str) -> list[str]:
        return [each["name"] for each in place.document("schedules", "list", *arguments)["schedules"]]

    assert names("--q", "MAIL") == names("--task", "send") == names("--state", "active") == ["mails"]
    assert names("--state", "paused") == ["nightly"]
    assert names("--state", "undeclared") == names("--state", "leaving_out") == names("--state", "frozen") == []
    assert names("--sort", "next")[0] == "mails"
    assert "active, paused, parked, ended, undeclared, leaving_out and frozen" in refusal(
        place.run("schedules", "list", "--state", "nowhere"), 2
    )


def test_runs_are_listed_by_task_node_lateness_and_time(place: Place) -> None:
    def count(*arguments: str) -> int:
        return len(place.document("runs", "list", *arguments)["runs"])

    assert count("--task", "send") == count("--since", "1h") == 1
    assert count("--task", "report") == count("--until", "1h") == count("--late") == count("--node", "web") == 0
    (run,) = place.document("runs", "list")["runs"]
    assert count("--parent", run["id"]) == 0
    assert "no moment" in refusal(place.run("runs", "list", "--since", "soon"), 2)


def test_the_forecast_of_a_store_is_as_that_of_a_file(place: Place) -> None:
    found = place.document("forecast", "--hours", "2")
    assert [each["name"] for each in found["schedules"]] == ["mails"]
    assert found["runs"] == 120
    assert found["notes"] == ["mails cannot run: no node is alive"]
    assert "not both" in refusal(place.run("forecast", "crontab", "--store", place.url), 2)


def test_explain_takes_now(place: Place) -> None:
    text = place.printed("explain", "nightly", "now")
    assert "nightly, " in text
    assert "was no moment of nightly" in text


def test_stats_tell_how_runs_ended_and_what_went_wrong(place: Place) -> None:
    assert place.printed("stats").startswith("no run has been counted since ")
    app = place.app()
    count_ends(app)
    app.close()
    first, *lines = place.printed("stats", "nightly", "--since", "24h").splitlines()
    assert first.startswith("10 runs of nightly ended since ")
    assert first.endswith(": 2 failed, 8 succeeded")
    assert lines[0].split() == ["hour", "ended", "well", "late", "p50", "p95", "p99", "took", "p50", "p95", "p99"]
    assert "80.0 %" in lines[2]
    assert lines[-1].split() == ["2", "OSError:", "disk", "#", "is", "<full>"]
    told = place.document("stats", "nightly")
    assert (told["total"], told["by"], told["ended"]) == (10, "day", {"succeeded": 8, "failed": 2})
    assert place.document("stats", "--task", "report")["total"] == 0
    assert "Did you mean nightly?" in refusal(place.run("stats", "nighly"), 1)
    assert "must lie in the last 31 days" in refusal(place.run("stats", "--since", "90d"), 2)
    assert "by= is 'hour' or 'day', not 'week'" in refusal(place.run("stats", "--by", "week"), 2)
