"""The sentence under the heading follows from what nodes counted."""

import pytest

from onthedot.insight.punctuality import Punctuality, tell_punctuality
from onthedot.model.histogram import bucket_of
from onthedot.model.minute import Minute


def _minute(*late_ms: int) -> Minute:
    lateness: dict[int, int] = {}
    for each in late_ms:
        lateness[bucket_of(each)] = lateness.get(bucket_of(each), 0) + 1
    return Minute(0, "n", len(late_ms), {}, lateness, max(late_ms, default=0))


def test_all_nodes_and_minutes_count_together() -> None:
    found = Punctuality.of([_minute(*[2] * 60), _minute(*[2] * 38, 80, 900)])

    assert (found.runs, found.latest_ms) == (100, 900)
    assert found.p50_ms <= 3
    assert 80 <= found.p99_ms < 100


@pytest.mark.parametrize(
    ("found", "needs", "told"),
    [
        (
            Punctuality(6871, 3, 96, 31_000),
            3,
            "Everything else is on the dot: 99 of 100 runs of the last hour began within 0.1 s.",
        ),
        (
            Punctuality(6871, 3, 12, 31_000),
            0,
            "Everything is on the dot: 99 of 100 runs of the last hour began within 20 ms.",
        ),
        (Punctuality(12, 3, 12, 40), 0, "Everything is on the dot: all 12 runs of the last hour began within 50 ms."),
        (Punctuality(1, 3, 3, 3), 0, "Everything is on the dot: the one run of the last hour began within 5 ms."),
        (
            Punctuality(6871, 40, 9000, 31_000),
            0,
            "Runs are late: half of the 6,871 runs of the last hour began within 50 ms, 99 of 100 runs within 10 s.",
        ),
        (Punctuality(0, 0, 0, 0), 2, "No run began within the last hour."),
    ],
)
def test_the_sentence(found: Punctuality, needs: int, told: str) -> None:
    assert tell_punctuality(found, needs) == told
