"""Ten entries of a Celery project, sent by three beats at once, of which one is killed.

    pip install 'onthedot[celery]'
    python examples/celery_beats.py             three beats of onthedot, one of them killed
    python examples/celery_beats.py --stock     Celery's own: one beat, killed and started again; then two at once

The broker is a folder, so that nothing need be installed; it is away for three seconds meanwhile. In a project of
yours the app, its entries and its workers stay as they are: `celery -A proj beat -S onthedot` is all that changes.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from celery.schedules import crontab

from celery import Celery

FOLDER = Path.cwd() / "celery_beats.d"
QUEUE = FOLDER / "queue"

app = Celery("celery_beats", broker="filesystem://")
app.conf.update(
    broker_transport_options={"data_folder_in": str(QUEUE), "data_folder_out": str(QUEUE)},
    onthedot_store=f"sqlite:///{FOLDER / 'jobs.db'}",
    beat_schedule={
        **{f"tick-{n}": {"task": "shop.tick", "schedule": 1, "args": (n,)} for n in range(4)},
        "mails": {"task": "shop.send_mails", "schedule": 2.0, "options": {"queue": "mail", "expires": 60}},
        "stock": {"task": "shop.count", "schedule": 3, "kwargs": {"store": "berlin"}},
        "hourly": {"task": "shop.report", "schedule": crontab(minute=0)},
        "weekdays": {"task": "shop.report", "schedule": crontab(minute=30, hour=7, day_of_week="mon-fri")},
        "first monday": {"task": "shop.bill", "schedule": crontab(0, 4, day_of_week="mon", day_of_month="1-7")},
        "clean up": {"task": "shop.clean", "schedule": crontab(minute=15, hour="*/6"), "options": {"priority": 9}},
    },
)


def beat(*words: str) -> subprocess.Popen[bytes]:
    """`celery -A celery_beats beat …`"""
    command = [sys.executable, "-m", "celery", "-A", Path(__file__).stem, "beat", "-l", "INFO", *words]
    where = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with (FOLDER / "beats.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=where)


def messages() -> list[str]:
    """The ids of all that was sent."""
    return [json.loads(path.read_text())["headers"]["id"] for path in QUEUE.glob("*.msg") if path.stat().st_size]


def broker_away(seconds: float) -> None:
    """Nothing can be sent: the folder has another name, and a file has its own."""
    away = QUEUE.rename(FOLDER / "away")
    QUEUE.touch()
    time.sleep(seconds)
    QUEUE.unlink()
    away.rename(QUEUE)


def with_onthedot() -> None:
    """Three beats at once. Every tick in the store must have been sent."""
    from onthedot import App
    from onthedot.celery import task_id_of

    beats = [beat("-S", "onthedot") for _ in range(3)]
    while len(messages()) < 8:
        time.sleep(0.1)
    beats[0].kill()
    print("one beat of three is killed")
    broker_away(3)
    jobs = App(f"sqlite:///{FOLDER / 'jobs.db'}")
    late = jobs.now_ms()
    while not any(run.scheduled_ms > late + 3000 for run in jobs.runs.list(state="succeeded")):
        time.sleep(0.1)
    for each in beats[1:]:
        each.terminate()
    for each in beats:
        each.wait()
    runs = [run for run in jobs.runs.list(limit=1000) if run.state == "succeeded"]
    ticks = Counter((run.schedule, run.scheduled_ms) for run in runs)
    sent = Counter(messages())
    doubled = sum(count - 1 for count in sent.values())
    print(f"{len(jobs.schedules.list())} schedules, {len(ticks)} ticks, each of them once: {max(ticks.values()) == 1}")
    print(f"all of them were sent: {all(task_id_of(run.id) in sent for run in runs)}; {doubled} of them twice")


def with_stock_beats() -> None:
    """What Celery's own beat sends in twelve seconds: alone, its broker away for three; then two beats."""
    for beats, away in ((1, 3.0), (2, 0.0)):
        for path in QUEUE.glob("*.msg"):
            path.unlink()
        started = [beat("-s", str(FOLDER / f"schedule-{number}")) for number in range(beats)]
        while not messages():
            time.sleep(0.1)
        begin = time.monotonic()
        if away:
            broker_away(away)
        time.sleep(12 - (time.monotonic() - begin))
        for each in started:
            each.kill()
            each.wait()
        told = f"{beats} stock beat{'s' if beats > 1 else ''}, broker away for {away:.0f} s"
        print(f"{told}: {len(messages())} messages in 12 s; {4 * 12 + 6 + 4} ticks were due")


if __name__ == "__main__":
    QUEUE.mkdir(parents=True, exist_ok=True)
    with_stock_beats() if "--stock" in sys.argv else with_onthedot()
