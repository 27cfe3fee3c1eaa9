"""Which sabotages the checker sees: the same rules taken out, and virtual storms judged by what they leave behind.

No test is run here, and nobody looks at single steps: only rows and journals, as after any storm.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.sabotage.sabotage import Sabotage
from tests.sabotage.sabotages import SABOTAGES

LONGEST_S = 900
_FOUND = re.compile(r"^seed (\d+) breaks (.+)$", re.MULTILINE)
_PROMISES = (
    *("watermark-stays", "watermark-unseen", "misfire-unrecorded", "overlap-unrecorded", "max-runs-unrecorded"),
    *("max-runs-ignored", "put-hides-what-it-replaces", "resume-hides-the-pause", "resume-fires-the-past"),
    *("tombstone-without-watermark", "tombstone-without-fence", "reschedule-hides-what-it-jumps", "planned-early"),
    *("dead-node-records", "dead-node-plans", "dead-node-starts", "dead-node-renews", "abandoned-runs-stay"),
    *("own-runs-not-stopped", "lost-answer-not-begun", "lost-outcome-not-noticed", "begins-what-ended"),
    *("compared-by-run-alone", "claim-begun-twice", "runs-on-while-cut-off", "calls-tasks-while-cut-off"),
    *("renews-the-old-incarnation", "nobody-taken-over", "peer-judged-by-own-time-alone", "silent-while-draining"),
    *("claim-not-raised-at-start", "claim-not-raised-when-waiting-again", "old-claim-records", "anybody-records"),
    *("fence-stands-still", "fence-stands-still-when-planned", "started-early", "judged-early"),
    *("crash-not-counted", "culprit-goes-free", "at-most-once-taken-over", "at-most-once-handed-back"),
    *("deleted-starts", "deleting-leaves-runs", "paused-starts", "paused-begins-again", "pause-leaves-runs"),
    *("resume-wakes-nobody", "no-slot", "slot-kept", "one-slot-too-many", "only-slots-are-counted"),
    *("no-group-limit", "place-not-given-back", "nobody-is-awaited", "success-wakes-nobody", "nobody-sweeps"),
    *("no-grace", "fire-once-fires-the-first", "skip-skips-all", "catch-up-without-a-cap", "catch-up-without-a-window"),
    *(
        "expired-starts",
        "expired-when-planned",
        "waits-for-its-dependency-for-ever",
        "stranded-with-the-dead",
        "wall-clock-believed",
    ),
    *("frozen-ticks-caught-up", "late-ticks-run-in-a-freeze", "waiting-ticks-start-in-a-freeze"),
    *("ahead-of-another-version", "ahead-beside-a-live-run", "local-inside-a-pause", "filled-in-beside-itself"),
    *("flow-map-judged-early", "flow-closing-too-early", "flow-judged-by-parents-alone", "flow-without-its-slot"),
    *("flow-told-without-its-lock", "flow-counts-instead-of-sets", "flow-nobody-looks-after-a-takeover"),
    *("flow-poll-misses-untold", "flow-retry-makes-another-row", "shard-stays-with-the-dead"),
)
"""Rules without which a promise of the core is broken before the eyes of everybody."""
HELD_TWICE: dict[str, str] = {
    "watermark-unseen": "every edit and every plan puts the next moment after the watermark",
    "tombstone-without-watermark": "who revives a tombstone counts from now at the earliest",
    "resume-fires-the-past": "a tick at or before the watermark is not decided again",
    "dead-node-renews": "a node whose lease was over by its own time ends its incarnation, whatever is answered",
    "dead-node-records": "the takeover has raised the claims of all its runs",
    "renews-the-old-incarnation": "an answer that comes after the lease was over is not believed",
    "abandoned-runs-stay": "a takeover gives all runs back in one transaction, unless a store refuses a row",
    "own-runs-not-stopped": "what a superseded claim reports is refused",
    "begins-what-ended": "the worker begins no claim twice",
    "calls-tasks-while-cut-off": "the worker asks whether its node is cut off before it enters a task",
    "peer-judged-by-own-time-alone": "the store takes over only where the lease is over by its own clock",
    "anybody-records": "whoever takes a run away raises its claim number",
    "judged-early": "only runs that are due are candidates for a start",
    "deleted-starts": "the deletion has skipped what waited",
    "deleting-leaves-runs": "the start skips what waits of a deleted schedule",
    "paused-starts": "the pause has skipped what waited",
    "pause-leaves-runs": "the start skips what waits of a paused schedule",
    "resume-wakes-nobody": "the sweep wakes what waits for a resume that has come",
    "waiting-ticks-start-in-a-freeze": "the start skips ticks inside a freeze",
}
"""Of those that a history alone cannot show: the other rule that keeps the promise."""
SEEN_BY_STORMS: tuple[Sabotage, ...] = tuple(each for each in SABOTAGES if each.name in _PROMISES)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the checker said of a tree without a rule."""

    sabotage: Sabotage
    promise: str | None
    """The first that it found broken; None where it found none."""
    storms: int
    """After so many."""
    took_s: float


def see_all(tree: Path, sabotages: Sequence[Sabotage], seeds: int, jobs: int) -> Iterator[Seen]:
    """So many at a time, in their order."""
    with ThreadPoolExecutor(jobs) as threads:
        yield from threads.map(lambda each: _see(tree, each, seeds), sabotages)


def _see(tree: Path, sabotage: Sabotage, seeds: int) -> Seen:
    began = time.monotonic()
    copy = tree.parent / sabotage.name
    shutil.copytree(tree, copy, copy_function=os.link)  # only one file will differ
    try:
        sabotage.apply(copy)
        output = _storms(copy, seeds)
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    found = _FOUND.search(output)
    took_s = time.monotonic() - began
    if found is None:
        return Seen(sabotage, None, seeds, took_s)
    return Seen(sabotage, found[2], int(found[1]) + 1, took_s)


def _storms(tree: Path, seeds: int) -> str:
    """What they printed; those that had not ended in time have found nothing."""
    command = [sys.executable, "-m", "tests.chaos", "--virtual", "--at-once", "--jobs", "1", "--seeds", str(seeds)]
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}:{tree}"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_S
        )
    except subprocess.TimeoutExpired as ended:
        return (ended.stdout or b"").decode() if isinstance(ended.stdout, bytes) else ended.stdout or ""
    return done.stdout if done.returncode in (0, 1) else f"{done.stdout}\nseed -1 breaks {done.stderr[-200:]}"


def _told(seen: Seen) -> str:
    twice = HELD_TWICE.get(seen.sabotage.name)
    return seen.promise or ("**not seen**" if twice is None else f"held twice: {twice}")


def page_of(results: Sequence[Seen], seeds: int) -> str:
    """The table, for the documentation."""
    seen = sum(each.promise is not None for each in results)
    rows = "".join(
        f"| `{each.sabotage.name}` | {each.sabotage.rule} | {_told(each)} | {each.storms if each.promise else ''} |\n"
        for each in results
    )
    return (
        "# Which broken builds the checker sees\n\n"
        "Each line is this code without one rule. Virtual storms rage on it, and [the checker](../../guides/verify.md)\n"
        "judges what they leave behind: no test is asked. Written by `scripts/sabotage --storms --markdown FILE`.\n\n"
        f"{seen} of {len(results)} were seen, within {seeds} storms each.\n\n"
        "| sabotage | the rule that it takes out | what the verdict says is broken | after so many storms |\n"
        "|---|---|---|---|\n" + rows
    )
