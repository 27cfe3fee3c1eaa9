"""Alembic migrations of our own tables: forward only. Loaded only where older tables are found, and by `migrate`."""
