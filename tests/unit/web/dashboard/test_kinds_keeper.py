"""What schedules have in common: looked for once, and of very many behind the back of who looks."""

from __future__ import annotations

from threading import enumerate as threads

from tests.patience import LONGEST_S

from onthedot.app.outlook import Planned, planned_of
from onthedot.model.schedule import Schedule
from onthedot.triggers.codec import encode
from onthedot.triggers.every import every
from onthedot.web.dashboard.kinds_keeper import KindsKeeper

ROW = Schedule("id", "name", "task", encode(every("1h")), next_run_ms=1)


def planned(count: int, tag: str) -> dict[str, Planned]:
    (each,) = planned_of([Schedule(**{**vars(ROW), "tags": (tag,)})], 0).values()
    assert each is not None
    return {f"s{number}": each for number in range(count)}


def behind() -> None:
    for thread in threads():
        if thread.name == "kinds":
            thread.join(LONGEST_S)


def test_of_few_it_is_always_told_as_it_is() -> None:
    keeper = KindsKeeper()
    assert keeper.of(planned(3, "old")).tags == (("old", 3),)
    assert keeper.of(planned(2, "new")).tags == (("new", 2),)


def test_of_many_who_looks_does_not_wait_and_the_next_sees_it() -> None:
    keeper, new = KindsKeeper(), planned(6000, "new")
    assert keeper.of(planned(6000, "old")).tags == (("old", 6000),)
    assert keeper.of(new).tags == (("old", 6000),)
    behind()
    assert keeper.of(new).tags == (("new", 6000),)
    assert keeper.of(new) is keeper.of(new)
