"""Files of schedules, a crontab or a jobs.toml, read into frozen values. Nothing here knows a store or a clock."""

from onthedot.app.files.entry import Command, Entry, Http, JobFile, NamedTask, Refused, Shell, Steps, Work
from onthedot.app.files.open import read_file, read_text

__all__ = [
    "Command",
    "Entry",
    "Http",
    "JobFile",
    "NamedTask",
    "Refused",
    "Shell",
    "Steps",
    "Work",
    "read_file",
    "read_text",
]
