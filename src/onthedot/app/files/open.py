"""Opens a file of schedules, whichever format it has."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

from onthedot.app.files.crontab import read_crontab
from onthedot.app.files.entry import JobFile
from onthedot.app.files.jobs import read_jobs
from onthedot.app.files.machine_zone import machine_zone
from onthedot.errors import FileError

_TOML_HEADING = re.compile(r"^[ \t]*\[", re.MULTILINE)  # no line of a crontab begins so


def read_file(path: str | PathLike[str], *, system: bool | None = None, timezone: str | None = None) -> JobFile:
    """What the file says: TOML by its suffix or its content, else a crontab; `FileError` with all that is wrong.

    `system` says whether a crontab has a user before the command; left out, only /etc/crontab and those in /etc/cron.d
    have. `timezone` counts where the file names none; left out, that is the machine's for a crontab.
    """
    if Path(path).suffix == ".py":
        app = Path(path).stem
        raise FileError(str(path), [f"this is a program, not a file of schedules; onthedot run {app}:app runs its app"])
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise FileError(str(path), [f"line {line}: this is not UTF-8 text; save the file as UTF-8"]) from None
    except OSError as error:
        raise FileError(str(path), [(error.strerror or str(error)).lower()]) from None
    return read_text(text, path, system=system, timezone=timezone, folder=Path(path).parent)


def read_text(
    text: str,
    path: str | PathLike[str],
    *,
    system: bool | None = None,
    timezone: str | None = None,
    folder: Path | None = None,
) -> JobFile:
    """The same for text that was read elsewhere; the path tells its format and its name in errors.

    Other files that it names are looked for in the folder; without one it may name none.
    """
    if Path(path).suffix == ".toml" or _TOML_HEADING.search(text):
        return read_jobs(text, path=str(path), timezone=timezone, folder=folder)
    zone = machine_zone() if timezone is None else timezone
    return read_crontab(text, path=str(path), timezone=zone, system=is_system(path) if system is None else system)


def is_system(path: str | PathLike[str]) -> bool:
    """Whether cron reads this path as a crontab with users."""
    place = Path(path).absolute()
    return str(place) == "/etc/crontab" or str(place.parent) == "/etc/cron.d"
