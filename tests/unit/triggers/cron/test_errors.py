"""What cannot be honoured is refused: with the column marked, the reason in one line and the remedy named."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest

from onthedot import DurationError, MomentError, OnthedotError, TriggerError, TriggerTooNew, cron


def refused(text: Any, **options: Any) -> TriggerError:
    """The error that a text gives. Anything else than a `TriggerError` fails the test."""
    with pytest.raises(OnthedotError) as caught:
        cron(text, **options)
    assert isinstance(caught.value, TriggerError)
    return caught.value


# The caret stands on the second line of each entry, below the character that could not be honoured.
REFUSED = [
    # a number that the field does not have
    ("60 * * * *", "^", "minute: 60 is not 0-59", "once an hour write 0"),
    ("* 24 * * *", "  ^", "hour: 24 is not 0-23", "midnight is hour 0"),
    ("0 0 0 * *", "    ^", "day of month: 0 is not 1-31", "the first day is 1, the last is L"),
    ("0 0 32 * *", "    ^", "day of month: 32 is not 1-31", None),
    ("0 0 * 0 *", "      ^", "month: 0 is not 1-12 or jan-dec", "January is 1"),
    ("0 0 * 13 *", "      ^", "month: 13 is not 1-12", None),
    ("0 9 * * 8", "        ^", "day of week: 8 is not 0-7 or sun-sat", "Sunday is 0 or 7"),
    ("60 * * * * *", "^", "second: 60 is not 0-59", "once a minute write 0"),
    ("0 60 * * * *", "  ^", "minute: 60 is not 0-59", None),
    ("0 0 0 1 1 * 1969", "            ^", "year: 1969 is not 1970-2199", None),
    ("0 0 0 1 1 * 2200", "            ^", "year: 2200 is not 1970-2199", None),
    ("0 9 * * mon,8", "            ^", "day of week: 8 is not", "Sunday is 0 or 7"),
    ("5-60 * * * *", "  ^", "minute: 60 is not 0-59", None),
    ("1,2,75/5 * * * *", "    ^", "minute: 75 is not 0-59", None),
    ("  0   9 * * 8", "            ^", "day of week: 8 is not", "Sunday is 0 or 7"),
    ("0\t24 * * *", "  ^", "hour: 24 is not 0-23", "midnight is hour 0"),
    # the wrong number of fields
    ("", "^", "the cron text is empty", "0 9 * * mon-fri"),
    ("   ", "^", "the cron text is empty", "0 9 * * mon-fri"),
    ("* * *", "     ^", "3 fields where 5", "did you mean * * * * *?"),
    ("0 9", "   ^", "2 fields where 5", "did you mean 0 9 * * *?"),
    ("5", " ^", "1 field where 5", "did you mean 5 * * * *?"),
    ("5 minutes", "         ^", "2 fields where 5", 'did you mean every("5m")?'),
    ("every 15 minutes", "                ^", "3 fields where 5", 'did you mean every("15m")?'),
    ("0 9 * * * * * backup.sh", "              ^", "8 fields where 5", "command"),
    ("0 9 * * mon 2026", "        ^", "month: 'mon' is a day of week", None),
    ("0 9 * * 1 2026", "          ^", "day of week: 2026 is not 0-7", "a year needs all seven fields"),
    # names, right and wrong
    ("0 0 * * wendsday", "        ^", "day of week: 'wendsday' is not", "did you mean wednesday?"),
    ("0 0 * agust *", "      ^", "month: 'agust' is not", "did you mean august?"),
    ("0 0 * * mon-fry", "            ^", "day of week: 'fry' is not", "did you mean friday?"),
    ("0 0 * smarch *", "      ^", "month: 'smarch' is not", "did you mean march?"),
    ("noon * * * *", "^", "minute: 'noon' is not 0-59", None),
    # a name in another field
    ("mon-fri 9 * * *", "^", "minute: 'mon' is a day of week", "field 5 of 5: 0 9 * * mon-fri"),
    ("0 mon-fri * * *", "  ^", "hour: 'mon' is a day of week", "field 5 of 5: 0 * * * mon-fri"),
    ("0 9 mon-fri * *", "    ^", "day of month: 'mon' is a day of week", "field 5 of 5: 0 9 * * mon-fri"),
    ("0 9 * mon-fri *", "      ^", "month: 'mon' is a day of week", "field 5 of 5: 0 9 * * mon-fri"),
    ("0 9 jan * *", "    ^", "day of month: 'jan' is a month", "field 4 of 5: 0 9 * jan *"),
    ("0 9 1 * jan", "        ^", "day of week: 'jan' is a month", "field 4 of 5: 0 9 1 jan *"),
    ("0 0 mon * * * 2026", "    ^", "hour: 'mon' is a day of week", "0 0 * * * mon 2026"),
    ("30 0 9 mon * *", "       ^", "day of month: 'mon' is a day of week", "30 0 9 * * mon"),
    ("mon 0 9 * * *", "^", "second: 'mon' is a day of week", None),
    ("0 mon 9 * * *", "  ^", "minute: 'mon' is a day of week", None),
    ("mon 0 9 * * * 2026", "^", "second: 'mon' is a day of week", None),
    ("0 mon 9 * * * 2026", "  ^", "minute: 'mon' is a day of week", None),
    # steps
    ("*/90 * * * *", "  ^", "minute: a step of 90 is larger than the 60 values", 'every("90m")'),
    ("*/61 * * * * *", "  ^", "second: a step of 61 is larger than the 60 values", 'every("61s")'),
    ("0 */36 * * *", "    ^", "hour: a step of 36 is larger than the 24 values", 'every("36h")'),
    ("0 0 */45 * *", "      ^", "day of month: a step of 45 is larger than the 31 values", None),
    ("10-20/30 * * * *", "      ^", "minute: a step of 30 is larger than the 11 values", None),
    ("H/90 * * * *", "  ^", "minute: a step of 90 is larger than the 60 values", 'every("90m")'),
    ("H(0-9)/20 * * * *", "       ^", "minute: a step of 20 is larger than the 10 values", None),
    ("*/0 * * * *", "  ^", "minute: the step '0' is not a number from 1 up", None),
    ("*/ * * * *", "  ^", "minute: the step '' is not a number from 1 up", None),
    ("*/x * * * *", "  ^", "minute: the step 'x' is not a number from 1 up", None),
    ("*/5/2 * * * *", "  ^", "minute: the step '5/2' is not a number from 1 up", None),
    ("*/-5 * * * *", "  ^", "minute: the step '-5' is not a number from 1 up", None),
    ("*/1.5 * * * *", "  ^", "minute: the step '1.5' is not a number from 1 up", None),
    # ranges and lists
    ("1, * * * *", "  ^", "minute: something is missing beside the comma", None),
    (",1 * * * *", "^", "minute: something is missing beside the comma", None),
    ("1,,2 * * * *", "  ^", "minute: something is missing beside the comma", None),
    ("5- * * * *", "  ^", "minute: a number is missing", None),
    ("-5 * * * *", "^", "minute: a number is missing", None),
    ("1-2-3 * * * *", "  ^", "minute: '2-3' is not 0-59", None),
    ("0 0 0 1 1 * 2030-2026", "            ^", "year: 2030-2026 runs backwards", None),
    ("1~30 * * * *", "^", "minute: '1~30' is not 0-59", "a random value is written H"),
    ("1.5 * * * *", "^", "minute: '1.5' is not 0-59", None),
    ("٣ * * * *", "^", "minute: '٣' is not 0-59", None),
    # letters in the wrong place, or wrong letters
    ("0 L * * *", "  ^", "hour:", "L stands only in a day field"),
    ("0 0 * 5#2 *", "      ^", "month: '5#2' is not", "'#' stands only in day of week"),
    ("0 0 5#2 * *", "    ^", "day of month: '5#2' is not", "'#' stands only in day of week"),
    ("0 0 * * L", "        ^", "day of week: 'L' alone names no weekday", "5L is the last Friday"),
    ("0 0 * * 5#6", "          ^", "day of week: '#6' is not #1 to #5", "5#2 is the second Friday"),
    ("0 0 * * 5#0", "          ^", "day of week: '#0' is not #1 to #5", "5#2 is the second Friday"),
    ("0 0 * * 5#", "          ^", "day of week: '#' is not #1 to #5", "5#2 is the second Friday"),
    ("0 0 * * 8#1", "        ^", "day of week: 8 is not 0-7", "Sunday is 0 or 7"),
    ("0 0 * * 8L", "        ^", "day of week: 8 is not 0-7", "Sunday is 0 or 7"),
    ("0 0 * * 15W", "        ^", "day of week:", "W stands only in"),
    ("0 0 L-31 * *", "    ^", "day of month: no month has 31 days before its last", "L-30 is the most"),
    ("0 0 32W * *", "    ^", "day of month: 32 is not 1-31", None),
    ("0 0 0W * *", "    ^", "day of month: 0 is not 1-31", None),
    ("? 0 * * *", "^", "minute: '?' stands only for a day", "write *"),
    ("0 0 * ? *", "      ^", "month: '?' stands only for a day", "write *"),
    ("H(29-0) * * * *", "^", "minute: H(29-0) runs backwards", None),
    ("H(0-60) * * * *", "    ^", "minute: 60 is not 0-59", None),
    ("0 0 0 1 1 * H", "            ^", "year: 'H' cannot stand here", "write *"),
    # macros
    ("@reboot", "^", "@reboot is not known", 'app.on("start")'),
    ("@dayly", "^", "@dayly is not known", "did you mean @daily?"),
    ("  @anually ", "  ^", "@anually is not known", "did you mean @annually?"),
    ("@noon", "^", "@noon is not known", "@every 90s"),
    ("@every", "^", "@every", "@every 90s"),
    ("@every 5 parsecs", "       ^", "no unit 'parsecs'", None),
    ("@every 1 month", "       ^", "months and years differ in length", None),
    ("@every 10ms", "       ^", "too short", "the least is 1s"),
    # what can never fire
    ("0 0 31 2 *", "    ^", "this can never fire", "the last day of the month is L: 0 0 L 2 *"),
    ("0 0 30 feb *", "    ^", "this can never fire", "the last day of the month is L: 0 0 L feb *"),
    ("0 0 31 4,6,9,11 *", "    ^", "this can never fire", "the last day of the month is L: 0 0 L 4,6,9,11 *"),
    ("0 0 0 29 2 * 2027", "      ^", "this can never fire", "L: 0 0 0 L 2 * 2027"),
    ("0  0 31  2 *", "     ^", "this can never fire", "the last day of the month is L: 0 0 L 2 *"),
    ("0 0 30,31 2 *", "    ^", "this can never fire", "no day from 1970 to 2199"),
    ("0 0 L-30 2 *", "    ^", "this can never fire", "no day from 1970 to 2199"),
    ("0 0 0 * 2 1#5 2027", None, "this can never fire", "no day from 1970 to 2199"),
    # the zone before the fields
    ("CRON_TZ=Europe/Berln 0 9 * * *", "        ^", "no time zone 'Europe/Berln'", "Europe/Berlin"),
    ("CRON_TZ=Europe/Berlin 0 24 * * *", "                        ^", "hour: 24 is not 0-23", "midnight is hour 0"),
    ("CRON_TZ=Europe/Berlin", "                     ^", "the cron text is empty", "five fields"),
    ("CRON_TZ=Europe/Berlin 0 9", "                         ^", "2 fields where 5", None),
]


@pytest.mark.parametrize(("text", "caret", "reason", "hint"), REFUSED, ids=[repr(row[0]) for row in REFUSED])
def test_a_wrong_text_is_shown_as_written_with_a_caret_below_a_reason_and_a_remedy(
    text: str, caret: str | None, reason: str, hint: str | None
) -> None:
    error = refused(text)
    assert reason in error.reason
    assert hint is None or hint in (error.hint or "")
    first, shown, below = str(error).splitlines()
    assert first == error.line
    assert shown == f"  {text}"
    assert below.strip() == "^"
    assert caret is None or below == f"  {caret}"


REMEDIES = re.compile(r"(?:did you mean (?!every)|of \d: |is L: )(.*[*].*?)\??$")


@pytest.mark.parametrize("text", [row[0] for row in REFUSED], ids=repr)
def test_a_text_that_an_error_proposes_is_not_refused_again(text: str) -> None:
    if proposed := REMEDIES.search(refused(text).hint or ""):
        assert cron(proposed[1]) is not None


def test_the_one_line_form_counts_columns_from_1() -> None:
    assert refused("60 * * * *").line.startswith("minute: 60 is not 0-59 (column 1); ")
    assert refused("0 0 * * 8").line.startswith("day of week: 8 is not 0-7 or sun-sat (column 9); ")


def test_an_error_carries_its_values() -> None:
    error = refused("0 9 * * 8")
    assert (error.text, error.column) == ("0 9 * * 8", 8)
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    "error",
    [TriggerError("a reason", "0 9 * * 8", 8, "a hint"), TriggerTooNew(2, 1), DurationError("no"), MomentError("no")],
    ids=repr,
)
def test_an_error_comes_unchanged_out_of_another_process(error: OnthedotError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


# what stands beside the text


@pytest.mark.parametrize(
    ("tz", "hint"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("Amerika/New_York", "America/New_York"),
        ("berlin", "Europe/Berlin"),
        ("EDT", "America/New_York"),
        ("+02:00", "Etc/GMT-2"),
        ("Middle/Earth", "zones are named like Europe/Berlin"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_names(tz: str, hint: str) -> None:
    error = refused("0 9 * * *", tz=tz)
    assert error.reason == f"no time zone {tz!r}"
    assert hint in (error.hint or "")


def test_two_different_zones_are_refused() -> None:
    error = refused("CRON_TZ=UTC 0 9 * * *", tz="Europe/Berlin")
    assert str(error) == (
        "two time zones: UTC in the text and tz='Europe/Berlin' (column 9); name one of them\n"
        "  CRON_TZ=UTC 0 9 * * *\n"
        "          ^"
    )


def test_an_unknown_gap_or_fold_is_refused_with_those_there_are() -> None:
    gap, fold = refused("0 9 * * *", gap="sideways"), refused("0 9 * * *", fold="twice")
    assert (gap.reason, gap.hint) == ("gap='sideways' is not known", "write one of shift, skip")
    assert (fold.reason, fold.hint) == ("fold='twice' is not known", "write one of first, last, both")


def test_an_unknown_gap_is_not_blamed_on_the_text() -> None:
    error = refused("CRON_TZ=Europe/Berlin 0 9 * * *", gap="sideways")
    assert error.reason == "gap='sideways' is not known"
    assert error.column is None


@pytest.mark.parametrize("options", [{"gap": "skip"}, {"fold": "both"}])
def test_gap_and_fold_are_refused_for_an_interval(options: dict[str, str]) -> None:
    assert "gap and fold have no meaning" in refused("@every 5m", **options).reason


@pytest.mark.parametrize("text", [None, 5, b"0 9 * * *", ["0", "9"]])
def test_what_is_not_text_is_refused(text: object) -> None:
    assert refused(text).reason.startswith("a cron text is text, not ")


def test_an_end_before_the_start_is_refused() -> None:
    error = refused("0 9 * * *", starts_at="2026-02-01T00:00Z", repeat_until="2026-01-01T00:00Z")
    assert error.reason == "repeat_until 2026-01-01T00:00Z is before starts_at 2026-02-01T00:00Z"


def test_bounds_without_a_tick_between_them_are_refused() -> None:
    error = refused("0 9 * * *", starts_at="2026-02-01T09:00:01Z", repeat_until="2026-02-02T08:59:59Z")
    assert "can never fire" in error.reason
    assert error.hint == "widen the bounds"


@pytest.mark.parametrize("bounds", [{"starts_at": "2200-01-01T00:00Z"}, {"repeat_until": "1969-12-31T23:59Z"}])
def test_bounds_outside_the_time_line_are_refused(bounds: dict[str, str]) -> None:
    assert "can never fire" in refused("0 9 * * *", **bounds).reason


def test_a_naive_bound_without_a_zone_is_refused() -> None:
    with pytest.raises(OnthedotError, match="has no zone"):
        cron("0 9 * * *", starts_at="2026-02-01 09:00")


def test_a_time_that_exists_on_no_day_of_its_zone_is_refused_and_the_gap_is_named() -> None:
    error = refused("0 30 2 8 3 * 2026", tz="America/New_York", gap="skip")
    assert error.reason == "this can never fire"
    assert "gap" in (error.hint or "")
