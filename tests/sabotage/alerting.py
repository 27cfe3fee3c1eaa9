"""When alerts are sent, and when they are not."""

from __future__ import annotations

from tests.sabotage.sabotage import Sabotage, memory

ALERTS = (
    Sabotage(
        name="alert-with-the-first-bad-end",
        rule="A failure is told after so many bad ends in a row.",
        file="rules/alerts.py",
        find=" or in_a_row < alert.after or told.open:",
        replace=" or told.open:",
        tests=memory("TestAlerts"),
    ),
    Sabotage(
        name="alert-with-every-bad-end",
        rule="A series of bad ends is told once.",
        file="rules/alerts.py",
        find=" or in_a_row < alert.after or told.open:",
        replace=" or in_a_row < alert.after:",
        tests=memory("TestAlerts"),
    ),
    Sabotage(
        name="alert-as-often-as-it-likes",
        rule="An alert is sent no more often than was asked.",
        file="rules/alerts.py",
        find="if told.sent_ms is not None and now_ms - told.sent_ms < alert.every_ms:",
        replace="if False:",
        tests=memory("TestAlerts"),
    ),
    Sabotage(
        name="alert-held-back-for-ever",
        rule="What was held back is told later, if it goes on.",
        file="rules/alerts.py",
        find="after._replace(open=not held)",
        replace="after._replace(open=True)",
        tests=memory("TestAlerts"),
    ),
    Sabotage(
        name="recovery-of-nothing",
        rule="A recovery is told of what was told.",
        file="rules/alerts.py",
        find="    if told.open or told.late:\n",
        replace="    if True:\n",
        tests=memory("TestAlerts"),
    ),
    Sabotage(
        name="overdue-again-and-again",
        rule="That a schedule is overdue is told once, until a run has ended well.",
        file="rules/alerts.py",
        find="if not late or told.late or ",
        replace="if not late or ",
        tests=memory("TestOverdue"),
    ),
    Sabotage(
        name="overdue-while-paused",
        rule="What is not meant to run is not overdue.",
        file="rules/alerts.py",
        find="runs = schedule.enabled and not schedule.deleted and schedule.next_run_ms is not None",
        replace="runs = not schedule.deleted",
        tests=memory("TestOverdue"),
    ),
    Sabotage(
        name="overdue-not-looked-at-again",
        rule="What is overdue is looked at again.",
        file="rules/alerts.py",
        find="return min((first_ms if first_ms > now_ms else again_ms for first_ms, again_ms in looks), default=None)",
        replace="return None",
        tests=memory("TestOverdue"),
    ),
    Sabotage(
        name="ends-not-counted",
        rule="Ends are counted in the transaction that ends the run.",
        file="stores/engine/alerting.py",
        find="    _save(tx, ends_key, before, after)\n    if held:",
        replace="    if held:",
        tests=memory("TestAlerts"),
    ),
)
