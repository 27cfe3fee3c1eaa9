"""What happened, judged: the rows of a store and a journal that tasks write themselves, against what is promised.

    journal = Journal("journal")            # in a task: with journal.entry(ctx): ...
    verdict = verify(store, since_ms=..., journal="journal", journalled=["work"])
    print(verdict)                          # each broken promise with the shortest history that shows it

A judge is a pure function: a frozen `History` in, broken promises out. `verify` reads a store in pages, and asks all.
"""

from onthedot.testing.history.broken import Broken, Line
from onthedot.testing.history.history import History
from onthedot.testing.history.journal import Entry, Journal, read_journals
from onthedot.testing.history.judging import JUDGES, Judge, judge
from onthedot.testing.history.verdict import Verdict, verify

__all__ = [
    "JUDGES",
    "Broken",
    "Entry",
    "History",
    "Journal",
    "Judge",
    "Line",
    "Verdict",
    "judge",
    "read_journals",
    "verify",
]
