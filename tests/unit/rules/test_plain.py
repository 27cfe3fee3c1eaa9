"""What is plain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.rules.plain import MOST_PLACES, begins_in_a_place_of, begins_plainly, ends_but_for_its_place, ends_plainly

BEHIND = Run("r", "job", "enqueue", 0, 0, policy=Policy(limit="mail:3"), waits_for="limit:mail")


def test_what_waits_for_a_place_alone_says_how_many_there_are() -> None:
    assert begins_in_a_place_of(BEHIND) == 3
    assert not begins_plainly(BEHIND)


@pytest.mark.parametrize(
    "run",
    [
        replace(BEHIND, waits_for=None),
        replace(BEHIND, waits_for="limit:other"),
        replace(BEHIND, crashes=1),
        replace(BEHIND, until_ms=7),
        replace(BEHIND, schedule_id="s", schedule="s"),
        replace(BEHIND, target="n1"),
        replace(BEHIND, task="@backfill"),
        replace(BEHIND, graph="flow"),
        replace(BEHIND, parent_id="flow", step="load"),
        *(
            replace(BEHIND, policy=policy)
            for policy in (
                Policy(),
                Policy(limit="mail:3", group="east"),
                Policy(limit="mail:3", route="broadcast"),
                Policy(limit=f"mail:{MOST_PLACES + 1}"),
            )
        ),
    ],
    ids=lambda run: f"{run.waits_for} {run.task} {run.policy.limit} {run.policy.group} {run.policy.route}",
)
def test_what_needs_more_than_a_place_is_left_to_the_general_way(run: Run) -> None:
    assert begins_in_a_place_of(run) == 0


def test_who_holds_a_place_ends_plainly_but_for_that() -> None:
    succeeded = Outcome("r", 1, "succeeded")
    assert ends_but_for_its_place(BEHIND, succeeded)
    assert not ends_plainly(BEHIND, succeeded)
    for run in (
        replace(BEHIND, policy=Policy()),
        replace(BEHIND, key="k"),
        replace(BEHIND, policy=Policy(limit="x:0")),
    ):
        assert not ends_but_for_its_place(run, succeeded)
    assert not ends_but_for_its_place(BEHIND, Outcome("r", 1, "handed_back"))
