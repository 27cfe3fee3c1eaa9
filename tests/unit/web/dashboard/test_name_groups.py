"""Schedules that are named alike are told together."""

from collections import Counter

from onthedot.web.dashboard.name_groups import NameGroup, name_groups


def test_names_with_the_same_first_word_are_a_group() -> None:
    found = name_groups(Counter(["backup-a", "rollup_1", "backup-b", "backup-b"]))

    assert found == [
        NameGroup("backup-*", 3, ("backup-a", "backup-b")),
        NameGroup("rollup_1", 1, ("rollup_1",)),
    ]


def test_numbers_end_the_first_word() -> None:
    assert [each.label for each in name_groups(Counter(["poll7", "poll12", "a.b", "a.c"]))] == ["a.*", "poll*"]


def test_what_is_left_over_comes_last() -> None:
    names = [f"{word}-{number}" for word in ("aa", "bb", "cc", "dd", "ee") for number in range(3)]
    found = name_groups(Counter([*names, "alone", "ee-9"]), most=4)

    assert [(each.label, each.count) for each in found] == [("ee-*", 4), ("aa-*", 3), ("bb-*", 3), ("others", 7)]
    assert sum(each.count for each in found) == len(names) + 2


def test_a_name_without_a_word_stands_for_itself() -> None:
    assert [each.label for each in name_groups(Counter(["-x", "7"]))] == ["-x", "7"]
    assert name_groups({}) == []


def test_names_that_begin_alike_but_go_on_otherwise_are_apart() -> None:
    names = [
        "poll",
        "poll-1",
        "poll-2",
        "poll.x",
        "poll1",
        "poll1-a",
        "poll9",
        "polls-1",
        "polls-2",
        "poll\U0010ffff-1",
    ]
    found = {each.label: each.names for each in name_groups(Counter(names), most=9)}

    assert found == {
        "poll": ("poll",),
        "poll-*": ("poll-1", "poll-2"),
        "poll.x": ("poll.x",),
        "poll*": ("poll1", "poll1-a", "poll9"),
        "polls-*": ("polls-1", "polls-2"),
        "poll\U0010ffff-1": ("poll\U0010ffff-1",),
    }
    assert name_groups({"a-\U0010ffff": 1, "a-\U0010ffff\U0010ffff": 2})[0].count == 3


def test_the_schedules_of_a_template_are_a_group() -> None:
    counts = {"digest[eu]": 1, "digest[us]": 2, "digest-old": 1, "digestion": 1}
    assert [(each.label, each.count) for each in name_groups(counts)] == [
        ("digest[*]", 3),
        ("digest-old", 1),
        ("digestion", 1),
    ]
