"""Which node, and what happens when it is frozen, busy or gone: real processes and signals."""

from __future__ import annotations

import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cluster.cluster import LEASE_MS, LONG_LEASE_MS, Cluster
from tests.patience import LONGEST_S

Make = Callable[..., Cluster]


@pytest.fixture(params=["sqlite", "postgresql_15"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that does not exist yet."""
    return f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else str(request.getfixturevalue(request.param))


@pytest.fixture
def cluster(tmp_path: Path, url: str) -> Iterator[Make]:
    made: list[Cluster] = []

    def make(body: str, lease_ms: int = LEASE_MS) -> Cluster:
        made.append(Cluster(tmp_path, url, body, lease_ms))
        return made[-1]

    yield make
    for each in made:
        each.close()


FROZEN = """
@app.task
def slow(ctx: Context) -> str:
    note(f"entered {ctx.attempt}")
    if ctx.attempt > 1:
        return "the second"
    while not ctx.cancelled:
        time.sleep(0.05)
    note("told to stop")
    return "the zombie"
"""


def test_a_node_that_was_frozen_past_its_lease_is_refused_and_told_to_stop(cluster: Make) -> None:
    world = cluster(FROZEN)
    run = world.app.enqueue("slow", unchecked=True)
    frozen = world.start()
    world.until(lambda: ["entered", "1"] in [words[:2] for words in world.notes()])
    world.start()
    frozen.send_signal(signal.SIGSTOP)
    world.until(lambda: world.app.runs.get(run.id).is_final)
    frozen.send_signal(signal.SIGCONT)
    world.until(lambda: ["told", "to", "stop"] in [words[:3] for words in world.notes()])
    ended = world.app.runs.get(run.id)
    assert (str(ended.state), ended.result, ended.attempt, ended.crashes) == ("succeeded", "the second", 2, 1)


LONG = """
@app.task
def long(ctx: Context) -> None:
    note(f"entered {ctx.attempt}")
    time.sleep(12)
    note("left")
"""


def test_a_run_longer_than_its_lease_is_never_started_twice_also_while_its_node_drains(cluster: Make) -> None:
    world = cluster(LONG, LONG_LEASE_MS)
    run = world.app.enqueue("long", unchecked=True)
    first = world.start()
    world.until(lambda: len(world.notes()) == 1)
    world.start()
    first.send_signal(signal.SIGTERM)
    assert first.wait(LONGEST_S) == 0
    world.until(lambda: world.app.runs.get(run.id).is_final)
    assert [words[:-1] for words in world.notes()] == [["entered", "1"], ["left"]]
    assert str(world.app.runs.get(run.id).state) == "succeeded"


ALONE = """
import fcntl

@app.schedule(every("1s"), overlap="{overlap}", route="round", crash_retries=100)
def alone(ctx: Context) -> None:
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            note("overlap")
            return
        note("entered")
        for _ in range(30):
            if ctx.cancelled:
                break
            time.sleep(0.05)
"""


OVERLAPS = ("serial", "discard", "cover")


@pytest.mark.parametrize(
    ("url", "overlap"),
    [
        *(pytest.param("sqlite", overlap, marks=pytest.mark.slow) for overlap in OVERLAPS),
        *(("postgresql_15", overlap) for overlap in OVERLAPS),
    ],
    indirect=["url"],
)
def test_with_rotating_routes_and_holders_that_are_killed_there_are_never_two_at_once(
    cluster: Make, overlap: str
) -> None:
    world = cluster(ALONE.format(overlap=overlap), LONG_LEASE_MS)
    nodes = [world.start(), world.start()]
    for turn in range(2):
        before = len(world.notes())
        world.until(lambda before=before: len(world.notes()) >= before + 3)  # type: ignore[misc]
        nodes[turn].kill()
        nodes[turn].wait()
        nodes[turn] = world.start()
    before = len(world.notes())
    world.until(lambda: len(world.notes()) >= before + 3)
    assert {words[0] for words in world.notes()} == {"entered"}


LAST = """
@app.schedule(every("1s"), route="last", overlap="concurrent")
def sent(ctx: Context) -> None:
    note(f"{int(ctx.scheduled_at.timestamp())}")
"""


def test_what_was_routed_to_a_node_that_died_is_done_by_another(cluster: Make) -> None:
    world = cluster(LAST)
    first = world.start()
    world.until(lambda: len(world.notes()) >= 1)
    second = world.start()
    world.until(lambda: any(words[-1] == str(second.pid) for words in world.notes()))
    second.kill()
    second.wait()
    seen = max(int(words[0]) for words in world.notes())
    world.until(lambda: max(int(words[0]) for words in world.notes()) > seen + 5)
    first.send_signal(signal.SIGTERM)
    assert first.wait(LONGEST_S) == 0
    world.expect_every_tick_once("sent")


EVERYWHERE = """
@app.schedule(every("1s"), route="broadcast", max_waiting=5)
def everywhere(ctx: Context) -> None:
    note(f"{ctx.run.parent_id} {ctx.shard} {ctx.run.shards} {ctx.attempt}")
"""


def test_while_a_node_joins_every_shard_of_a_broadcast_is_done_exactly_once(cluster: Make) -> None:
    world = cluster(EVERYWHERE)
    nodes = [world.start(), world.start()]
    world.until(lambda: any(words[2] == "2" for words in world.notes()))
    nodes.append(world.start())
    world.until(lambda: sum(words[2] == "3" for words in world.notes()) >= 9)
    for node in nodes:
        node.send_signal(signal.SIGTERM)
    assert [node.wait(LONGEST_S) for node in nodes] == [0, 0, 0]
    shards: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for words in world.notes():
        shards[words[0], int(words[2])].append((int(words[1]), int(words[3])))
    ended = {run.id: run for run in world.runs("everywhere") if run.is_broadcast and run.is_final}
    assert Counter(total for _, total in shards)[3] >= 2
    for (parent, of), done in shards.items():
        if parent in ended:
            assert {shard for shard, _ in done} == set(range(of)), "a shard was left out"
            assert len(done) == len(set(done)), "an attempt was made twice"
