"""Looks whether files of schedules have changed, and takes what they say now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from onthedot.app.files.loading import LoadedFile
from onthedot.app.sync import Synced
from onthedot.errors import FileError
from onthedot.events import Event, FileBroken, FileLoaded

LOOK_MS = 1000

Print = tuple[tuple[int, int, int] | None, ...]
"""By what a change is seen, of the file and of those that it names: when it was written, its size, and which file it
is; None where there is none."""


class FileWatch:
    """`run_once` looks at each file once; one that is being written is taken when it has stood still for a look."""

    def __init__(
        self,
        files: Sequence[LoadedFile],
        sync: Callable[[], Synced],
        emit: Callable[[Event], None],
    ) -> None:
        self._files = files
        self._sync = sync
        self._emit = emit
        self._taken = {file.path: _print(file) for file in files}
        self._seen = dict(self._taken)
        self._names = {file.path: file.names for file in files}

    def run_once(self) -> int:
        """One look at each; says how long nothing need be looked at."""
        for file in self._files:
            seen, now = self._seen[file.path], _print(file)
            self._seen[file.path] = now
            if now == seen and now != self._taken[file.path]:
                self._take(file, now)
        return LOOK_MS

    def _take(self, file: LoadedFile, now: Print) -> None:
        before = file.files
        try:
            file.load()
        except FileError as error:
            self._emit(FileBroken(str(file.path), error.problems))
        else:
            synced = self._sync()  # if the store is away, this fails, and is done again at the next look
            removed = tuple(name for name in self._names[file.path] if name not in file.names)
            self._names[file.path] = file.names
            self._emit(FileLoaded(str(file.path), synced.created, synced.updated, removed, synced.pruned))
        self._taken[file.path] = self._seen[file.path] = _print(file) if file.files != before else now


def _print(file: LoadedFile) -> Print:
    return tuple(_print_of(each) for each in (file.path, *file.files))


def _print_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
