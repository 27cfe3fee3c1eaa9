"""What PostgreSQL itself can do: pgbench with one statement that locks due schedules, inserts runs and advances.

It decides nothing, reads no trigger and returns no rows: it is the ceiling of planning on the same tables.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import psycopg

from bench.planners import Claims

_STATEMENT = """
WITH due AS (
    SELECT id, name, task, args, policy, revision, priority, next_run_ms
    FROM onthedot_schedules
    WHERE enabled = 1 AND deleted = 0 AND error IS NULL AND mode = 'durable'
      AND next_run_ms <= extract(epoch FROM statement_timestamp()) * 1000
    ORDER BY next_run_ms, id
    LIMIT {batch}
    FOR NO KEY UPDATE SKIP LOCKED
), made AS (
    INSERT INTO onthedot_runs (
        id, task, cause, scheduled_ms, due_ms, state, args, policy, schedule_id, schedule, revision,
        claim_no, attempt, crashes, fence, exempt, created_ms, priority, ranked, apart, lane, plain
    )
    SELECT gen_random_uuid()::text, task, 'tick', next_run_ms, next_run_ms, 'waiting', args, policy, id, name, revision,
           0, 0, 0, 0, 0, next_run_ms, priority, 0, '', 'ANY', 1
    FROM due
)
UPDATE onthedot_schedules AS schedules
SET next_run_ms = due.next_run_ms + 3600000, settled_ms = due.next_run_ms, last_enqueued_ms = due.next_run_ms,
    planned_runs = planned_runs + 1, version = version + 1
FROM due WHERE schedules.id = due.id;
"""


def statement(batch: int) -> str:
    """Plans as many at a time."""
    return _STATEMENT.format(batch=batch)


def plan(programs: Path, url: str, due: int, clients: int, batch: int) -> Claims:
    """Let so many clients plan what is due, with as many statements as that takes."""
    each = -(-due // (batch * clients))
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "plan.sql"
        script.write_text(" ".join(statement(batch).split()) + "\n")
        command: list[str | Path] = [
            programs / "pgbench",
            "--no-vacuum",
            "--file",
            script,
            "--client",
            str(clients),
            "--log",
        ]
        command += ["--jobs", str(min(clients, 2)), "--transactions", str(each), "--protocol", "prepared", url]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"pgbench failed: {done.stderr[-2000:]}")
        lines = [line.split() for log in Path(folder).glob("pgbench_log.*") for line in log.read_text().splitlines()]
    with psycopg.connect(url) as connection:
        planned = connection.execute("SELECT count(*) FROM onthedot_runs").fetchone()
    assert planned == (due,), f"pgbench planned {planned} of {due}"
    took_s = [int(line[2]) / 1e6 for line in lines]
    ends = [int(line[4]) + int(line[5]) / 1e6 for line in lines]
    start = min(end - took for end, took in zip(ends, took_s, strict=True))
    return Claims(due, max(ends) - start, tuple(took * 1000 for took in took_s))
