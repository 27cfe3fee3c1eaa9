"""Your own collection or table, worked as a queue in place."""

from onthedot.documents.documents import Documents
from onthedot.documents.jobs import Change, Fields, Job, Lock, new_token
from onthedot.documents.memory import MemoryJobStore
from onthedot.documents.store import JobStore

__all__ = ["Change", "Documents", "Fields", "Job", "JobStore", "Lock", "MemoryJobStore", "new_token"]
