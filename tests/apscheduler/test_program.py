"""The program that is written of somebody's jobs runs, whatever their modules and functions are called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUNCTIONS = {
    "app": ("app", "tick", "every"),
    "app.jobs": ("tick", "cron"),
    "every": ("every", "app_jobs"),
    "tick": ("tick", "tock"),
    "shop": ("App", "app_tick", "at"),
}
"""Names that a program of ours has too, or that are those of other modules, or come twice."""

CHECK = """
import runpy
from pathlib import Path
from apscheduler.schedulers.background import BackgroundScheduler
from onthedot.apscheduler import from_scheduler

scheduler = BackgroundScheduler(timezone="UTC")
references = {references}
for number, reference in enumerate(references):
    scheduler.add_job(reference, "interval", hours=1, id=f"job {{number}}")
report = from_scheduler(scheduler)
Path("jobs.py").write_text(report.as_code("memory://"))
app = runpy.run_path("jobs.py")["app"]
with app.running(log=False):
    for number, reference in enumerate(references):
        run = app.runs.wait(app.schedules.trigger(f"job {{number}}").id)
        print(run.result)
"""


def test_names_that_are_taken_are_left_to_those_who_have_them(tmp_path: Path) -> None:
    for module, names in FUNCTIONS.items():
        path = tmp_path / (module.replace(".", "/") + ("/__init__.py" if module == "app" else ".py"))
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"def {name}(): return '{module}:{name}'\n" for name in names), encoding="utf-8")
    references = [f"{module}:{name}" for module, names in FUNCTIONS.items() for name in names]
    program = CHECK.format(references=references)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == references, done.stderr
