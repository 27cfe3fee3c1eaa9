"""What is wrong with a store and its nodes, and what to do about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from onthedot.clock import Clock, StoreClock
from onthedot.durations import format_duration
from onthedot.model.finding import Finding, Level
from onthedot.model.node import SKEW_LABEL, ZONES_LABEL, Node
from onthedot.stores.base import OLD_MS, Store

SKEW_WARNING_MS = 1000
SKEW_PROBLEM_MS = 60_000

_SET_THE_CLOCK = "set it by NTP: runs start by the store's clock, but tasks and logs see the wrong time"


def examine(store: Store, clock: Clock, *, old_ms: int = OLD_MS) -> list[Finding]:
    """Everything that can be seen from here; a transaction elsewhere counts as old from `old_ms` on."""
    here = StoreClock(store.now_ms, clock)
    here.measure()
    nodes, now_ms = store.nodes(), store.now_ms()
    alive = [node for node in nodes if not node.expired(now_ms)]
    return [
        judge_clock("this machine's clock", here.skew_ms),
        *store.examine(old_ms),
        *judge_nodes(nodes, now_ms),
        *(judge_clock(f"the clock of node {node.name}", skew_ms) for node, skew_ms in _skews(alive)),
        *judge_zones(alive),
    ]


def judge_clock(whose: str, skew_ms: int) -> Finding:
    """How far a wall clock is from the store's; positive is ahead."""
    if abs(skew_ms) < SKEW_WARNING_MS:
        return Finding(Level.OK, "clock", f"{whose} is within a second of the store's ({skew_ms:+,} ms)")
    level = Level.WARNING if abs(skew_ms) < SKEW_PROBLEM_MS else Level.PROBLEM
    side = "ahead of" if skew_ms > 0 else "behind"
    about = format_duration(abs(skew_ms) // 1000 * 1000)
    return Finding(level, "clock", f"{whose} is {about} {side} the store's", _SET_THE_CLOCK)


def judge_nodes(nodes: Sequence[Node], now_ms: int) -> Iterator[Finding]:
    """Who is alive, and who has not said so for longer than its lease."""
    expired = [node for node in nodes if node.expired(now_ms)]
    living = len(nodes) - len(expired)
    if living:
        yield Finding(Level.OK, "node", f"{living:,} alive")
    elif not expired:
        yield Finding(Level.WARNING, "node", "none is alive: nothing will run", "start one with `onthedot run`")
    for node in expired:
        silent = format_duration((now_ms - node.renewed_ms) // 1000 * 1000)
        what = f"{node.name} ({node.id}) has not renewed its lease for {silent}"
        if living:
            yield Finding(Level.WARNING, "node", what, "the others take its runs over; see why it stopped or froze")
        else:
            yield Finding(Level.PROBLEM, "node", f"{what}, and no other is alive", "start one with `onthedot run`")


def judge_zones(nodes: Sequence[Node]) -> Iterator[Finding]:
    """Whether all nodes go by the same time zone data."""
    named: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if ZONES_LABEL in node.labels:
            named[node.labels[ZONES_LABEL]].append(node.name)
    if len(named) == 1:
        yield Finding(Level.OK, "zones", f"all nodes have the time zones of {next(iter(named))}")
    elif named:
        each = "; ".join(f"{version} on {', '.join(names)}" for version, names in sorted(named.items()))
        yield Finding(
            Level.WARNING,
            "zones",
            f"nodes have different time zone data: {each}",
            "update tzdata on all of them: a tick may move where the rules of its zone differ",
        )


def _skews(nodes: Sequence[Node]) -> Iterator[tuple[Node, int]]:
    for node in nodes:
        try:
            yield node, int(node.labels[SKEW_LABEL])
        except (KeyError, ValueError):  # a node of an older version, or of somebody else's making
            continue
