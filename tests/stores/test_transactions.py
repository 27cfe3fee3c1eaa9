"""One transaction, method by method: what each SQL database gives is what memory gives, also in a crowd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from onthedot.model.decision import Decision
from onthedot.model.policy import Policy
from onthedot.model.run import Run, for_limit, for_slot
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.stores import mapping
from onthedot.stores.engine import Engine
from onthedot.stores.open import open_store
from onthedot.stores.transaction import Claim, Transaction, most_waiting
from onthedot.testing.clock import ManualClock

NOW_MS = 1_800_000_000_000
CROWD = 300
MANY = 20
NODE = Claim("n", "eu", ("job",), known=("job",))

Ask = Callable[[Transaction], Any]


@pytest.fixture(params=["sqlite", "postgresql_15_url", "mariadb_url"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr("onthedot.stores.sql.mysql.IDLE_IN_TRANSACTION_S", 60)  # this machine may be starved
    url = f"sqlite:///{tmp_path}/a.db" if request.param == "sqlite" else str(request.getfixturevalue(request.param))
    patient = "?options=-c%20idle_in_transaction_session_timeout%3D60s" if url.startswith("postgresql") else ""
    yield from _opened(url + patient)


@pytest.fixture
def memory() -> Iterator[Engine]:
    yield from _opened("memory://")


def _opened(url: str) -> Iterator[Engine]:
    store = open_store(url, create=True, now_ms=ManualClock(NOW_MS))
    assert isinstance(store, Engine)
    yield store
    store.close()


@pytest.fixture
def same(store: Engine, memory: Engine) -> Callable[..., Any]:
    """Write the same into both; what both then answer."""

    def same(ask: Ask, runs: Sequence[Run] = (), schedules: Sequence[Schedule] = ()) -> Any:
        for each in (store, memory):
            with each.begin() as tx:
                tx.save_schedules(schedules)
                tx.save_runs(runs)
        with memory.begin() as tx:
            expected = ask(tx)
        with store.begin() as tx:
            assert ask(tx) == expected
        return expected

    return same


def _run(number: int, **fields: Any) -> Run:
    due_ms = fields.pop("due_ms", NOW_MS - 1000 + number)
    policy = fields.pop("policy", Policy())
    return Run(f"run {number:05}", "job", "enqueue", due_ms, due_ms, policy=policy, **fields)


def _ids(runs: Sequence[Run]) -> list[str]:
    return [run.id for run in runs]


# due runs


def test_a_node_is_given_what_is_for_everybody_for_its_group_and_for_itself(same: Callable[..., Any]) -> None:
    places = [(target, group) for target in (None, "n", "other") for group in (None, "eu", "us")]
    runs = [_run(number, target=target, policy=Policy(group=group)) for number, (target, group) in enumerate(places)]
    found = same(lambda tx: _ids(tx.due_runs(NODE, 100)), runs)
    assert found == _ids([run for run in runs if NODE.takes(run)])
    assert len(found) == 4


@pytest.mark.parametrize("pools", [None, (), ("fast",), ("fast", "slow")])
def test_a_run_that_names_its_pool_goes_by_that(same: Callable[..., Any], pools: tuple[str, ...] | None) -> None:
    kinds = [(task, pool) for task in ("job", "known", "unknown") for pool in (None, "fast", "slow")]
    runs = [replace(_run(number, policy=Policy(pool=pool)), task=task) for number, (task, pool) in enumerate(kinds)]
    claim = Claim("n", None, ("job",), pools, ("job", "known"))
    assert same(lambda tx: _ids(tx.due_runs(claim, 100)), runs) == _ids([run for run in runs if claim.takes(run)])


@pytest.mark.parametrize("count", [1, 4])
def test_the_foremost_of_a_crowd_are_given_whatever_their_lanes_and_priorities(
    same: Callable[..., Any], count: int
) -> None:
    lanes = [(None, "eu"), (None, None), ("n", None), ("n", "eu")][:count]
    runs = [
        _run(
            number,
            due_ms=NOW_MS - (number * 7919) % 400_000,
            target=lanes[number % count][0],
            policy=Policy(group=lanes[number % count][1], priority=(0, 0, 1, -2, 5)[number % 5]),
        )
        for number in range(CROWD)
    ]
    found = same(lambda tx: _ids(tx.due_runs(NODE, MANY)), runs)
    assert len(found) == MANY


def test_what_is_not_due_or_waits_for_something_is_no_due_run(same: Callable[..., Any]) -> None:
    runs = [_run(0, due_ms=NOW_MS), _run(1, due_ms=NOW_MS + 1), _run(2, waits_for=for_slot("s"))]
    assert same(lambda tx: _ids(tx.due_runs(NODE, 10)), runs) == ["run 00000"]


def test_a_run_that_is_routed_anew_or_woken_changes_its_lane(same: Callable[..., Any]) -> None:
    routed, behind = _run(0, target="other"), _run(1, waits_for=for_limit("g"))

    def ask(tx: Transaction) -> list[str]:
        live = tx.live_runs([routed.id, behind.id])
        tx.save_runs([replace(live[routed.id], target="n"), replace(live[behind.id], waits_for=None)])
        return _ids(tx.due_runs(NODE, 10))

    assert same(ask, [routed, behind]) == [routed.id, behind.id]


def test_routed_runs_are_given_oldest_first(same: Callable[..., Any]) -> None:
    runs = [_run(number, due_ms=NOW_MS - number, target=("n", "other", None)[number % 3]) for number in range(30)]
    blocked = _run(40, target="n", waits_for=for_limit("g"))
    later = _run(41, due_ms=NOW_MS + 1, target="n")
    found = same(lambda tx: _ids(tx.routed_runs(15)), [*runs, blocked, later])
    assert found == _ids([run for run in reversed(runs) if run.target is not None])[:15]


# what runs wait for


def test_the_foremost_of_a_crowd_that_waits_for_one_thing_are_given(same: Callable[..., Any]) -> None:
    runs = [
        _run(
            number,
            due_ms=NOW_MS - (number * 7919) % 400_000,
            waits_for=for_limit("ab"[number % 2]),
            policy=Policy(priority=(0, 3, -1)[number % 3]),
        )
        for number in range(CROWD)
    ]
    assert len(same(lambda tx: _ids(tx.waiting_for(for_limit("a"), MANY)), runs)) == MANY


def test_what_is_awaited_is_told_once_each_and_page_by_page(same: Callable[..., Any]) -> None:
    runs = [
        _run(number, waits_for=for_slot(f"s{number % 10}"), policy=Policy(priority=number % 2)) for number in range(100)
    ]
    others = [_run(200), _run(201, target="n"), _run(202, due_ms=NOW_MS + 1, waits_for=for_slot("later"))]
    first = same(lambda tx: tx.awaited(6), [*runs, *others])
    assert first == [for_slot(f"s{number}") for number in range(6)]
    assert same(lambda tx: tx.awaited(6, first[-1])) == [for_slot(f"s{number}") for number in range(6, 10)]
    asked = [for_slot("s1"), for_slot("later"), for_slot("none"), for_limit("s1")]
    assert same(lambda tx: tx.are_awaited(asked)) == {for_slot("s1"), for_slot("later")}


# what is live beside a schedule


def _schedule(schedule_id: str, **policy: Any) -> Schedule:
    return Schedule(schedule_id, schedule_id, "job", {"v": 1}, policy=Policy(**policy))


def _live(schedule_id: str, running: int, waiting: int, first: int) -> list[Run]:
    """The youngest run, so that the oldest that are live all wait."""
    numbers = range(first, first + running + waiting)
    waits = [_run(number, schedule_id=schedule_id) for number in numbers[:waiting]]
    return waits + [
        _run(number, schedule_id=schedule_id, state=State.RUNNING, owner="n", slot=f"{schedule_id}/{number}")
        for number in numbers[waiting:]
    ]


@pytest.mark.parametrize("crowd", [0, CROWD], ids=["few", "many"])
def test_of_each_schedule_is_told_what_runs_and_the_oldest_that_wait(same: Callable[..., Any], crowd: int) -> None:
    schedules = [_schedule("serial"), _schedule("slots", overlap="concurrent", max_concurrent_runs=30), _schedule("x")]
    runs = [*_live("serial", 1, crowd or 3, 0), *_live("slots", 30, crowd or 3, 1000), *_live("other", 1, 2, 2000)]
    live = same(lambda tx: tx.live_beside(schedules), runs, schedules)
    assert {name: sum(run.state is State.RUNNING for run in each.runs) for name, each in live.items()} == {
        "serial": 1,
        "slots": 30,
    }
    assert {each.more for each in live.values()} == {bool(crowd)}


def test_of_a_schedule_without_slots_at_least_one_run_is_told_and_not_all(
    store: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = _schedule("free", overlap="concurrent")
    with store.begin() as tx:
        tx.save_runs(_live("free", CROWD, CROWD, 0))
    read = _counted(monkeypatch)
    with store.begin() as tx:
        live = tx.live_beside([schedule])["free"]
    assert any(run.state is State.RUNNING for run in live.runs)
    assert _ids([run for run in live.runs if run.state is State.WAITING]) == [
        f"run {number:05}" for number in range(most_waiting(schedule.policy))
    ]
    assert live.more
    assert len(read) < 100


def test_a_crowd_of_one_schedule_is_not_read_for_the_others(store: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    schedules = [_schedule("crowd"), *(_schedule(f"s{number}") for number in range(10))]
    with store.begin() as tx:
        tx.save_runs(_live("crowd", 1, 2000, 0))
        for number in range(10):
            tx.save_runs(_live(f"s{number}", 1, 1, 3000 + 10 * number))
    read = _counted(monkeypatch)
    with store.begin() as tx:
        live = tx.live_beside(schedules)
    assert {len(live[f"s{number}"].runs) for number in range(10)} == {2}
    assert len(live["crowd"].runs) == 1 + most_waiting(Policy())
    assert len(read) < 100


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Grows with every run that is read from a row."""
    read: list[Run] = []
    run_from = mapping.run_from

    def noted(row: Sequence[Any]) -> Run:
        read.append(run_from(row))
        return read[-1]

    monkeypatch.setattr(mapping, "run_from", noted)
    return read


# nodes and what they run


def test_load_and_owners_are_those_of_running_runs(same: Callable[..., Any]) -> None:
    runs = [*_live("a", 3, 5, 0), _run(100, state=State.RUNNING, owner="m"), _run(101, state=State.RUNNING)]
    assert same(lambda tx: (tx.load(), tx.owners()), runs) == ({"n": 3, "m": 1}, {"n", "m"})


def test_the_schedules_of_runs_are_told_without_locking(same: Callable[..., Any]) -> None:
    runs = [*_live("a", 1, 1, 0), *_live("b", 1, 0, 10), _run(100)]
    assert same(lambda tx: tx.schedules_of([*_ids(runs), "unknown"]), runs) == {"a", "b"}


# decisions


def _decision(decision_id: str, schedule_id: str, last_ms: int = 2) -> Decision:
    return Decision(decision_id, schedule_id, schedule_id, 1, "misfire", 1, last_ms, 2, NOW_MS, after_ms=1)


def test_the_last_decision_of_a_schedule_grows_in_place(same: Callable[..., Any], store: Engine) -> None:
    kept = [_decision("01", "a"), _decision("02", "a"), _decision("03", "b")]
    same(lambda tx: tx.save_decisions(kept))

    def ask(tx: Transaction) -> dict[str, Decision]:
        last = tx.last_decisions(["a", "b", "c"])
        tx.save_decisions([_decision("02", "a", last_ms=9), _decision("04", "b")])
        return last

    assert same(ask) == {"a": kept[1], "b": kept[2]}
    assert [(each.id, each.last_ms) for each in store.decisions("a")] == [("02", 9), ("01", 2)]
    assert [each.id for each in store.decisions("b")] == ["04", "03"]
