"""Dask: runs that its workers execute: `app.engine("cluster", DaskEngine("tcp://scheduler:8786"))`."""

from __future__ import annotations

try:
    import distributed as _distributed
except ModuleNotFoundError as error:
    if error.name not in ("distributed", "dask"):
        raise
    from onthedot.errors import ExtraMissing

    raise ExtraMissing("onthedot.dask", "distributed", "dask") from None

from onthedot.dask.engine import DaskEngine

__all__ = ["DaskEngine"]

del _distributed
