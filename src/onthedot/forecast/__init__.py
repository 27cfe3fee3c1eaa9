"""WHAT IS COMING? Millions of coming runs, sorted, searched by moment, and exchanged at once.

Needs numpy: pip install 'onthedot[forecast]'.
"""

from onthedot.errors import ExtraMissing

try:
    import numpy as _numpy  # noqa: F401
except ImportError:
    raise ExtraMissing("onthedot.forecast", "numpy", "forecast") from None

from onthedot.forecast.expand import MAX_RUNS, forecast, stream
from onthedot.forecast.index import Busy, ComingRun, ComingRuns, IndexHolder, RunIndex

__all__ = ["MAX_RUNS", "Busy", "ComingRun", "ComingRuns", "IndexHolder", "RunIndex", "forecast", "stream"]
