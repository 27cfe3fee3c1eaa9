"""The page that lists what all pages found, and the pages that it reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.every_page import index_of, read_page, write_index
from bench.plots import Axis, Line, Plot
from bench.report import Report
from bench.topics import BY_STORE, PAGES, TOPICS, chosen


def report() -> Report:
    made = Report("scripts/bench running --store sqlite", {"date": "2026-11-18", "others meanwhile": "0.01 of a core"})
    section = made.section("No-ops", "In turn.", "who", "a second")
    section.rows.append(("onthedot", 1234.0))
    section.plots.append(Plot("rate", "Rate", Axis("nodes"), Axis("runs a second"), (Line("ours", ((1, 2), (2, 3))),)))
    made.goal("5 times | Huey", "2.1 times", False)
    made.goal("none lost", "0 lost", True)
    made.beside("no-ops a second", {"Huey": 500.0, "pgqueuer": 2000.0}, 1234.0)
    made.beside("lateness, ms", {"APScheduler 3": 90.0}, 9.0, less_is_better=True)
    return made


def test_a_page_is_read_as_it_was_written(tmp_path: Path) -> None:
    report().write(tmp_path / "running.md")
    found = read_page(tmp_path / "running.md")
    assert (found.name, found.command, found.date) == ("running", "scripts/bench running --store sqlite", "2026-11-18")
    assert found.state == "calm"
    assert [goal[0] for goal in found.goals] == ["5 times \\| Huey", "none lost"]
    assert [row[-1] for row in found.peers] == ["onthedot", "pgqueuer", "onthedot"]


def test_a_page_lies_beside_its_plots(tmp_path: Path) -> None:
    report().write(tmp_path / "running.md")
    assert "![Rate](running-rate.svg)" in (tmp_path / "running.md").read_text()
    assert (tmp_path / "running-rate.svg").read_text().startswith("<svg")


def test_the_index_says_each_goal_and_where_a_peer_is_better(tmp_path: Path) -> None:
    report().write(tmp_path / "running.md")
    write_index(tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "1 of 2 goals are reached." in page
    assert "| [running](running.md) | none lost | 0 lost | reached |" in page
    assert "| [running](running.md) | no-ops a second | pgqueuer | 1,234 | 2,000 |" in page
    assert "Huey | 1,234" not in page


def test_a_page_from_a_loaded_machine_is_not_called_calm(tmp_path: Path) -> None:
    made = report()
    made.warnings.append("The machine was loaded: others used 1.50 of a core on the average.")
    made.write(tmp_path / "running.md")
    assert "**loaded**" in index_of([read_page(tmp_path / "running.md")])
    before = (tmp_path / "running.md").read_text().replace("**The machine was loaded", "**It")
    (tmp_path / "running.md").write_text(before.replace("- others meanwhile", "- load when it began"))
    assert "| load 0.01 of a core when it began |" in index_of([read_page(tmp_path / "running.md")])


def test_every_topic_has_a_page_and_no_two_share_one() -> None:
    assert {page.topic for page in PAGES} == {*TOPICS, *BY_STORE}
    assert len({page.name for page in PAGES}) == len(PAGES)


@pytest.mark.parametrize(("only", "names"), [(["timing"], ["timing"]), (["flows"], ["flows", "flows-postgresql"])])
def test_topics_are_chosen_by_name(only: list[str], names: list[str]) -> None:
    assert [page.name for page in chosen(only)] == names
