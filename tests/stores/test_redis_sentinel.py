"""Redis watched by sentinels: the promises in part, and what an old primary, a lost replica or a wrong URL brings."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Event

import pytest
from tests.patience import LONGEST_S
from tests.servers.redis import fresh
from tests.servers.redis_sentinel import SentinelGroup

from onthedot import every
from onthedot.errors import SettingsError, StoreError, StoreUnavailable
from onthedot.model.change import Author
from onthedot.model.finding import Level
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.rules import edits
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.rules.plan import Decider
from onthedot.stores.base import Store
from onthedot.stores.open import open_store
from onthedot.testing import conformance
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import START_MS

BY = Author("test", "test", "put")
PASSWORD, SENTINEL_PASSWORD = "one", "two"


@pytest.fixture(scope="module")
def group() -> Iterator[SentinelGroup]:
    with tempfile.TemporaryDirectory(prefix="onthedot-sentinel-") as folder:
        group = SentinelGroup(Path(folder), PASSWORD, SENTINEL_PASSWORD)
        try:
            group.start()
            yield group
        finally:
            group.stop()


def _url(group: SentinelGroup, password: str = PASSWORD, sentinel_password: str = SENTINEL_PASSWORD) -> str:
    """A namespace that nobody has used."""
    bare = group.url.replace("://", f"://:{password}@")
    return f"{fresh(bare)}&sentinel_password={sentinel_password}"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def store(group: SentinelGroup, clock: ManualClock) -> Iterator[Store]:
    with closing(open_store(_url(group), create=True, now_ms=clock)) as store:
        yield store


@pytest.mark.slow
class TestFinishingAndStarting(conformance.TestFinishingAndStarting): ...


@pytest.mark.slow
class TestKeys(conformance.TestKeys): ...


@pytest.mark.slow
class TestManyThreadsAtOnce(conformance.TestManyThreadsAtOnce): ...


decide = Decider(lambda: new_id(START_MS))


def _planned(store: Store, node: Node, before_commit: Event | None = None, go: Event | None = None) -> list[Run]:
    def decide_and_wait(rows: Sequence[Before], situation: Situation) -> Sequence[Effects]:
        effects = decide(rows, situation)
        if before_commit is not None and go is not None:
            before_commit.set()
            assert go.wait(LONGEST_S)
        return effects

    return [run for each in store.plan_due(node.id, 10, 1, decide_and_wait).effects for run in each.runs]


def _planned_at_last(store: Store, node: Node) -> list[Run]:
    """Once the next primary has its replicas."""
    for _ in range(int(LONGEST_S / 0.1)):
        with suppress(StoreUnavailable):
            planned = _planned(store, node)
            if planned:
                return planned
        Event().wait(0.1)
    raise AssertionError("it was never planned")


def _joined(store: Store) -> Node:
    return store.join(Node(new_id(START_MS), "node", tasks=("task",)), [])


def test_what_a_frozen_primary_does_when_it_wakes_counts_for_nothing(
    redis_sentinel: SentinelGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was sent before another was chosen, and is done and answered after that. The other one plans the same tick."""
    monkeypatch.setattr("onthedot.stores.redis.connect._ANSWER_S", LONGEST_S)  # it must not be given up before
    clock = ManualClock(START_MS)
    deciding, frozen = Event(), Event()
    with (
        closing(open_store(redis_sentinel.url, create=True, now_ms=clock)) as first,
        closing(open_store(redis_sentinel.url, create=True, now_ms=clock)) as second,
        ThreadPoolExecutor(1) as pool,
    ):
        mine, others = _joined(first), _joined(second)
        second.listen(Event().set)  # and so it leaves a primary that is none any more
        first.change(["s"], edits.put(edits.Definition("task", every("1m"))), BY)
        clock.pass_by(60_000)
        planning = pool.submit(_planned, first, mine, deciding, frozen)
        assert deciding.wait(LONGEST_S)
        old = redis_sentinel.primary()
        old.freeze()
        frozen.set()
        redis_sentinel.promoted_after(old)
        old.thaw()
        with pytest.raises(StoreUnavailable) as caught:
            planning.result(LONGEST_S)
        assert "\n" not in str(caught.value)
        assert len(_planned_at_last(second, others)) == 1


def test_what_was_answered_outlives_a_fail_over_in_which_nobody_was_ill(redis_sentinel: SentinelGroup) -> None:
    """One replica is promoted first, and the other follows the old primary for a second more: it says it has all."""
    answered: list[str] = []
    over = Event()

    def write(store: Store) -> None:
        number = 0
        while not over.is_set():
            number += 1
            with suppress(StoreUnavailable):
                answered.append(store.enqueue([Run(f"run {number}", "task", "enqueue", 0, 0)])[0].id)

    with closing(open_store(redis_sentinel.url, create=True)) as store, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write, store)
        redis_sentinel.fail_over()
        redis_sentinel.wait_for_replicas(2)
        over.set()
        writing.result(LONGEST_S)
    with closing(open_store(redis_sentinel.url, create=False)) as anew:
        known = {run.id for run in anew.runs(limit=100_000)}
    assert [each for each in answered if each not in known] == []


def test_what_no_replica_has_is_not_taken_for_done(redis_sentinel: SentinelGroup) -> None:
    with closing(open_store(redis_sentinel.url, create=True)) as store:
        primary = redis_sentinel.primary()
        replicas = [each for each in redis_sentinel.servers if each is not primary]
        replicas[0].freeze()
        assert store.enqueue([Run("one is enough", "task", "enqueue", 0, 0)])
        node = store.join(Node("node", "n", tasks=("task",)), [])
        (run,) = store.start_due(node.id, ["task"], 1).runs
        replicas[1].kill()
        with pytest.raises(StoreUnavailable, match="does not know that a replica has what was written"):
            store.finish(node.id, [Outcome(run.id, run.claim_no, "succeeded")])
        with pytest.raises(StoreUnavailable, match="does not know that a replica has what was written"):
            store.enqueue([Run("lost", "task", "enqueue", 0, 0)])
        (found,) = (each for each in store.examine() if each.about == "replicas")
        assert (found.level, found.remedy) == (Level.WARNING, "attach one more")
        replicas[0].kill()
        said = "has 0 replicas, and a replica must have what is written"
        with pytest.raises(StoreError, match=said) as caught:
            open_store(redis_sentinel.url, create=True)
        assert str(caught.value).endswith("attach a replica, or accept that with ?allow_no_replicas=yes")
        with closing(open_store(f"{redis_sentinel.url}?allow_no_replicas=yes", create=True)) as careless:
            assert careless.enqueue([Run("accepted", "task", "enqueue", 0, 0)])


def test_other_processes_hear_of_new_work_after_a_fail_over(redis_sentinel: SentinelGroup) -> None:
    heard = Event()
    with (
        closing(open_store(redis_sentinel.url, create=True)) as here,
        closing(open_store(redis_sentinel.url, create=True)) as there,
    ):
        end, also = here.listen(heard.set), there.listen(Event().set)
        old = redis_sentinel.primary()
        old.freeze()  # who listens there hears nothing, not even that it is over
        redis_sentinel.promoted_after(old)
        for number in range(int(LONGEST_S / 0.2)):
            heard.clear()
            try:
                there.enqueue([Run(f"run {number}", "task", "enqueue", 0, 0)])
            except StoreUnavailable:
                continue
            if heard.wait(0.2):
                break
        assert heard.is_set()
        end()
        also()


def test_doctor_says_who_watches_and_how_many_have_what_is_written(store: Store) -> None:
    found = {each.about: (each.level, each.what) for each in store.examine()}
    assert found == {
        "persistence": (Level.OK, "the server has an append-only file"),
        "replicas": (Level.OK, "2, of which 1 must have what is written"),
        "sentinels": (Level.OK, "3 watch the primary"),
    }


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"password": "guessed"}, "refuses this user"),
        ({"sentinel_password": "guessed"}, "says: "),
    ],
)
def test_who_is_not_let_in_is_told_so_and_no_password_is_shown(
    group: SentinelGroup, wrong: dict[str, str], said: str
) -> None:
    with pytest.raises(StoreError, match=said) as caught:
        open_store(_url(group, **wrong), create=True)
    text = str(caught.value)
    assert "refuses this user" in text
    assert all(secret not in text for secret in ("guessed", f":{PASSWORD}@", f"={SENTINEL_PASSWORD}"))
    assert "\n" not in text


def test_a_service_that_nobody_watches_is_answered_with_those_that_are_known(group: SentinelGroup) -> None:
    with pytest.raises(StoreError, match=r"no service is called shop; known here: otd$"):
        open_store(_url(group).replace("/otd?", "/shop?"), create=True)


def test_a_server_that_is_no_sentinel_is_told_so(group: SentinelGroup, redis_server: str) -> None:
    place = redis_server.partition("://")[2].partition("/")[0]
    with pytest.raises(StoreError, match=f"{place} says: this is no sentinel; name sentinels, or write redis://"):
        open_store(f"redis+sentinel://{place}/otd", create=True)


def test_sentinels_that_are_away_are_named() -> None:
    with pytest.raises(StoreUnavailable, match=r"nobody knows the primary of otd \(127.0.0.1:1: .*\)"):
        open_store("redis+sentinel://127.0.0.1:1/otd", create=True)


def test_one_that_is_away_or_of_another_opinion_is_passed_by(group: SentinelGroup) -> None:
    url = _url(group).replace(group.places, f"127.0.0.1:1,{group.places}")
    with closing(open_store(url, create=True)) as store:
        assert store.schedules() == []


def test_a_single_server_may_wait_for_its_replicas_too(group: SentinelGroup, redis_server: str) -> None:
    primary = f"redis://:{PASSWORD}@127.0.0.1:{group.primary().port}/0"
    with closing(open_store(f"{fresh(primary)}&replicas=2", create=True)) as store:
        assert store.enqueue([Run("run", "task", "enqueue", 0, 0)])
    with pytest.raises(StoreError, match=r"has 0 replicas, and 2 replicas must have what is written.* replicas= out$"):
        open_store(f"{fresh(redis_server)}&replicas=2", create=True)


def test_the_database_and_the_service_are_read_from_the_path(group: SentinelGroup) -> None:
    with closing(open_store(_url(group).replace("/otd?", "/otd/3?"), create=True)) as store:
        assert store.schedules() == []
    with pytest.raises(SettingsError, match="a number; not 'x'"):
        open_store(_url(group).replace("/otd?", "/otd/x?"), create=True)
