"""Zones as tables: they agree with `zoneinfo` everywhere, and have the shape that the fast search relies on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from itertools import pairwise
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo, available_timezones

import pytest

from onthedot import TriggerError, cron
from onthedot.triggers.zones import FOLDS, GAPS, Fold, Gap, Zone, get_zone, label_of, zone_name

EVERY_ZONE = sorted(available_timezones() - {"localtime"})
END = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp())
PROBE_EVERY = 11 * 86_400


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def label(text: str) -> int:
    return label_of(datetime.fromisoformat(text))


def offset_by_zoneinfo(zone: ZoneInfo, second: int) -> int:
    offset = datetime.fromtimestamp(second, zone).utcoffset()
    assert offset is not None
    return offset.days * 86_400 + offset.seconds


def transitions(zone: Zone) -> Iterator[tuple[int, int, int]]:
    """Each jump as its instant, the offset before and the offset after."""
    yield from zip(zone.instants, zone.offsets, zone.offsets[1:], strict=False)


# agreement with zoneinfo


def test_there_are_zones_to_test() -> None:
    assert len(EVERY_ZONE) > 400


def test_on_both_sides_of_every_jump_of_every_zone_the_offset_is_that_of_zoneinfo() -> None:
    wrong = []
    for name in EVERY_ZONE:
        theirs = ZoneInfo(name)
        for at, before, after in transitions(get_zone(name)):
            if 0 < at < END and (offset_by_zoneinfo(theirs, at - 1), offset_by_zoneinfo(theirs, at)) != (before, after):
                wrong.append((name, at))
    assert wrong == []


def test_between_the_jumps_of_every_zone_the_offset_is_that_of_zoneinfo() -> None:
    """A grid with a random start in each zone: a jump that our table lacked would show on one side of it."""
    random = Random(20_260_329)
    wrong = []
    for name in EVERY_ZONE:
        theirs, ours = ZoneInfo(name), get_zone(name)
        probes = range(random.randrange(PROBE_EVERY), END, PROBE_EVERY)
        wrong += [
            (name, second) for second in probes if ours.label(second) - second != offset_by_zoneinfo(theirs, second)
        ]
    assert wrong == []


@pytest.mark.parametrize("second", [0, 1, END - 1])
def test_at_the_ends_of_time_the_offset_of_every_zone_is_that_of_zoneinfo(second: int) -> None:
    wrong = [
        name
        for name in EVERY_ZONE
        if get_zone(name).label(second) - second != offset_by_zoneinfo(ZoneInfo(name), second)
    ]
    assert wrong == []


# the shape that the fast search relies on


def test_in_every_zone_the_segments_ascend_and_each_has_another_offset_than_its_neighbours() -> None:
    for name in EVERY_ZONE:
        zone = get_zone(name)
        assert len(zone.offsets) == len(zone.instants) + 1, name
        assert list(zone.instants) == sorted(set(zone.instants)), name
        assert all(before != after for _, before, after in transitions(zone)), name


def test_in_every_zone_the_labels_that_one_jump_skips_or_repeats_are_touched_by_no_other() -> None:
    """So no label occurs three times, and none is skipped by one jump and shown by the next."""
    touching = []
    for name in EVERY_ZONE:
        jumps = transitions(get_zone(name))
        spans = [(at + min(before, after), at + max(before, after)) for at, before, after in jumps]
        touching += [(name, this) for this, following in pairwise(spans) if this[1] > following[0]]
    assert touching == []


def test_no_wall_clock_is_further_from_utc_than_a_day_or_jumps_further_than_a_day() -> None:
    for name in EVERY_ZONE:
        zone = get_zone(name)
        assert all(abs(offset) < 86_400 for offset in zone.offsets), name
        assert all(abs(after - before) <= 86_400 for _, before, after in transitions(zone)), name


def test_each_label_of_a_zone_resolves_to_instants_that_show_it() -> None:
    random = Random(5)
    for name in EVERY_ZONE:
        zone = get_zone(name)
        for second in (random.randrange(END) for _ in range(20)):
            assert second in zone.resolve(zone.label(second), "skip", "both"), name


# gaps and folds

SPRING = 1_774_746_000  # 2026-03-29T01:00Z: in Berlin 02:00 becomes 03:00
AUTUMN = 1_792_890_000  # 2026-10-25T01:00Z: in Berlin 03:00 becomes 02:00


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("text", ["2026-03-29T02:00", "2026-03-29T02:30", "2026-03-29T02:59:59"])
def test_a_label_in_a_gap_counts_at_its_end_or_not_at_all(text: str, fold: Fold) -> None:
    berlin = get_zone("Europe/Berlin")
    assert berlin.resolve(label(text), "shift", fold) == (SPRING,)
    assert berlin.resolve(label(text), "skip", fold) == ()


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("text", ["2026-10-25T02:00", "2026-10-25T02:30", "2026-10-25T02:59:59"])
def test_a_label_in_a_fold_counts_the_first_time_the_last_time_or_both_times(text: str, gap: Gap) -> None:
    berlin = get_zone("Europe/Berlin")
    first, last = label(text) - 7200, label(text) - 3600
    assert berlin.resolve(label(text), gap, "first") == (first,)
    assert berlin.resolve(label(text), gap, "last") == (last,)
    assert berlin.resolve(label(text), gap, "both") == (first, last)


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("gap", GAPS)
def test_the_labels_beside_a_gap_or_fold_count_once(gap: Gap, fold: Fold) -> None:
    berlin = get_zone("Europe/Berlin")
    assert berlin.resolve(label("2026-03-29T01:59:59"), gap, fold) == (SPRING - 1,)
    assert berlin.resolve(label("2026-03-29T03:00"), gap, fold) == (SPRING,)
    assert berlin.resolve(label("2026-10-25T01:59:59"), gap, fold) == (AUTUMN - 3601,)
    assert berlin.resolve(label("2026-10-25T03:00"), gap, fold) == (AUTUMN + 3600,)


def test_every_label_of_a_skipped_day_counts_at_the_end_of_that_day() -> None:
    apia = get_zone("Pacific/Apia")
    for text in ("2011-12-30T00:00", "2011-12-30T12:00", "2011-12-30T23:59:59"):
        assert apia.resolve(label(text), "shift", "first") == (instant("2011-12-30T10:00Z"),)


def test_a_jump_of_44_minutes_and_30_seconds_is_kept_to_the_second() -> None:
    monrovia = get_zone("Africa/Monrovia")
    end = instant("1972-01-07T00:44:30Z")
    assert monrovia.label(end - 1) == label("1972-01-06T23:59:59")
    assert monrovia.label(end) == label("1972-01-07T00:44:30")
    assert monrovia.resolve(label("1972-01-07T00:44:29"), "shift", "first") == (end,)
    assert not monrovia.whole_minutes


# names


def test_a_zone_is_made_once_per_name() -> None:
    assert get_zone("Europe/Berlin") is get_zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("America/New York", "America/New_York"),
        ("PST", "America/Los_Angeles"),
        ("CEST", "Europe/Berlin"),
        ("IST", "Asia/Kolkata"),
        ("+02:00", "Etc/GMT-2"),
        ("-5", "Etc/GMT"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_name_that_was_meant(name: str, meant: str) -> None:
    with pytest.raises(TriggerError) as caught:
        get_zone(name)
    assert caught.value.reason == f"no time zone {name!r}"
    assert meant in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["", " ", "Nowhere", "..", "../../etc/passwd", "/etc/localtime", "Europe", "a\0b"])
def test_what_is_no_zone_at_all_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(TriggerError) as caught:
        get_zone(name)
    assert caught.value.hint


def test_the_zone_of_the_machine_is_refused_for_it_is_another_on_every_machine() -> None:
    with pytest.raises(TriggerError, match="another zone on every machine"):
        get_zone("localtime")


@pytest.mark.parametrize(
    ("tz", "name"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (" Europe/Berlin ", "Europe/Berlin"),
        (ZoneInfo("Asia/Tokyo"), "Asia/Tokyo"),
        (ZoneInfo("UTC"), "UTC"),
        (UTC, "UTC"),
        (timezone(timedelta(0)), "UTC"),
    ],
)
def test_a_zone_may_be_given_by_name_or_as_an_object_that_has_one(tz: str | tzinfo, name: str) -> None:
    assert zone_name(tz) == name
    assert cron("0 9 * * *", tz=tz) == cron("0 9 * * *", tz=name)


@pytest.mark.parametrize("tz", [timezone(timedelta(hours=2)), timezone(timedelta(hours=2), "CEST"), 2])
def test_a_fixed_offset_is_refused_for_it_has_no_name_to_be_kept_by(tz: tzinfo) -> None:
    with pytest.raises(TriggerError, match="given by name") as caught:
        cron("0 9 * * *", tz=tz)
    assert caught.value.hint == 'write tz="Europe/Berlin"'


def test_a_zone_read_from_a_file_without_a_name_is_refused() -> None:
    from importlib.resources import files

    path = Path(str(files("tzdata").joinpath("zoneinfo", "Europe", "Berlin")))
    with path.open("rb") as file:
        nameless = ZoneInfo.from_file(file)
    with pytest.raises(TriggerError, match="given by name"):
        zone_name(nameless)
