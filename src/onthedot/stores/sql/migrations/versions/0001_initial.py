"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import MEDIUMTEXT

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_LONG = sa.Text().with_variant(MEDIUMTEXT(), "mysql")
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_LOCAL = sa.text("mode = 'local'")
_TOMBSTONE = sa.text("deleted = 1")
_PARKED = sa.text("deleted = 0 AND error IS NOT NULL")
_PAUSED = sa.text("deleted = 0 AND error IS NULL AND enabled = 0")
_ENDED = sa.text("deleted = 0 AND error IS NULL AND enabled = 1 AND next_run_ms IS NULL")
_TICK = sa.text("schedule_id IS NOT NULL")
_PLANNABLE = sa.text("enabled = 1 AND deleted = 0 AND error IS NULL AND mode = 'durable'")


def _string(length: int) -> sa.String:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def _create_table(name: str, *parts: sa.schema.SchemaItem) -> None:
    op.create_table(name, *parts, mysql_engine="InnoDB", mysql_charset="utf8mb4", mysql_collate="utf8mb4_bin")


def _partly() -> bool:
    """Whether an index may be of some rows only."""
    return op.get_context().dialect.name != "mysql"


def upgrade() -> None:
    _create_runs()
    _create_table(
        "onthedot_graphs",
        sa.Column("hash", _string(64), nullable=False),
        sa.Column("name", _string(200), nullable=False),
        sa.Column("content", _LONG, nullable=False),
        sa.Column("seen_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash"),
    )
    _create_table("onthedot_forgotten", sa.Column("id", _string(36), nullable=False), sa.PrimaryKeyConstraint("id"))
    _create_table(
        "onthedot_changes",
        sa.Column("seq", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("id", _string(36), nullable=False),
        sa.Column("schedule_id", _string(36), nullable=False),
        sa.Column("schedule", _string(200), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("who", _LONG, nullable=False),
        sa.Column("surface", _LONG, nullable=False),
        sa.Column("what", _LONG, nullable=False),
        sa.Column("before", _LONG, nullable=False),
        sa.Column("after", _LONG, nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("onthedot_changes_at", "onthedot_changes", ["at_ms"])
    op.create_index("onthedot_changes_id", "onthedot_changes", ["id"])
    op.create_index("onthedot_changes_schedule", "onthedot_changes", ["schedule", "seq"])
    _create_table(
        "onthedot_decisions",
        sa.Column("id", _string(36), nullable=False),
        sa.Column("schedule_id", _string(36), nullable=False),
        sa.Column("schedule", _string(200), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("first_ms", sa.BigInteger(), nullable=False),
        sa.Column("last_ms", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=True),
        sa.Column("decided_ms", sa.BigInteger(), nullable=False),
        sa.Column("detail", _LONG, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("onthedot_decisions_decided", "onthedot_decisions", ["decided_ms"])
    op.create_index("onthedot_decisions_schedule", "onthedot_decisions", ["schedule_id", "id"])
    _create_history()
    _create_table(
        "onthedot_freezes",
        sa.Column("name", _string(200), nullable=False),
        sa.Column("content", _LONG, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    _create_table(
        "onthedot_keys",
        sa.Column("key", _string(700), nullable=False),
        sa.Column("run_id", _string(36), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=True),
        sa.Column("state", _LONG, nullable=True),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index(
        "onthedot_keys_expires",
        "onthedot_keys",
        ["expires_ms"],
        sqlite_where=sa.text("expires_ms IS NOT NULL"),
        postgresql_where=sa.text("expires_ms IS NOT NULL"),
    )
    _create_table(
        "onthedot_logs",
        sa.Column("seq", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("run_id", _string(36), nullable=False),
        sa.Column("claim_no", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("level", sa.String(length=20), nullable=False),
        sa.Column("text", _LONG, nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("onthedot_logs_run", "onthedot_logs", ["run_id", "seq"])
    _create_table(
        "onthedot_minutes",
        sa.Column("minute_ms", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("node_id", _string(36), nullable=False),
        sa.Column("body", _LONG, nullable=False),
        sa.PrimaryKeyConstraint("minute_ms", "node_id"),
    )
    _create_table(
        "onthedot_nodes",
        sa.Column("id", _string(36), nullable=False),
        sa.Column("name", _string(200), nullable=False),
        sa.Column("group", _string(200), nullable=True),
        sa.Column("labels", _LONG, nullable=False),
        sa.Column("capacity", sa.Integer(), nullable=False),
        sa.Column("roles", _LONG, nullable=False),
        sa.Column("tasks", _LONG, nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("pools", _LONG, nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("renewed_ms", sa.BigInteger(), nullable=False),
        sa.Column("renewals", sa.BigInteger(), nullable=False),
        sa.Column("lease_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("onthedot_nodes_state", "onthedot_nodes", ["state", "renewed_ms"])
    _create_table(
        "onthedot_revisions",
        sa.Column("seq", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("schedule_id", _string(36), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("made_ms", sa.BigInteger(), nullable=False),
        sa.Column("body", _LONG, nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("onthedot_revisions_schedule", "onthedot_revisions", ["schedule_id", "revision", "seq"])
    _create_table(
        "onthedot_schedules",
        sa.Column("id", _string(36), nullable=False),
        sa.Column("name", _string(200), nullable=False),
        sa.Column("task", _string(200), nullable=False),
        sa.Column("args", _LONG, nullable=False),
        sa.Column("policy", _LONG, nullable=False),
        sa.Column("tags", _LONG, nullable=False),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("uses", _LONG, nullable=False),
        sa.Column("definition", _LONG, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("enabled", sa.SmallInteger(), nullable=False),
        sa.Column("paused_note", _LONG, nullable=True),
        sa.Column("error", _LONG, nullable=True),
        sa.Column("deleted", sa.SmallInteger(), nullable=False),
        sa.Column("declared_seen_ms", sa.BigInteger(), nullable=True),
        sa.Column("next_run_ms", sa.BigInteger(), nullable=True),
        sa.Column("rescheduled", sa.SmallInteger(), nullable=False),
        sa.Column("skips", sa.Integer(), nullable=False),
        sa.Column("frozen", _LONG, nullable=True),
        sa.Column("settled_ms", sa.BigInteger(), nullable=False),
        sa.Column("last_run_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_enqueued_ms", sa.BigInteger(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("planned_runs", sa.BigInteger(), nullable=False),
        sa.Column("routed", _LONG, nullable=False),
        sa.Column("plan_attempts", sa.Integer(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.Column("left_out_ms", sa.BigInteger(), nullable=True),
        sa.Column("watch_ms", sa.BigInteger(), nullable=True),
        sa.Column("watched_ms", sa.BigInteger(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("followed", sa.SmallInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    if _partly():
        op.create_index(
            "onthedot_schedules_due",
            "onthedot_schedules",
            ["next_run_ms", "id"],
            sqlite_where=_PLANNABLE,
            postgresql_where=_PLANNABLE,
        )
        op.create_index(
            "onthedot_schedules_local",
            "onthedot_schedules",
            ["name"],
            sqlite_where=_LOCAL,
            postgresql_where=_LOCAL,
        )
        op.create_index(
            "onthedot_schedules_uses",
            "onthedot_schedules",
            ["name"],
            sqlite_where=sa.text("deleted = 0 AND uses != '[]'"),
            postgresql_where=sa.text("deleted = 0 AND uses != '[]'"),
        )
        op.create_index(
            "onthedot_schedules_tombstones",
            "onthedot_schedules",
            ["updated_ms"],
            sqlite_where=_TOMBSTONE,
            postgresql_where=_TOMBSTONE,
        )
        op.create_index(
            "onthedot_schedules_frozen",
            "onthedot_schedules",
            ["name"],
            sqlite_where=sa.text("deleted = 0 AND frozen IS NOT NULL"),
            postgresql_where=sa.text("deleted = 0 AND frozen IS NOT NULL"),
        )
        for state, which in (("parked", _PARKED), ("paused", _PAUSED), ("ended", _ENDED)):
            op.create_index(
                f"onthedot_schedules_{state}",
                "onthedot_schedules",
                ["name"],
                sqlite_where=which,
                postgresql_where=which,
            )
    else:
        op.create_index("onthedot_schedules_error", "onthedot_schedules", ["error"], mysql_length={"error": 1})
        op.create_index("onthedot_schedules_using", "onthedot_schedules", ["uses"], mysql_length={"uses": 3})
        op.create_index("onthedot_schedules_windows", "onthedot_schedules", ["frozen"], mysql_length={"frozen": 1})
        op.create_index("onthedot_schedules_deleted", "onthedot_schedules", ["deleted", "updated_ms"])
        op.create_index(
            "onthedot_schedules_plannable", "onthedot_schedules", ["enabled", "deleted", "mode", "next_run_ms", "id"]
        )
        op.create_index("onthedot_schedules_mode", "onthedot_schedules", ["mode", "name"])
    for name, column in (("declared", "declared_seen_ms"), ("left_out", "left_out_ms"), ("watch", "watch_ms")):
        op.create_index(
            f"onthedot_schedules_{name}",
            "onthedot_schedules",
            [column],
            sqlite_where=sa.text(f"{column} IS NOT NULL"),
            postgresql_where=sa.text(f"{column} IS NOT NULL"),
        )
    op.create_index("onthedot_schedules_name", "onthedot_schedules", ["name"], unique=True)
    op.create_index("onthedot_schedules_task", "onthedot_schedules", ["task", "name", "deleted"])
    _create_statistics()
    _create_table(
        "onthedot_sessions",
        sa.Column("id", _string(64), nullable=False),
        sa.Column("token", _string(200), nullable=False),
        sa.Column("digest", _string(64), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("onthedot_sessions_token", "onthedot_sessions", ["token", "expires_ms"])
    _create_table(
        "onthedot_tasks",
        sa.Column("node_id", _string(36), nullable=False),
        sa.Column("name", _string(200), nullable=False),
        sa.Column("parameters", _LONG, nullable=False),
        sa.Column("doc", _LONG, nullable=False),
        sa.Column("policy", _LONG, nullable=False),
        sa.Column("pool", sa.String(length=20), nullable=False),
        sa.PrimaryKeyConstraint("node_id", "name"),
    )
    _create_table(
        "onthedot_tokens",
        sa.Column("name", _string(200), nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("digest", _string(64), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("name"),
    )
    _create_table(
        "onthedot_values",
        sa.Column("id", _string(250), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("name", _string(200), nullable=False),
        sa.Column("rev", sa.Integer(), nullable=False),
        sa.Column("content", _LONG, nullable=False),
        sa.Column("digest", _string(16), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("onthedot_values_state", "onthedot_values", ["state", "kind", "name"])


def _create_runs() -> None:
    _create_table(
        "onthedot_runs",
        sa.Column("id", _string(36), nullable=False),
        sa.Column("task", _string(200), nullable=False),
        sa.Column("cause", sa.String(length=20), nullable=False),
        sa.Column("scheduled_ms", sa.BigInteger(), nullable=False),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("args", _LONG, nullable=False),
        sa.Column("policy", _LONG, nullable=False),
        sa.Column("schedule_id", _string(36), nullable=True),
        sa.Column("schedule", _string(200), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=True),
        sa.Column("key", _string(700), nullable=True),
        sa.Column("target", _string(36), nullable=True),
        sa.Column("parent_id", _string(36), nullable=True),
        sa.Column("owner", _string(36), nullable=True),
        sa.Column("claim_no", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("crashes", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("slot", _string(60), nullable=True),
        sa.Column("waits_for", _string(250), nullable=True),
        sa.Column("exempt", sa.SmallInteger(), nullable=False),
        sa.Column("cancel_requested_ms", sa.BigInteger(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("finished_ms", sa.BigInteger(), nullable=True),
        sa.Column("result", _LONG, nullable=True),
        sa.Column("error", _LONG, nullable=True),
        sa.Column("reason", _LONG, nullable=True),
        sa.Column("trace", _string(60), nullable=True),
        sa.Column("progress", _LONG, nullable=True),
        sa.Column("earlier", _LONG, nullable=True),
        sa.Column("until_ms", sa.BigInteger(), nullable=True),
        sa.Column("graph", _string(64), nullable=True),
        sa.Column("ledger", _LONG, nullable=True),
        sa.Column("step", _string(200), nullable=True),
        sa.Column("item", sa.Integer(), nullable=True),
        sa.Column("size", sa.Integer(), nullable=True),
        sa.Column("remote", _string(210), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("ranked", sa.SmallInteger(), nullable=False),
        sa.Column("apart", _string(36), nullable=False),
        sa.Column("pool", sa.String(length=20), nullable=True),
        sa.Column("lane", _string(250), nullable=False),
        sa.Column("plain", sa.SmallInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    if _partly():
        op.create_index(
            "onthedot_runs_lane",
            "onthedot_runs",
            ["lane", "ranked", "due_ms", "id", "task", "pool"],
            sqlite_where=sa.text("state = 'waiting'"),
            postgresql_where=sa.text("state = 'waiting'"),
        )
        op.create_index(
            "onthedot_runs_levels",
            "onthedot_runs",
            ["lane", "ranked", "priority", "due_ms", "id"],
            sqlite_where=sa.text("state = 'waiting' AND ranked = 1"),
            postgresql_where=sa.text("state = 'waiting' AND ranked = 1"),
        )
        op.create_index(
            "onthedot_runs_moment",
            "onthedot_runs",
            ["due_ms"],
            sqlite_where=sa.text("state = 'waiting' AND waits_for IS NULL"),
            postgresql_where=sa.text("state = 'waiting' AND waits_for IS NULL"),
        )
        op.create_index(
            "onthedot_runs_untold",
            "onthedot_runs",
            ["parent_id"],
            sqlite_where=sa.text("state != 'waiting' AND state != 'running'"),
            postgresql_where=sa.text("state != 'waiting' AND state != 'running'"),
        )
    else:
        op.create_index(
            "onthedot_runs_ranked",
            "onthedot_runs",
            ["state", "lane", "ranked", "priority", "due_ms", "id"],
        )
        op.create_index("onthedot_runs_ready", "onthedot_runs", ["state", "waits_for", "due_ms"])
        op.create_index(
            "onthedot_runs_waiting",
            "onthedot_runs",
            ["state", "lane", "ranked", "due_ms", "id", "task", "pool"],
        )
    op.create_index(
        "onthedot_runs_owner",
        "onthedot_runs",
        ["owner"],
        sqlite_where=sa.text("owner IS NOT NULL"),
        postgresql_where=sa.text("owner IS NOT NULL"),
    )
    op.create_index(
        "onthedot_runs_parent",
        "onthedot_runs",
        ["parent_id", "id"],
        sqlite_where=sa.text("parent_id IS NOT NULL"),
        postgresql_where=sa.text("parent_id IS NOT NULL"),
    )
    op.create_index(
        "onthedot_runs_until",
        "onthedot_runs",
        ["until_ms"],
        sqlite_where=sa.text("until_ms IS NOT NULL"),
        postgresql_where=sa.text("until_ms IS NOT NULL"),
    )
    op.create_index(
        "onthedot_runs_graph",
        "onthedot_runs",
        ["graph"],
        sqlite_where=sa.text("graph IS NOT NULL"),
        postgresql_where=sa.text("graph IS NOT NULL"),
    )
    op.create_index("onthedot_runs_schedule", "onthedot_runs", ["schedule_id", "state", "due_ms", "id"])
    op.create_index(
        "onthedot_runs_slot",
        "onthedot_runs",
        ["slot"],
        unique=True,
        sqlite_where=sa.text("slot IS NOT NULL"),
        postgresql_where=sa.text("slot IS NOT NULL"),
    )
    op.create_index(
        "onthedot_runs_tick",
        "onthedot_runs",
        ["schedule_id", "scheduled_ms", "apart"],
        unique=True,
        sqlite_where=_TICK,
        postgresql_where=_TICK,
    )


def _create_statistics() -> None:
    _create_table(
        "onthedot_hours",
        sa.Column("seq", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("kept_by", _string(201), nullable=False),
        sa.Column("step", _string(200), nullable=False),
        sa.Column("hour_ms", sa.BigInteger(), nullable=False),
        sa.Column("body", _LONG, nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("onthedot_hours_place", "onthedot_hours", ["kept_by", "step", "hour_ms"], unique=True)
    op.create_index("onthedot_hours_hour", "onthedot_hours", ["hour_ms"])
    _create_table(
        "onthedot_rolled",
        sa.Column("name", sa.String(length=20), nullable=False),
        sa.Column("through_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def _create_history() -> None:
    _create_table(
        "onthedot_history",
        sa.Column("id", _string(36), nullable=False),
        sa.Column("task", _string(200), nullable=False),
        sa.Column("cause", sa.String(length=20), nullable=False),
        sa.Column("scheduled_ms", sa.BigInteger(), nullable=False),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("args", _LONG, nullable=False),
        sa.Column("policy", _LONG, nullable=False),
        sa.Column("schedule_id", _string(36), nullable=True),
        sa.Column("schedule", _string(200), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=True),
        sa.Column("key", _string(700), nullable=True),
        sa.Column("target", _string(36), nullable=True),
        sa.Column("parent_id", _string(36), nullable=True),
        sa.Column("owner", _string(36), nullable=True),
        sa.Column("claim_no", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("crashes", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("slot", _string(60), nullable=True),
        sa.Column("waits_for", _string(250), nullable=True),
        sa.Column("exempt", sa.SmallInteger(), nullable=False),
        sa.Column("cancel_requested_ms", sa.BigInteger(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("finished_ms", sa.BigInteger(), nullable=True),
        sa.Column("result", _LONG, nullable=True),
        sa.Column("error", _LONG, nullable=True),
        sa.Column("reason", _LONG, nullable=True),
        sa.Column("trace", _string(60), nullable=True),
        sa.Column("progress", _LONG, nullable=True),
        sa.Column("earlier", _LONG, nullable=True),
        sa.Column("until_ms", sa.BigInteger(), nullable=True),
        sa.Column("graph", _string(64), nullable=True),
        sa.Column("ledger", _LONG, nullable=True),
        sa.Column("step", _string(200), nullable=True),
        sa.Column("item", sa.Integer(), nullable=True),
        sa.Column("size", sa.Integer(), nullable=True),
        sa.Column("remote", _string(210), nullable=True),
        sa.Column("kept_by", _string(201), nullable=False),
        sa.Column("late", sa.SmallInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("onthedot_history_finished", "onthedot_history", ["finished_ms"])
    op.create_index(
        "onthedot_history_late",
        "onthedot_history",
        ["late", "id"],
        sqlite_where=sa.text("late = 1"),
        postgresql_where=sa.text("late = 1"),
    )
    op.create_index("onthedot_history_owner", "onthedot_history", ["owner", "id"])
    op.create_index(
        "onthedot_history_parent",
        "onthedot_history",
        ["parent_id", "id"],
        sqlite_where=sa.text("parent_id IS NOT NULL"),
        postgresql_where=sa.text("parent_id IS NOT NULL"),
    )
    op.create_index(
        "onthedot_history_graph",
        "onthedot_history",
        ["graph"],
        sqlite_where=sa.text("graph IS NOT NULL"),
        postgresql_where=sa.text("graph IS NOT NULL"),
    )
    op.create_index(
        "onthedot_history_step",
        "onthedot_history",
        ["parent_id", "step", "item"],
        sqlite_where=sa.text("step IS NOT NULL"),
        postgresql_where=sa.text("step IS NOT NULL"),
    )
    op.create_index("onthedot_history_schedule", "onthedot_history", ["kept_by", "id"])
    op.create_index("onthedot_history_task", "onthedot_history", ["task", "id"])
    if _partly():
        op.create_index(
            "onthedot_history_tick",
            "onthedot_history",
            ["schedule_id", "scheduled_ms"],
            sqlite_where=_TICK,
            postgresql_where=_TICK,
        )
    else:
        op.create_index("onthedot_history_moment", "onthedot_history", ["schedule_id", "scheduled_ms"])
    op.create_index(
        "onthedot_history_wrong",
        "onthedot_history",
        ["state", "id"],
        sqlite_where=sa.text("state != 'succeeded'"),
        postgresql_where=sa.text("state != 'succeeded'"),
    )


def downgrade() -> None:
    raise NotImplementedError("migrations only go forward")
