"""Moving over from APScheduler 3: its jobs as schedules of ours, from a live scheduler or from its store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from onthedot.apscheduler.finding import is_scheduler
from onthedot.apscheduler.jobs import live_jobs, pickled_jobs
from onthedot.apscheduler.moves import Convert, report_of
from onthedot.apscheduler.report import Report
from onthedot.apscheduler.stores import read_pickles
from onthedot.clock import SystemClock
from onthedot.errors import SettingsError
from onthedot.storable import brief
from onthedot.stores.open import mask_url

__all__ = ["Report", "from_scheduler", "read_store"]


def from_scheduler(scheduler: Any, convert: Convert | None = None) -> Report:
    """The jobs of a scheduler in this process, whether or not it has begun; nothing of it is changed.

    `convert` gets each argument that is no JSON value, and gives one, or raises TypeError: then that job is refused.
    """
    _check_convert(convert)
    if not is_scheduler(scheduler):
        raise SettingsError(f"from_scheduler: {brief(scheduler)} is no scheduler of APScheduler 3")
    return report_of(type(scheduler).__name__, live_jobs(scheduler), _now(), convert)


def read_store(url: str, convert: Convert | None = None, *, table: str = "", database: str = "") -> Report:
    """The jobs of a store: `sqlite:///jobs.sqlite` or any other URL of SQLAlchemy, `redis://…`, `mongodb://…`.

    It is only read. The pickles in it are understood without importing or calling what they name.
    """
    _check_convert(convert)
    return report_of(mask_url(url), pickled_jobs(read_pickles(url, table=table, database=database)), _now(), convert)


def _check_convert(convert: object) -> None:
    if convert is not None and not callable(convert):
        raise SettingsError(f"convert: {brief(convert)} is no function; write convert=str")


def _now() -> datetime:
    return datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC)
