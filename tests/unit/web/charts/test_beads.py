"""The last ticks of a schedule in one line of marks."""

from __future__ import annotations

from onthedot.model.states import State
from onthedot.web.dashboard.charts.beads import LEFT_OUT, MOST, beads, in_words


def test_what_failed_and_was_left_out_is_said_in_words() -> None:
    kinds = [State.SUCCEEDED, State.FAILED, LEFT_OUT, State.SKIPPED, State.TIMED_OUT]
    assert in_words(kinds) == "last 5 ticks: 1 failed, 1 timed out, 2 left out"


def test_where_all_went_well_that_is_said() -> None:
    assert in_words([State.SUCCEEDED] * 3) == "last 3 ticks: all went well"
    assert in_words([]) == "no tick yet"


def test_each_kind_has_a_shape_of_its_own() -> None:
    """So that states can be told without colour."""
    shapes = {kind: str(beads([kind])).partition(' d="')[2] for kind in State if kind is not State.SKIPPED}
    drawn = {kind: str(beads([kind] * MOST)).split('d="')[1].split("/>")[0] for kind in shapes}
    assert len(set(drawn.values())) == len(drawn)


def test_a_failure_stands_taller_than_a_success() -> None:
    assert "v9" in beads([State.FAILED])
    assert "v9" not in beads([State.SUCCEEDED])


def test_only_the_newest_are_shown_and_the_newest_is_last() -> None:
    kinds = [State.FAILED] + [State.SUCCEEDED] * MOST
    assert "bad" not in beads(kinds)
    assert 'class="bad" d="M145.6 ' in beads([State.SUCCEEDED, State.FAILED])


def test_marks_of_one_kind_are_one_path() -> None:
    """Fifty lines of 24 marks must not weigh more than the rest of the page."""
    mixed = [State.SUCCEEDED, State.FAILED] * 12
    assert str(beads(mixed)).count("<path") == 2
    assert len(beads(mixed)) < 700


def test_no_style_attribute_is_used() -> None:
    assert "style=" not in beads(list(State))
