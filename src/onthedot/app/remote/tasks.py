"""`app.tasks` over HTTP: what nodes have published."""

from __future__ import annotations

from onthedot.app.remote.connection import Connection
from onthedot.app.remote.values import task_of
from onthedot.app.tasks import Tasks
from onthedot.model.task_info import TaskInfo


class RemoteTasks(Tasks):
    """Tasks may be declared here too, to be named; they run elsewhere."""

    def __init__(self, connection: Connection, max_args_bytes: int) -> None:
        super().__init__(connection.no_store, max_args_bytes)
        self._connection = connection

    def list(self) -> tuple[TaskInfo, ...]:
        return tuple(task_of(each) for each in self._connection.get("tasks").all("tasks"))
