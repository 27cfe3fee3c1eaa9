"""What differs between databases: one small object each."""

from onthedot.stores.sql.dialects.base import Dialect, Fault

__all__ = ["Dialect", "Fault"]
