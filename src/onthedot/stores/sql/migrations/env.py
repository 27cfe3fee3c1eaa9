"""Run by Alembic: on the connection that it is given, inside the caller's transaction; or, without one, as SQL text."""

from __future__ import annotations

from alembic import context

from onthedot.stores.sql import tables

context.configure(
    connection=context.config.attributes.get("connection"),
    dialect_name=context.config.attributes.get("dialect"),
    target_metadata=tables.metadata,
    version_table=tables.meta.name,
    version_table_schema=context.config.attributes.get("schema"),
    render_as_batch=True,
    literal_binds=context.is_offline_mode(),
)
with context.begin_transaction():
    context.run_migrations()
