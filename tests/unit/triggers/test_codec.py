"""Triggers as JSON: what was written is read back as an equal trigger, by this version and by every later one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import draws

from onthedot import Trigger, TriggerError, TriggerTooNew, at, calendar, cron, dates, every
from onthedot.moments import from_ms
from onthedot.triggers import decode, encode
from onthedot.triggers.codec import VERSION

# The golden table: these texts lie in databases. A line may be added; none may change.
GOLDEN: list[tuple[Trigger, str]] = [
    (cron("0 9 * * mon-fri"), '{"v": 1, "type": "cron", "text": "0 9 * * mon-fri"}'),
    (
        cron("CRON_TZ=Europe/Berlin  0  9 * * MON-FRI"),
        '{"v": 1, "type": "cron", "text": "0 9 * * mon-fri", "tz": "Europe/Berlin"}',
    ),
    (cron("@daily"), '{"v": 1, "type": "cron", "text": "@daily"}'),
    (
        cron("30 2 * * *", tz="America/New_York", gap="skip", fold="both"),
        '{"v": 1, "type": "cron", "text": "30 2 * * *", "tz": "America/New_York", "gap": "skip", "fold": "both"}',
    ),
    (
        cron("0 9 * * *", starts_at="2026-01-01T00:00Z", repeat_until="2026-12-31T23:59:59.999Z"),
        (
            '{"v": 1, "type": "cron", "text": "0 9 * * *", "starts_at": "2026-01-01T00:00:00Z", '
            '"repeat_until": "2026-12-31T23:59:59.999Z"}'
        ),
    ),
    (
        cron("H H(0-5) * * friL").with_key("digest-eu"),
        '{"v": 1, "type": "cron", "text": "H H(0-5) * * friL", "key": "digest-eu"}',
    ),
    (cron("0 0 9 LW * ? 2026-2030"), '{"v": 1, "type": "cron", "text": "0 0 9 LW * ? 2026-2030"}'),
    (every("90s"), '{"v": 1, "type": "every", "interval": "1m30s"}'),
    (cron("@every 15m"), '{"v": 1, "type": "every", "interval": "15m"}'),
    (
        every("1h", anchor="2026-01-01T00:10Z", tz="Asia/Tokyo"),
        '{"v": 1, "type": "every", "interval": "1h", "anchor": "1970-01-01T00:10:00Z", "tz": "Asia/Tokyo"}',
    ),
    (
        every("1500ms", spread=True, starts_at="2026-01-01T00:00Z").with_key("Grüße"),
        (
            '{"v": 1, "type": "every", "interval": "1s500ms", "spread": true, "starts_at": "2026-01-01T00:00:00Z", '
            '"key": "Grüße"}'
        ),
    ),
    (at("2026-12-24T17:00Z"), '{"v": 1, "type": "at", "at": "2026-12-24T17:00:00Z"}'),
    (
        at("2026-12-24 18:00:00.5", tz="Europe/Berlin"),
        '{"v": 1, "type": "at", "at": "2026-12-24T17:00:00.500Z", "tz": "Europe/Berlin"}',
    ),
    (
        cron("0 9 * * *") | every("1h"),
        (
            '{"v": 1, "type": "union", "parts": [{"type": "cron", "text": "0 9 * * *"}, '
            '{"type": "every", "interval": "1h"}]}'
        ),
    ),
    (
        cron("0 9 * * *") - dates("2026-12-25", "2027-01-01..2027-01-06") - calendar("de"),
        (
            '{"v": 1, "type": "exclusion", "base": {"type": "cron", "text": "0 9 * * *"}, "without": '
            '[{"type": "dates", "dates": ["2026-12-25", "2027-01-01..2027-01-06"]}, '
            '{"type": "calendar", "name": "de"}]}'
        ),
    ),
    (
        every("1m") - (cron("* 0-5 * * *") | at("2026-12-24T17:00Z")),
        (
            '{"v": 1, "type": "exclusion", "base": {"type": "every", "interval": "1m"}, "without": '
            '[{"type": "union", "parts": [{"type": "cron", "text": "* 0-5 * * *"}, '
            '{"type": "at", "at": "2026-12-24T17:00:00Z"}]}]}'
        ),
    ),
]


@pytest.mark.parametrize(("trigger", "text"), GOLDEN, ids=[str(row[0]) for row in GOLDEN])
def test_the_json_of_a_trigger_never_changes(trigger: Trigger, text: str) -> None:
    assert json.dumps(encode(trigger), ensure_ascii=False) == text


@pytest.mark.parametrize(("trigger", "text"), GOLDEN, ids=[str(row[0]) for row in GOLDEN])
def test_json_that_was_written_once_is_read_for_ever(trigger: Trigger, text: str) -> None:
    assert decode(json.loads(text)) == trigger


def test_the_version_is_carried_once_at_the_top() -> None:
    for trigger, _ in GOLDEN:
        value = encode(trigger)
        assert value["v"] == VERSION
        assert json.dumps(value).count('"v":') == 1


# round trips of all that can be made

moments = st.integers(0, draws.END * 1000 - 1)


@st.composite
def crons(draw: st.DrawFn) -> Trigger:
    """With bounds now and then, around a tick; without `H` then, for a bound may leave nothing of another key."""
    bounded = draw(st.booleans())
    trigger = draw(draws.triggers(hashed=not bounded))
    tick = trigger.next_ms(draw(moments))
    if not bounded or tick is None:
        return trigger
    starts_at = draw(st.none() | st.integers(0, 10**6).map(lambda before: from_ms(max(tick - before, 0))))
    repeat_until = draw(st.none() | st.integers(0, 10**6).map(lambda after: from_ms(tick + after)))
    options = {"tz": trigger.tz, "gap": trigger.gap, "fold": trigger.fold}
    return cron(trigger.text, starts_at=starts_at, repeat_until=repeat_until, **options)  # type: ignore[arg-type]


everys = st.builds(
    lambda seconds, ms, anchor, spread, tz, key: every(
        f"{seconds}s{ms}ms", anchor=from_ms(anchor), spread=spread, tz=tz
    ).with_key(key),
    st.integers(1, 10**6),
    st.integers(0, 999),
    moments,
    st.booleans(),
    st.none() | draws.zones,
    st.text(max_size=5),
)
ats = st.builds(lambda ms, tz: at(from_ms(ms), tz=tz), moments, st.none() | draws.zones)
simple = st.one_of(crons(), everys, ats)
excluded_dates = st.lists(st.dates(), min_size=1, max_size=4).map(dates)
calendars = st.text(min_size=1, max_size=5).filter(lambda name: bool(name.strip())).map(calendar)


def combined(parts: st.SearchStrategy[Trigger]) -> st.SearchStrategy[Trigger]:
    return st.one_of(
        st.builds(lambda one, other: one | other, parts, parts),
        st.builds(lambda base, without: base - without, parts, st.one_of(excluded_dates, calendars, parts)),
    )


@given(st.recursive(simple, combined, max_leaves=6))
def test_what_is_encoded_is_decoded_as_an_equal_trigger(trigger: Trigger) -> None:
    text = json.dumps(encode(trigger))
    again = decode(json.loads(text))
    assert again == trigger
    assert json.dumps(encode(again)) == text


@given(st.one_of(crons(), everys, ats), moments)
def test_a_decoded_trigger_ticks_alike(trigger: Trigger, moment: int) -> None:
    again = decode(encode(trigger))
    assert again.next_ms(moment) == trigger.next_ms(moment)
    assert again.prev_ms(moment) == trigger.prev_ms(moment)


def test_the_content_of_a_calendar_is_not_written() -> None:
    trigger = cron("0 9 * * *") - calendar("de")
    assert encode(trigger.with_calendars({"de": dates("2026-12-25")})) == encode(trigger)


# what cannot be read


@pytest.mark.parametrize("version", [VERSION + 1, 99])
def test_a_newer_version_is_left_to_nodes_that_know_it(version: int) -> None:
    with pytest.raises(TriggerTooNew) as caught:
        decode({"v": version, "type": "moon", "phase": "full"})
    assert (caught.value.version, caught.value.known) == (version, VERSION)
    assert isinstance(caught.value, TriggerError)
    assert "upgrade onthedot here" in (caught.value.hint or "")


@pytest.mark.parametrize("version", [None, 0, -1, "1", 1.0, [1]])
def test_a_version_that_is_none_is_an_error_and_not_too_new(version: object) -> None:
    with pytest.raises(TriggerError, match="carries its version") as caught:
        decode({"v": version, "type": "at", "at": "2026-01-01T00:00Z"})
    assert not isinstance(caught.value, TriggerTooNew)


@pytest.mark.parametrize("value", [None, 5, "0 9 * * *", [], ["cron"], True])
def test_what_is_no_json_object_is_an_error(value: object) -> None:
    with pytest.raises(TriggerError, match="JSON object"):
        decode(value)


HOURLY = {"type": "every", "interval": "1h"}
UNREADABLE: list[dict[str, Any]] = [
    {},
    {"type": None},
    {"type": []},
    {"type": "moon"},
    {"type": "cron"},
    {"type": "cron", "text": None},
    {"type": "cron", "text": 5},
    {"type": "cron", "text": "0 9 * * 8"},
    {"type": "cron", "text": "0 9 * * *", "phase": "full"},
    {"type": "cron", "text": "0 9 * * *", "tz": "Nowhere"},
    {"type": "cron", "text": "0 9 * * *", "tz": 5},
    {"type": "cron", "text": "0 9 * * *", "gap": "sideways"},
    {"type": "cron", "text": "0 9 * * *", "gap": []},
    {"type": "cron", "text": "0 9 * * *", "fold": 1},
    {"type": "cron", "text": "0 9 * * *", "starts_at": "soon"},
    {"type": "cron", "text": "0 9 * * *", "starts_at": 5},
    {"type": "cron", "text": "0 0 31 2 *"},
    {"type": "every"},
    {"type": "every", "interval": "soon"},
    {"type": "every", "interval": 3600},
    {"type": "every", "interval": "0s"},
    {"type": "every", "interval": "10ms"},
    {"type": "every", "interval": "1h", "phase": "full"},
    {"type": "every", "interval": "1h", "tz": "Nowhere"},
    {"type": "every", "interval": "1h", "tz": 5},
    {"type": "every", "interval": "1h", "anchor": "soon"},
    {"type": "every", "interval": "1h", "repeat_until": "1960-01-01T00:00Z"},
    {"type": "at"},
    {"type": "at", "at": None},
    {"type": "at", "at": "soon"},
    {"type": "at", "at": "2026-01-01T00:00"},
    {"type": "at", "at": "2500-01-01T00:00Z"},
    {"type": "at", "at": "2026-01-01T00:00Z", "tz": "Nowhere"},
    {"type": "union"},
    {"type": "union", "parts": 5},
    {"type": "union", "parts": []},
    {"type": "union", "parts": [5]},
    {"type": "union", "parts": [{"type": "dates", "dates": ["2026-01-01"]}]},
    {"type": "exclusion", "base": HOURLY},
    {"type": "exclusion", "base": {"type": "dates", "dates": ["2026-01-01"]}, "without": []},
    {"type": "exclusion", "base": HOURLY, "without": [{"type": "dates", "dates": ["soon"]}]},
    {"type": "exclusion", "base": HOURLY, "without": [{"type": "dates", "dates": []}]},
    {"type": "exclusion", "base": HOURLY, "without": [{"type": "dates", "dates": "2026-01-01"}]},
    {"type": "exclusion", "base": HOURLY, "without": [{"type": "calendar"}]},
    {"type": "exclusion", "base": HOURLY, "without": [{"type": "calendar", "name": 5}]},
    {"type": "exclusion", "base": HOURLY, "without": {"type": "calendar", "name": "de"}},
    {"type": "exclusion", "base": HOURLY, "without": [{"type": "moon"}]},
    {"type": "dates", "dates": ["2026-01-01"]},
    {"type": "calendar", "name": "de"},
]


@pytest.mark.parametrize("value", UNREADABLE, ids=str)
def test_what_cannot_be_read_is_a_trigger_error_and_nothing_else(value: dict[str, Any]) -> None:
    with pytest.raises(TriggerError) as caught:
        decode({"v": 1, **value})
    assert not isinstance(caught.value, TriggerTooNew)
    assert "\n" not in caught.value.line


def test_an_unknown_type_names_those_there_are() -> None:
    with pytest.raises(TriggerError, match="no trigger of type 'moon'") as caught:
        decode({"v": 1, "type": "moon"})
    assert caught.value.hint == "there are cron, every, at, union, exclusion, dates, calendar, named"


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(TriggerError, match="phase"):
        decode({"v": 1, "type": "every", "interval": "1h", "phase": "full"})


def test_an_anchor_that_was_written_by_hand_means_the_same_as_the_one_that_we_write() -> None:
    assert decode({"v": 1, **HOURLY, "anchor": "2026-01-01T00:10Z"}) == every("1h", anchor="2026-01-01T00:10Z")


def test_what_was_encoded_is_not_changed_by_decoding() -> None:
    value = encode(cron("0 9 * * *") - dates("2026-12-25"))
    before = json.dumps(value)
    decode(value)
    assert json.dumps(value) == before
