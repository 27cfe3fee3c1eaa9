"""What `doctor` says of a Redis: does it keep what it is told, and does that outlive its primary?"""

from __future__ import annotations

from collections.abc import Iterator

from redis import exceptions

from onthedot.model.finding import Finding, Level
from onthedot.stores.redis.primary import ClusterNodes, Primary, Sentinels
from onthedot.stores.redis.server import Server

_FEWEST = 3
"""So many sentinels, or primaries of a cluster, can agree on a fail-over when one of them is away."""


def online_replicas(server: Server) -> int:
    """How many have all that came before, and hear what is new."""
    facts = server.with_retries(lambda: server.client.info("replication"))
    told = (facts.get(f"slave{number}", {}) for number in range(int(facts.get("connected_slaves", 0))))
    return sum(each.get("state") == "online" for each in told)


def examine(server: Server) -> list[Finding]:
    """Of the server that is the primary now, and of those who choose the next one."""
    return [*_keeping(server), *_replicas(server), *_choosing(server.primary)]


def _keeping(server: Server) -> Iterator[Finding]:
    facts = server.with_retries(lambda: {**server.client.info("persistence"), **server.client.info("memory")})
    if facts.get("aof_enabled", 1):
        yield Finding(Level.OK, "persistence", "the server has an append-only file")
    else:
        what = "appendonly no: after a restart the server has forgotten what ran, and it runs again"
        yield Finding(Level.WARNING, "persistence", what, "set appendonly yes there")
    policy = str(facts.get("maxmemory_policy", "noeviction"))
    if policy.startswith("allkeys"):
        what = f"maxmemory-policy {policy}: when it is full the server throws schedules and runs away"
        yield Finding(Level.WARNING, "memory", what, "set maxmemory-policy noeviction there")


def _replicas(server: Server) -> Iterator[Finding]:
    found, wanted = online_replicas(server), server.replicas
    if not wanted:
        if found or server.primary is not None:
            what = f"nobody waits for its replicas ({found}): a fail-over takes away what was written last"
            remedy = "take allow_no_replicas= out of the URL" if server.primary else "add replicas=1 to the URL"
            yield Finding(Level.WARNING, "replicas", what, remedy)
    elif found < wanted:
        what = f"{found} of the {wanted} that must have what is written: nothing can be written"
        yield Finding(Level.PROBLEM, "replicas", what, "see why the others are away")
    elif found == wanted:
        what = f"{found}, and none to spare: while one is away, and after a fail-over, nothing can be written"
        yield Finding(Level.WARNING, "replicas", what, "attach one more")
    else:
        yield Finding(Level.OK, "replicas", f"{found}, of which {wanted} must have what is written")


def _choosing(primary: Primary | None) -> Iterator[Finding]:
    match primary:
        case Sentinels():
            yield from _sentinels(primary)
        case ClusterNodes():
            yield from _cluster(primary)


def _sentinels(primary: Sentinels) -> Iterator[Finding]:
    known = 0
    for (host, port), state in primary.answers(primary.state):
        if isinstance(state, exceptions.RedisError):
            what = f"{host}:{port} does not answer: {' '.join(str(state).split())}"
            yield Finding(Level.WARNING, "sentinels", what, "start it, or take it out of the URL")
        else:
            known = max(known, 1 + int(state["num-other-sentinels"]))
    if known >= _FEWEST:
        yield Finding(Level.OK, "sentinels", f"{known} watch the primary")
    elif known:
        what = f"{known} watch the primary: without one of them there is no fail-over"
        yield Finding(Level.WARNING, "sentinels", what, f"run {_FEWEST}, on machines that do not fail together")


def _cluster(primary: ClusterNodes) -> Iterator[Finding]:
    for _, nodes in primary.answers(primary.nodes):
        if isinstance(nodes, exceptions.RedisError):
            continue
        leading = sum(each.leads and bool(each.slots) for each in nodes)
        if leading >= _FEWEST:
            yield Finding(Level.OK, "cluster", f"{leading} primaries; all our keys lie in slot {primary.slot}")
        else:
            what = f"{leading} primaries: without one of them there is no fail-over"
            yield Finding(Level.WARNING, "cluster", what, f"a cluster needs {_FEWEST}")
        return
