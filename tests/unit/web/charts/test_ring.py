"""The ring shows exactly what is to come and what came."""

import re
from datetime import UTC
from zoneinfo import ZoneInfo

from onthedot.moments import ceil_ms
from onthedot.web.dashboard.charts.ring import (
    LEFT_OUT,
    SLOTS,
    Ring,
    bar_length,
    document,
    draw,
    label_place,
    legend,
    shown_marks,
    slots_of,
    summary,
    table,
)

NOW = ceil_ms("2026-03-26T13:59:17.400Z")
SECOND = NOW // 1000


def _coming(**at: int) -> list[int]:
    counts = [0] * 120
    for place, count in at.items():
        counts[int(place[1:]) - 1] = count
    return counts


def test_its_window_is_the_sixty_seconds_after_the_present_one() -> None:
    ring = Ring(NOW, _coming(s1=3, s43=119, s60=1, s61=500))

    assert ring.window_ms == (ceil_ms("2026-03-26T13:59:18Z"), ceil_ms("2026-03-26T14:00:18Z"))
    assert ring.to_come == 123


def test_a_bar_stands_where_it_comes_and_a_mark_where_it_came() -> None:
    ring = Ring(NOW, _coming(s43=2), slots_of([(NOW - 7000, "succeeded"), (NOW - 7000, "failed")]))
    svg = draw(ring, UTC, "UTC")

    assert "<title>:00: 2 to come</title>" in _slot(svg, 0)
    assert "<title>:10: 1 failed, 1 succeeded</title>" in _slot(svg, 10)
    assert svg.count('class="coming"') == 1
    assert re.findall(r"#ring-(\w+)", _slot(svg, 10)) == ["failed", "succeeded"]


def test_what_lies_further_ahead_or_behind_is_fainter() -> None:
    ring = Ring(NOW, [1] * 60, {SECOND - behind: {"succeeded": 1} for behind in range(60)})
    svg = draw(ring, UTC, "UTC")
    ahead = [float(re.findall(r'opacity="([\d.]+)"', _slot(svg, (17 + step) % 60))[0]) for step in range(1, 61)]
    behind = [float(re.findall(r'opacity="([\d.]+)"', _slot(svg, (17 - step) % 60))[1]) for step in range(60)]

    assert ahead == sorted(ahead, reverse=True)
    assert behind == sorted(behind, reverse=True)
    assert (ahead[0], behind[0]) == (1.0, 1.0)


def test_what_came_more_than_a_minute_ago_is_not_shown() -> None:
    ring = Ring(NOW, [], {SECOND - 60: {"failed": 4}, SECOND - 59: {"succeeded": 2}})

    assert ring.totals() == {"succeeded": 2}


def test_only_a_crowded_second_is_named() -> None:
    svg = draw(Ring(NOW, _coming(s20=20, s43=119)), UTC, "UTC")

    assert "119 at 14:00:00" in svg
    assert "the full hour" in svg
    assert "20 at" not in svg


def test_names_of_crowded_seconds_do_not_stand_on_each_other() -> None:
    svg = draw(Ring(NOW, _coming(s10=30, s11=40, s12=35, s30=50)), UTC, "UTC")

    assert "40 at" in svg
    assert "50 at" in svg
    assert "35 at" not in svg
    assert "30 at" not in svg


def test_a_herd_is_longer_than_a_run_and_still_inside_the_picture() -> None:
    assert bar_length(1) < bar_length(2) < bar_length(119) <= bar_length(1_000_000) == 64


def test_five_marks_in_a_second_at_most_and_none_of_the_bad_ones_is_lost() -> None:
    assert shown_marks({"succeeded": 118, "failed": 1}) == ["failed", *["succeeded"] * 4]
    assert shown_marks({"failed": 9}) == ["failed"] * 5
    assert shown_marks({"succeeded": 9, "running": 1, LEFT_OUT: 2, "lost": 1, "failed": 3, "timed_out": 1}) == [
        "failed",
        "timed_out",
        "lost",
        LEFT_OUT,
        "running",
    ]
    assert shown_marks({}) == []


def test_every_shape_that_is_used_is_drawn() -> None:
    every = {"failed", "timed_out", "lost", LEFT_OUT, "cancelled", "running", "waiting", "succeeded"}
    svg = draw(Ring(NOW, [], {SECOND - number: {state: 1} for number, state in enumerate(every)}), UTC, "UTC")

    assert set(re.findall(r'id="ring-(\w+)"', svg)) - {"title"} == every == set(re.findall(r"#ring-(\w+)", svg))


def test_the_table_says_the_same_as_the_picture() -> None:
    ring = Ring(NOW, _coming(s1=3, s43=119), {SECOND - 7: {"failed": 1, "succeeded": 4}})
    told = re.findall(r'<th scope="row">([\d:]+)</th><td>([^<]+)', table(ring, UTC))

    assert told == [("13:59:10", "1 failed, 4 succeeded"), ("13:59:18", "3 to come"), ("14:00:00", "119 to come")]


def test_an_empty_table_says_so() -> None:
    assert "nothing comes in the next" in table(Ring(NOW, []), UTC)


def test_its_summary_counts_what_came_apart_from_what_was_left_out() -> None:
    came = {SECOND: {"succeeded": 101, "running": 1, "failed": 1, LEFT_OUT: 2}}

    assert summary(Ring(NOW, _coming(s1=214), came)) == "214 to come · 103 came · 1 failed · 2 left out"


def test_it_tells_its_clock_in_the_zone_of_the_page() -> None:
    ring = Ring(NOW, _coming(s43=119))
    svg = draw(ring, ZoneInfo("Europe/Berlin"), "Europe/Berlin")

    assert "14:59:17" in svg
    assert "119 at 15:00:00" in svg
    assert ">Berlin<" in svg
    assert document(ring, ZoneInfo("Europe/Berlin"), "Europe/Berlin")["offset"] == 3_600_000


def test_a_browser_gets_what_it_needs_to_draw_on_by_itself() -> None:
    ring = Ring(NOW, _coming(s61=5), {SECOND: {"running": 1}})
    told = document(ring, UTC, "UTC")

    assert told["now"] == NOW
    assert told["coming"][60] == 5
    assert told["came"] == {str(SECOND): {"running": 1}}


def test_only_states_that_are_there_are_explained() -> None:
    assert legend(Ring(NOW, [], {SECOND: {"failed": 1}})) == ["succeeded", "failed"]


def test_it_has_sixty_slots_and_no_inline_style() -> None:
    svg = draw(Ring(NOW, [1] * 60, {SECOND: {"succeeded": 1}}), UTC, "UTC")

    assert len(re.findall(r'<g transform="rotate\(\d+\)">', svg)) == SLOTS
    assert "style=" not in svg


def _slot(svg: str, number: int) -> str:
    start = svg.index(f'<g transform="rotate({number * 6})">')
    following = svg.find('<g transform="rotate(', start + 1)
    return svg[start:following]


def test_names_lie_inside_the_picture_wherever_their_second_is() -> None:
    places = [label_place(slot, 139 + bar_length(10_000)) for slot in range(SLOTS)]

    assert all(-204 <= x <= 204 and -200 <= y <= 198 for x, y, _ in places)
    assert all(anchor == "end" for x, _, anchor in places if x == 204)
    assert all(anchor == "start" for x, _, anchor in places if x == -204)
