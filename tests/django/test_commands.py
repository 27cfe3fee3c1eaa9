"""`manage.py onthedot …` of a project, as processes of their own; and what is said of settings that are wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.django.sites import Site, site
from tests.patience import LONGEST_S

BOTH = pytest.mark.parametrize("django", ["5.2", "6"])


@BOTH
def test_a_node_of_manage_py_runs_what_another_process_enqueues(django: str, tmp_path: Path) -> None:
    project = site(tmp_path, django)
    project.manage("migrate", "-v", "0")
    with (tmp_path / "said").open("wb") as said:
        node = subprocess.Popen(
            [*project.command, "onthedot", "run", "--name", "one"],
            cwd=tmp_path,
            env=project.environment(),
            stdout=said,
            stderr=said,
        )
    try:
        done = project.python(
            "from onthedot.django import app\nfrom django.db import transaction\nfrom shop.models import Order\n"
            "with transaction.atomic():\n"
            "    order = Order.objects.create(item='a book')\n"
            "    run = app.enqueue('send_invoice', args={'order': order.pk})\n"
            f"print(app.runs.wait(run.id, timeout='{LONGEST_S}s').state)\n"
            "counted = app.enqueue('count_in_a_process')\n"
            f"print(app.runs.wait(counted.id, timeout='{LONGEST_S}s').result)"
        )
        assert done == "succeeded\n1\n", (tmp_path / "said").read_text()
        assert "find_forgotten" in project.manage("onthedot", "schedules", "list").stdout
    finally:
        node.terminate()
        assert node.wait(LONGEST_S) == 0, (tmp_path / "said").read_text()


def test_makemigrations_sees_nothing_of_ours_and_migrate_makes_our_tables(tmp_path: Path) -> None:
    project = site(tmp_path, "5.2")
    said = project.manage("onthedot", "status", ok=False)
    assert (said.returncode, said.stderr.count("\n")) == (1, 1), said.stderr
    project.manage("migrate", "-v", "0")
    assert project.manage("makemigrations", "--check").stdout == "No changes detected\n"
    project.manage("migrate", "-v", "0")
    assert "healthy" in project.manage("onthedot", "status").stdout
    assert "0 schedules" in project.manage("onthedot", "status", "--settings", "mysite.settings").stdout
    assert "manage.py onthedot" in project.manage("onthedot", "--help").stdout


WRONG = [
    ({"STROE": "default"}, "ONTHEDOT: no key 'STROE'; did you mean STORE?"),
    ({"STORE": "defualt"}, "ONTHEDOT: STORE: DATABASES has no 'defualt'; did you mean default?"),
    ({"DEFAULTS": {"retires": 3}}, "ONTHEDOT: DEFAULTS: no option 'retires'; did you mean retries?"),
    ({"STORE": "nope"}, "ONTHEDOT: STORE: DATABASES has no 'nope'; there are default and archive. Or give the URL"),
    ({"DEFAULTS": 7}, "ONTHEDOT: DEFAULTS: write a dict of policies, {'retries': 3}, not 7"),
    ({"DEFAULTS": {"retries": "x"}}, "ONTHEDOT: DEFAULTS: retries: 'x' is not a whole number"),
    ({"AUTODISCOVER": "my jobs"}, "ONTHEDOT: AUTODISCOVER: 'my jobs' names no module"),
]


@pytest.mark.parametrize(("given", "line"), WRONG, ids=lambda each: next(iter(each)) if isinstance(each, dict) else "")
def test_a_wrong_setting_gets_one_line_of_the_check_and_of_the_command(
    given: dict[str, Any], line: str, tmp_path: Path
) -> None:
    project = site(tmp_path, "5.2", **given)
    urls = tmp_path / "mysite" / "urls.py"
    urls.write_text(f"{urls.read_text(encoding='utf-8')}\nimport shop.jobs\n", encoding="utf-8")
    checked = project.manage("check", ok=False)
    assert checked.returncode == 1
    assert f"?: (onthedot.E001) {line}" in checked.stderr
    assert "Traceback" not in checked.stderr
    typed = project.manage("onthedot", "status", ok=False)
    assert typed.returncode == 2
    assert typed.stderr.startswith("error: "), typed.stderr
    assert typed.stderr.count("\n") == 1, typed.stderr
    for words in (("migrate",), ("onthedot", "run")):
        assert "Traceback" not in (ended := project.manage(*words, ok=False)).stderr
        assert (ended.returncode, line in ended.stderr) == (1, True), ended.stderr


def test_with_wrong_settings_the_app_can_be_declared_on_and_refuses_to_be_used(tmp_path: Path) -> None:
    project = site(tmp_path, "5.2", STORE="nope")
    said = project.python(
        "from onthedot.django import app\nfrom shop.jobs import send_invoice\n"
        "for use in (app.status, app.start, lambda: app.enqueue(send_invoice, args={'order': 1})):\n"
        "    try:\n        use()\n    except Exception as error:\n        print(type(error).__name__, error)"
    )
    assert said.splitlines() == [said.splitlines()[0]] * 3
    assert said.startswith("SettingsError ONTHEDOT: STORE: DATABASES has no 'nope'"), said


def test_a_store_of_its_own_waits_for_the_commit(tmp_path: Path) -> None:
    project = site(tmp_path, "5.2", STORE=f"sqlite:///{tmp_path}/jobs.db")
    project.manage("migrate", "-v", "0")
    project.manage("onthedot", "migrate")
    said = project.python(WAITING)
    assert said == "0 0\n0 True\n1 True\n"


WAITING = """
from django.db import transaction
from onthedot.django import app
from shop.models import Order

def count():
    return len(app.runs.list().items)

try:
    with transaction.atomic():
        Order.objects.create(item="a book")
        app.enqueue("send_invoice", args={"order": 1})
        raise ValueError
except ValueError:
    print(count(), Order.objects.count())
with transaction.atomic():
    run = app.enqueue("send_invoice", args={"order": 1})
    print(count(), len(run.id) == 36)
print(count(), app.runs.get(run.id).id == run.id)
"""


def test_without_djangos_tasks_the_backend_says_what_is_missing(tmp_path: Path) -> None:
    project: Site = site(tmp_path, "5.2")
    said = project.python(
        "try:\n    import onthedot.django.tasks\nexcept Exception as error:\n    print(type(error).__name__, error)"
    )
    assert said.startswith("ImproperlyConfigured this Django has no tasks of its own: use Django 6.0 or newer"), said
