"""What follows from the cost of one: the arithmetic behind docs/scale.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from bench.scaling import FULL, Costs, Load, Server, bottleneck, connections, cores_of, kept_runs, stores_for, used
from hypothesis import given
from hypothesis import strategies as st

COSTS = Costs(
    plan_us=50,
    finish_us=30,
    read_us=20,
    moment_us=0.2,
    poll_us=500,
    renew_us=200,
    renew_peer_us=2,
    schedule_bytes=1000,
    run_bytes=800,
    wal_bytes=2000,
)
SERVER = Server(cores=16, connections=500, wal_mb=200, disk_gb=4000)
HOURLY = Load(schedules=3_600_000, ticks=1000, nodes=10, planners=4, kept_days=1)


def test_each_tick_is_written_once_and_read_by_every_planner() -> None:
    assert cores_of(COSTS, HOURLY)["ticks"] == pytest.approx(0.08)
    assert cores_of(COSTS, HOURLY)["reading ahead"] == pytest.approx(0.08)
    twelve = replace(HOURLY, planners=12)
    assert cores_of(COSTS, twelve)["reading ahead"] == pytest.approx(0.24)


def test_each_moment_is_read_by_every_node_for_each_second_ahead() -> None:
    assert cores_of(COSTS, HOURLY)["reading moments"] == pytest.approx(1000 * 0.2e-6 * 5 * 10)


def test_renewals_grow_with_the_square_of_the_nodes() -> None:
    many = replace(HOURLY, nodes=1000)
    assert cores_of(COSTS, HOURLY)["renewing leases"] == pytest.approx(10 / 10 * 220e-6)
    assert cores_of(COSTS, many)["renewing leases"] == pytest.approx(1000 / 10 * 2200e-6)


def test_behind_a_pooler_only_planners_keep_connections_of_their_own() -> None:
    many = replace(HOURLY, nodes=1000)
    assert connections(many) == 6000
    assert connections(replace(many, pooled=True)) == 4 * 6 + 60
    assert connections(replace(HOURLY, nodes=5, pooled=True)) == 30


def test_history_is_bounded_by_days_and_by_its_number_for_each_schedule() -> None:
    assert kept_runs(HOURLY) == 1000 * 86_400
    assert kept_runs(replace(HOURLY, kept_days=3000)) == 3_600_000 * 1000


@pytest.mark.parametrize(
    ("changed", "first"),
    [
        ({"nodes": 400}, "connections"),
        ({"ticks": 100_000}, "processors: ticks"),
        ({"ticks": 20_000, "planners": 200, "nodes": 60}, "processors: reading ahead"),
        ({"kept_days": 50}, "disk"),
    ],
)
def test_what_is_used_up_first_is_named(changed: dict[str, Any], first: str) -> None:
    server = Server(cores=16, connections=500, wal_mb=2000, disk_gb=4000)
    assert bottleneck(COSTS, replace(HOURLY, **changed), server) == first


@given(st.integers(min_value=1000, max_value=10**8), st.integers(min_value=2, max_value=1000))
def test_so_many_databases_fit_and_one_less_does_not(schedules: int, nodes: int) -> None:
    load = Load(schedules, schedules / 3600, nodes, min(nodes, 4), kept_days=1)
    stores = stores_for(COSTS, load, SERVER)
    assert max(used(COSTS, load.shared_by(stores), SERVER).values()) <= FULL
    if stores > 1:
        assert max(used(COSTS, load.shared_by(stores - 1), SERVER).values()) > FULL


def test_where_two_nodes_alone_fill_a_server_it_is_said() -> None:
    with pytest.raises(ValueError, match="no number of servers is enough"):
        stores_for(COSTS, HOURLY, Server(connections=10))
