"""Work that a Dask cluster does, while flows, limits and stories stay here.

    python engines.py

Needs onthedot[dask]. The cluster is one on this machine; another is named by its address. Ends by itself.
"""

from __future__ import annotations

from distributed import LocalCluster

from onthedot import App
from onthedot.dask import DaskEngine


def primes_below(most: int) -> int:
    """Slow on purpose."""
    return sum(all(number % other for other in range(2, number)) for number in range(2, most))


def main() -> None:
    on_this_machine = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": ":0", "processes": False}
    with LocalCluster(n_workers=1, threads_per_worker=2, **on_this_machine) as cluster:
        app = App("memory://")
        app.engine("cluster", DaskEngine(cluster.scheduler_address))

        count = app.task(engine="cluster", limit="cluster:2", timeout="10m")(primes_below)

        @app.task
        def add(counts: list[int]) -> int:
            return sum(counts)

        @app.flow
        def primes() -> None:
            add(count.map([100, 200, 300]))

        with app.running():
            run = app.runs.wait(app.enqueue(primes).id, timeout="5m")
            (total,) = app.runs.list(parent=run.id, step="add")
            print(f"{run.state}: {total.result} primes")
            for each in app.runs.list(parent=run.id, step="primes_below"):
                print(f"{each.args} at engine {each.engine}, as {each.engine_id}")


if __name__ == "__main__":
    main()
