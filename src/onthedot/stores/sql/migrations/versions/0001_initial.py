"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_LOCAL = sa.text("mode = 'local'")
_PLANNABLE = sa.text("enabled = 1 AND deleted = 0 AND error IS NULL AND mode = 'durable'")


def upgrade() -> None:
    op.create_table(
        "onthedot_changes",
        sa.Column("seq", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("schedule_id", sa.String(length=36), nullable=False),
        sa.Column("schedule", sa.String(length=200), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("onthedot_changes_schedule", "onthedot_changes", ["schedule", "seq"])
    op.create_table(
        "onthedot_decisions",
        sa.Column("seq", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("schedule_id", sa.String(length=36), nullable=False),
        sa.Column("schedule", sa.String(length=200), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("first_ms", sa.BigInteger(), nullable=False),
        sa.Column("last_ms", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=True),
        sa.Column("decided_ms", sa.BigInteger(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("onthedot_decisions_schedule", "onthedot_decisions", ["schedule_id", "seq"])
    op.create_table(
        "onthedot_history",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("task", sa.String(length=200), nullable=False),
        sa.Column("cause", sa.String(length=20), nullable=False),
        sa.Column("scheduled_ms", sa.BigInteger(), nullable=False),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("args", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("schedule_id", sa.String(length=36), nullable=True),
        sa.Column("schedule", sa.String(length=200), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=True),
        sa.Column("key", sa.String(length=700), nullable=True),
        sa.Column("target", sa.String(length=36), nullable=True),
        sa.Column("parent_id", sa.String(length=36), nullable=True),
        sa.Column("shard", sa.Integer(), nullable=True),
        sa.Column("shards", sa.Integer(), nullable=True),
        sa.Column("shards_left", sa.Integer(), nullable=True),
        sa.Column("owner", sa.String(length=36), nullable=True),
        sa.Column("claim_no", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("crashes", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("slot", sa.String(length=60), nullable=True),
        sa.Column("blocked", sa.SmallInteger(), nullable=False),
        sa.Column("exempt", sa.SmallInteger(), nullable=False),
        sa.Column("cancel_requested_ms", sa.BigInteger(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("finished_ms", sa.BigInteger(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("kept_by", sa.String(length=201), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("onthedot_history_finished", "onthedot_history", ["finished_ms"])
    op.create_index("onthedot_history_schedule", "onthedot_history", ["kept_by", "id"])
    op.create_index(
        "onthedot_history_wrong",
        "onthedot_history",
        ["state", "id"],
        sqlite_where=sa.text("state != 'succeeded'"),
        postgresql_where=sa.text("state != 'succeeded'"),
    )
    op.create_table(
        "onthedot_keys",
        sa.Column("key", sa.String(length=700), nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=True),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index(
        "onthedot_keys_expires",
        "onthedot_keys",
        ["expires_ms"],
        sqlite_where=sa.text("expires_ms IS NOT NULL"),
        postgresql_where=sa.text("expires_ms IS NOT NULL"),
    )
    op.create_table(
        "onthedot_logs",
        sa.Column("seq", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("claim_no", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("level", sa.String(length=20), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("onthedot_logs_run", "onthedot_logs", ["run_id", "seq"])
    op.create_table(
        "onthedot_nodes",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("group", sa.String(length=200), nullable=True),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("capacity", sa.Integer(), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("tasks", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("renewed_ms", sa.BigInteger(), nullable=False),
        sa.Column("renewals", sa.BigInteger(), nullable=False),
        sa.Column("lease_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "onthedot_revisions",
        sa.Column("seq", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("schedule_id", sa.String(length=36), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("onthedot_revisions_schedule", "onthedot_revisions", ["schedule_id", "seq"])
    op.create_table(
        "onthedot_runs",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("task", sa.String(length=200), nullable=False),
        sa.Column("cause", sa.String(length=20), nullable=False),
        sa.Column("scheduled_ms", sa.BigInteger(), nullable=False),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("args", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("schedule_id", sa.String(length=36), nullable=True),
        sa.Column("schedule", sa.String(length=200), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=True),
        sa.Column("key", sa.String(length=700), nullable=True),
        sa.Column("target", sa.String(length=36), nullable=True),
        sa.Column("parent_id", sa.String(length=36), nullable=True),
        sa.Column("shard", sa.Integer(), nullable=True),
        sa.Column("shards", sa.Integer(), nullable=True),
        sa.Column("shards_left", sa.Integer(), nullable=True),
        sa.Column("owner", sa.String(length=36), nullable=True),
        sa.Column("claim_no", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("crashes", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("slot", sa.String(length=60), nullable=True),
        sa.Column("blocked", sa.SmallInteger(), nullable=False),
        sa.Column("exempt", sa.SmallInteger(), nullable=False),
        sa.Column("cancel_requested_ms", sa.BigInteger(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("finished_ms", sa.BigInteger(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("apart", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "onthedot_runs_blocked",
        "onthedot_runs",
        ["due_ms"],
        sqlite_where=sa.text("state = 'waiting' AND blocked = 1"),
        postgresql_where=sa.text("state = 'waiting' AND blocked = 1"),
    )
    op.create_index(
        "onthedot_runs_due",
        "onthedot_runs",
        ["due_ms", sa.literal_column("priority DESC"), "id"],
        sqlite_where=sa.text("state = 'waiting' AND blocked = 0"),
        postgresql_where=sa.text("state = 'waiting' AND blocked = 0"),
    )
    op.create_index(
        "onthedot_runs_owner",
        "onthedot_runs",
        ["owner"],
        sqlite_where=sa.text("owner IS NOT NULL"),
        postgresql_where=sa.text("owner IS NOT NULL"),
    )
    op.create_index(
        "onthedot_runs_slot",
        "onthedot_runs",
        ["slot"],
        unique=True,
        sqlite_where=sa.text("slot IS NOT NULL"),
        postgresql_where=sa.text("slot IS NOT NULL"),
    )
    op.create_index("onthedot_runs_tick", "onthedot_runs", ["schedule_id", "scheduled_ms", "apart"], unique=True)
    op.create_table(
        "onthedot_schedules",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("task", sa.String(length=200), nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column("args", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("given", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("origin", sa.String(length=20), nullable=False),
        sa.Column("max_runs", sa.Integer(), nullable=True),
        sa.Column("auto_remove", sa.SmallInteger(), nullable=False),
        sa.Column("then", sa.Text(), nullable=False),
        sa.Column("on_failure", sa.Text(), nullable=False),
        sa.Column("enabled", sa.SmallInteger(), nullable=False),
        sa.Column("paused_note", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("deleted", sa.SmallInteger(), nullable=False),
        sa.Column("declared_hash", sa.String(length=100), nullable=True),
        sa.Column("declared_seen_ms", sa.BigInteger(), nullable=True),
        sa.Column("next_run_ms", sa.BigInteger(), nullable=True),
        sa.Column("rescheduled", sa.SmallInteger(), nullable=False),
        sa.Column("settled_ms", sa.BigInteger(), nullable=False),
        sa.Column("last_run_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_enqueued_ms", sa.BigInteger(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("planned_runs", sa.BigInteger(), nullable=False),
        sa.Column("plan_attempts", sa.Integer(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
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
    op.create_index("onthedot_schedules_name", "onthedot_schedules", ["name"], unique=True)
    op.create_table(
        "onthedot_tasks",
        sa.Column("node_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("doc", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("node_id", "name"),
    )


def downgrade() -> None:
    raise NotImplementedError("migrations only go forward")
