"""Storms: real processes and servers to which a seeded plan of faults happens, or thousands of virtual ones.

    scripts/chaos [--store sqlite] [--minutes 1] [--seed 7] [--markdown FILE] [--json FILE] [--plan]
    scripts/chaos --virtual [--seeds 1000] [--first 0] [--jobs 2]

Exit code 0 only if no promise was broken: by the verdict of the checker on the store and the journals of the tasks, by
what still lives when all is calm, and by how the processes ended.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path

from tests.chaos import clusters, places
from tests.chaos.conductor import Conductor, Size
from tests.chaos.kinds import JOURNALLED, KINDS, REAL
from tests.chaos.places import Place
from tests.chaos.plan import plan
from tests.chaos.proxy import Proxy
from tests.chaos.summary import Summary, summary_of, write
from tests.chaos.virtual.storms import Found, draw, find, found_in, play

from onthedot.clock import SystemClock
from onthedot.stores.open import open_store
from onthedot.testing.history import verify

PLACES: dict[str, Callable[[Path, Proxy], AbstractContextManager[Place]]] = {
    "sqlite": places.sqlite_file,
    "postgresql": places.one_postgresql,
    "mariadb": places.one_mariadb,
    "mongodb": places.one_mongodb,
    "redis": places.one_redis,
    "postgresql-pair": clusters.postgresql_pair,
    "galera": clusters.galera,
    "mongodb-set": clusters.mongodb_set,
    "redis-sentinel": clusters.redis_sentinel,
}
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
_BEFORE_MS = 60_000
_EXPLAINED = 15


def main(arguments: Sequence[str] | None = None) -> int:
    """Let it rage, and say what came of it."""
    asked = _parser().parse_args(arguments)
    if asked.virtual:
        return _at_once(asked.first, asked.seeds) if asked.at_once else _virtual(asked.first, asked.seeds, asked.jobs)
    seed = random.randrange(1 << 30) if asked.seed is None else asked.seed
    size = Size(asked.nodes, asked.pace, max(round(asked.schedules / len([*KINDS, *REAL])), 1))
    summary = _real(asked.store, asked.minutes * 60, seed, size, only_plan=asked.plan)
    if summary is None:
        return 0
    for text in (*summary.shown, *summary.problems):
        print(text)
    print(summary.as_text())
    if asked.markdown:
        write(asked.markdown, summary.as_markdown())
    if asked.json:
        write(asked.json, summary.as_json())
    return int(not summary.holds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=sorted(PLACES), default="sqlite")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, help="fixes the plan; drawn and printed if not given")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--schedules", type=int, default=135, help="about so many, of every kind alike")
    parser.add_argument("--pace", type=int, default=3, help="how much slower than their least all schedules tick")
    parser.add_argument("--plan", action="store_true", help="only print what would happen")
    parser.add_argument("--markdown", metavar="FILE", help="write the summary as a page")
    parser.add_argument("--json", metavar="FILE", help="write the summary for plots")
    parser.add_argument("--virtual", action="store_true", help="in virtual time, each in about a tenth of a second")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed of virtual storms")
    parser.add_argument("--at-once", action="store_true", help="end with the first virtual storm that breaks something")
    parser.add_argument("--jobs", type=int, default=cpu_count() or 1)
    return parser


def _real(store: str, seconds: float, seed: int, size: Size, *, only_plan: bool) -> Summary | None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onthedot-chaos-")))
        disk, scratch = folder / "store", folder / "scratch"
        for each in (disk, scratch):
            each.mkdir()
        journal = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=_MEMORY)))
        proxy = Proxy(seed)
        stack.callback(proxy.close)
        place = stack.enter_context(PLACES[store](disk, proxy))
        acts = plan(seed, seconds, size.nodes, place.can)
        print(f"{store}, {seconds:g} s, seed {seed}: {len(acts)} acts", flush=True)
        if only_plan:
            print(*acts, sep="\n")
            return None
        began_ms = SystemClock().now_ms()
        conductor = Conductor(place, size, scratch, journal)
        try:
            conductor.rage(acts, seconds)
            print("calm", flush=True)
            conductor.calm_down()
        finally:
            conductor.close()
        reading = open_store(place.url, create=False)
        stack.callback(reading.close)
        since_ms = began_ms - _BEFORE_MS
        verdict = verify(
            reading,
            since_ms=since_ms,
            journal=journal,
            journalled=JOURNALLED,
            explained=_EXPLAINED,
            is_over=True,
        )
        return summary_of(reading, store, seed, seconds, size, conductor.told, verdict, since_ms)


# virtual ones


def _virtual(first: int, seeds: int, jobs: int) -> int:
    began, found = time.monotonic(), 0
    for each in _found_by(jobs, range(first, first + seeds)):
        if each is not None:
            found += 1
            print(f"{each.storm}\n{each.broken}\n", flush=True)
    took = time.monotonic() - began
    print(f"{seeds:,} virtual storms in {took:.0f} s, {seeds / took * 60:,.0f} a minute; {found} broke a promise")
    return int(found > 0)


def _at_once(first: int, seeds: int) -> int:
    """As it is, not shortened."""
    for seed in range(first, first + seeds):
        verdict = play(draw(seed))
        if not verdict.holds:
            print(f"seed {seed} breaks {verdict.broken[0].promise}\n{verdict.broken[0]}")
            return 1
    return 0


def _found_by(jobs: int, seeds: range) -> Iterator[Found | None]:
    if jobs == 1:
        yield from find(seeds)
        return
    with get_context("spawn").Pool(jobs) as pool:
        for found in pool.imap_unordered(found_in, [seeds[at : at + 20] for at in range(0, len(seeds), 20)]):
            yield from found


if __name__ == "__main__":
    sys.exit(main())
