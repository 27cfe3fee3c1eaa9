"""Flows that are drawn in jobs.toml: the same graphs as in Python, run as others are, every slip told in one line."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from onthedot import App, FileError, every, item
from onthedot.app.files import read_text
from onthedot.app.files.writing import write_jobs
from onthedot.stores.memory import MemoryStore
from onthedot.testing import inline

HEAD = '[schedules.etl]\nevery = "1h"\nargs = { day = "today", shops = ["berlin", "rome"] }\n'
ETL = HEAD + textwrap.dedent("""\
    overlap = "discard"
    timeout = "2h"

    [[schedules.etl.steps]]
    name = "publish"
    task = "publish"
    args = { total = { result = "sum_up" }, note = { literal = { result = "as it is" } } }
    when = { all = [{ result = "sum_up", path = "rows", gt = 0 }, { not = { arg = "day", eq = "never" } }] }

    [[schedules.etl.steps]]
    task = "list_files"
    args = { day = { arg = "day" } }

    [[schedules.etl.steps]]
    task = "load"
    map = { result = "list_files" }
    args = { file = { item = true, path = "path" } }
    parallel = 20
    retries = 3

    [[schedules.etl.steps]]
    name = "sum_up"
    task = "sum_up"
    args = { parts = { result = "load" } }

    [[schedules.etl.steps]]
    name = "report"
    task = "tell"
    after = ["publish", "sum_up"]
    on = "end"
    may_fail = true

    [[schedules.etl.steps]]
    name = "page"
    task = "tell"
    on = "failure"
    """)


class Shop:
    """An app with the tasks of that flow."""

    def __init__(self, folder: Path) -> None:
        self.app = app = App("memory://")
        self.file = folder / "jobs.toml"
        self.said: list[object] = []

        @app.task
        def list_files(day: str) -> list[dict[str, str]]:
            return [{"path": f"{day}/{number}"} for number in range(3)]

        @app.task
        def load(file: str) -> int:
            return len(file)

        @app.task
        def sum_up(parts: list[int]) -> dict[str, int]:
            return {"rows": sum(parts)}

        @app.task
        def publish(total: dict[str, int], note: dict[str, str]) -> None:
            self.said.append((total, note))

        @app.task
        def tell() -> None:
            self.said.append("told")

    def load(self, text: str) -> None:
        """What the file says now is the app's."""
        self.file.write_text(text, encoding="utf-8")
        self.app.load_file(self.file)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(FileError) as caught:
        read_text(text, "jobs.toml")
    return tuple(each.removeprefix("[schedules.etl] ") for each in caught.value.problems)


def test_steps_of_a_file_are_the_graph_that_python_would_draw(shop: Shop) -> None:
    shop.load(ETL)
    drawn = shop.app.tasks.flow("etl")
    other = App("memory://")
    flow = other.flow("etl")
    day = flow.arg("day", "today")
    flow.arg("shops", ["berlin", "rome"])
    files = flow.step("list_files", args={"day": day})
    parts = flow.map("load", files, args={"file": item["path"]}, parallel=20, retries=3)
    total = flow.step("sum_up", args={"parts": parts})
    published = flow.step(
        "publish",
        args={"total": total, "note": {"result": "as it is"}},
        when=(total["rows"] > 0) & ~(day == "never"),
    )
    flow.step("tell", name="report", after=[published, total], on="end", may_fail=True)
    flow.step("tell", name="page", on="failure")
    assert drawn is not None
    assert drawn.graph.text == flow.graph.text


def test_a_flow_of_a_file_runs_with_the_results_of_its_steps(shop: Shop) -> None:
    shop.load(ETL)
    with inline(shop.app):
        run = shop.app.enqueue("etl", args={"day": "monday"})
    assert run.state == "succeeded", run.error
    assert shop.said == [({"rows": 24}, {"result": "as it is"}), "told"]


def test_commands_of_a_flow_are_told_their_arguments_and_items(tmp_path: Path) -> None:
    file, out = tmp_path / "jobs.toml", tmp_path / "out"
    lines = [
        f"{HEAD}[[schedules.etl.steps]]",
        'name = "load"',
        'map = { arg = "shops" }',
        "parallel = 1",
        f"shell = 'echo \"$ONTHEDOT_ARG_ITEM\" >> {out}'",
        "[[schedules.etl.steps]]",
        'name = "close"',
        'after = "load"',
        'args = { day = { arg = "day" }, many = [1, 2] }',
        f"shell = 'echo \"$ONTHEDOT_ARG_DAY $ONTHEDOT_ARG_MANY $ONTHEDOT_ARGS\" >> {out}'",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    app = App("memory://")
    app.load_file(file)
    assert app.tasks.names() == ("@etl", "etl.close", "etl.load")
    with inline(app):
        run = app.enqueue("etl")
    assert run.state == "succeeded", run.error
    *items, last = out.read_text(encoding="utf-8").splitlines()
    assert sorted(items) == ["berlin", "rome"]
    assert last == 'today [1, 2] {"day": "today", "many": [1, 2]}'


def test_a_schedule_of_steps_is_synced_exported_and_imported_with_its_graph(shop: Shop) -> None:
    shop.load(ETL)
    assert shop.app.sync().created == ("etl",)
    schedule = shop.app.schedules.get("etl")
    assert (schedule.task, schedule.kind, schedule.origin) == ("@etl", "flow", "file")
    assert schedule.policy.timeout_ms == 7_200_000
    document = shop.app.schedules.export()
    other = App("memory://", store=MemoryStore(lambda: 0))
    other.schedules.import_document(document)
    kept = other.schedules.get("etl")
    assert (kept.graph, kept.args) == (schedule.graph, schedule.args)
    assert other.open_store().graph(str(kept.graph)) == shop.app.flows.get("etl")
    assert shop.app.sync().unchanged == ("etl",)


def test_a_file_with_steps_is_written_so_that_it_reads_back_the_same() -> None:
    read = read_text(ETL, "jobs.toml")
    again = read_text(write_jobs(read), "jobs.toml")
    assert [each.work for each in again.entries] == [each.work for each in read.entries]


def test_another_graph_of_the_file_is_another_declaration_and_one_taken_out_is_gone(shop: Shop) -> None:
    shop.load(ETL)
    shop.app.sync()
    before = shop.app.schedules.get("etl").graph
    shop.file.write_text(ETL.replace("gt = 0", "gt = 1"), encoding="utf-8")
    (loaded,) = shop.app._files
    loaded.load()
    assert shop.app.sync().updated == ("etl",)
    assert shop.app.schedules.get("etl").graph != before
    shop.file.write_text(HEAD.replace("args", "#") + 'task = "tell"\n', encoding="utf-8")
    loaded.load()
    assert shop.app.tasks.flow("etl") is None


def test_a_template_of_flows_has_one_flow_and_a_schedule_for_each(shop: Shop) -> None:
    shop.load(
        '[schedules.etl]\nevery = "1h"\nargs = { note = "x" }\neach = { eu = { day = "a" }, us = { day = "b" } }\n'
        '[[schedules.etl.steps]]\ntask = "list_files"\nargs = { day = { arg = "day" } }\n'
    )
    assert shop.app.sync().created == ("etl[eu]", "etl[us]")
    assert [shop.app.schedules.get(f"etl[{key}]").args["day"] for key in ("eu", "us")] == ["a", "b"]
    assert [each.name for each in shop.app.tasks.flows()] == ["etl"]


def test_a_flow_of_a_file_may_call_one_that_is_drawn_above_it_or_in_the_app(shop: Shop) -> None:
    @shop.app.flow
    def told() -> None:
        shop.app.tasks.lookup("tell")()  # type: ignore[misc]

    inner = '[schedules.inner]\nevery = "1h"\n[[schedules.inner.steps]]\ntask = "tell"\n'
    outer = '[schedules.etl]\nevery = "1h"\n[[schedules.etl.steps]]\ntask = "@inner"\n'
    shop.load(f'{inner}{outer}[[schedules.etl.steps]]\ntask = "@told"\nafter = "inner"\n')
    with inline(shop.app):
        run = shop.app.enqueue("etl")
    assert run.state == "succeeded", run.error
    assert shop.said == ["told", "told"]


STEP = "[[schedules.etl.steps]]\n"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('task = "a"\nretrys = 1', "step a: retrys: unknown key; did you mean retries?"),
        ('task = "a"\noverlap = "discard"', "step a: overlap: it belongs to the schedule, not to a step"),
        ('task = "a"\nretries = "x"', "step a: retries: 'x' is not a whole number"),
        ('task = "a"\nafter = "aa"', "step a: after: there is no step 'aa'; did you mean a?"),
        ('task = "a"\nafter = "a"', "step a: after: a step cannot wait for itself"),
        ('shell = "true"', "step 1: name is missing"),
        ('name = 5\nshell = "true"', "step 1: name: 5 is not text"),
        ('name = "a/b"\nshell = "true"', "step a/b: name: '/' cannot stand in a name; write 'a-b'"),
        ('name = "a"', "step a: command, shell, http, mail or task is missing"),
        (
            'task = "a"\nargs = { x = { result = "b" } }\n' + STEP + 'task = "b"\nafter = "a"',
            "steps: a and b wait for each other; take one of their after or result out",
        ),
        ('task = "a"\n' + STEP + 'task = "a"', "step a: two steps have this name"),
        (
            'task = "a"\n' + STEP + 'task = "b"\nmap = "a"\nargs = { x = { item = true } }',
            "step b: map: a map goes over a list, not over 'a'; write map = { result = \"a\" }",
        ),
        (
            'task = "a"\nmap = { a = 1 }',
            'step a: map: a map goes over a list, not over {\'a\': 1}: { result = "STEP" }, { arg = "NAME" } or a list',
        ),
        (
            'task = "a"\nmap = [1]',
            "step a: args: say which argument gets the item of the map: args = { file = { item = true } }",
        ),
        ('task = "a"\nargs = { x = { item = true } }', "step a: item: it is only known in a map; write map beside it"),
        ('task = "a"\nparallel = 2', "step a: parallel: it goes with map"),
        (
            'name = "a"\nshell = "ls"\n' + STEP + 'name = "b"\nshell = "ls"\nmap = { result = "a" }',
            "step b: map: a is no task that returns a list; map over what a task returns",
        ),
        (
            'task = "a"\nargs = { x = { result = "a" } }',
            "step a: result: a is the step itself, which has returned nothing yet",
        ),
        ('task = "a"\nargs = { x = { result = "b" } }', "step a: args: result: there is no step 'b'"),
        (
            'task = "a"\nargs = { x = { arg = "dya" } }',
            "step a: args: arg: the flow has no argument 'dya'; did you mean day?",
        ),
        (
            'task = "a"\nargs = { x = { reslt = "a" } }',
            "step a: args: reslt: did you mean result? A value that only looks so stands in literal = { … }",
        ),
        (
            'task = "a"\nargs = { x = { item = "path" } }\nmap = [1]',
            'step a: args: item: write { item = true }, and for a part of it path = "name" beside it',
        ),
        (
            'task = "a"\nwhen = "rows > 0"',
            "step a: when: 'rows > 0' is no condition; compare what a step returns: {",
        ),
        ('task = "a"\nwhen = { arg = "day", gte = 0 }', "step a: when: gte: unknown key; did you mean gt?"),
        (
            'task = "a"\nwhen = { gt = 0 }',
            "step a: when: nothing is compared here; compare what a step returns: {",
        ),
        (
            'task = "a"\nwhen = { arg = "day", gt = 0, lt = 1 }',
            "step a: when: lt and gt: join them with all = [{ … }, { … }]",
        ),
        ('task = "a"\nwhen = { all = [] }', "step a: when: all: write a list of conditions, [{ … }, { … }]"),
        ('task = "a"\nargs = { x = { arg = "day", path = 1.5 } }', "step a: args: path: 1.5 is neither a name nor a "),
        ('task = "a"\non = "fail"', "step a: on: 'fail' is not known; did you mean failure?"),
        ('task = "a"\nargs = 5', 'step a: task: args map parameter names to values: write { audience = "eu" }, not 5'),
    ],
)
def test_what_is_wrong_with_a_step_is_told_in_one_line(lines: str, said: str) -> None:
    (problem, *others) = problems(f"{HEAD}{STEP}{lines}\n")
    assert (problem.startswith(said), others) == (True, []), problem


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("steps = 5", "steps: write each as a table of its own, [[schedules.NAME.steps]]"),
        ('task = "a"\nsteps = [{ task = "a" }]', "task and steps: only one of them can stand here"),
        (
            'retries = 3\nsteps = [{ task = "a" }]',
            "retries: it belongs to the steps of a flow; write it below the one that it is about",
        ),
        (
            'each = { eu = { } }\nshell = "x"',
            "each: it is about arguments, which go with task and steps",
        ),
    ],
)
def test_what_cannot_stand_beside_steps_is_told(lines: str, said: str) -> None:
    assert problems(f'[schedules.etl]\nevery = "1h"\n{lines}\n') == (said,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f'{HEAD}{STEP}task = "load"\nargs = {{ fiel = "x" }}\n',
            "load: task 'load' has no parameter 'fiel'; it takes: file",
        ),
        (
            f'{HEAD}{STEP}task = "@none"\n',
            "no flow 'none' is known here; draw it above, or name its app at the top: app = …",
        ),
        (
            f'{HEAD}limit = "dl:1"\n{STEP}task = "tell"\nlimit = "dl:1"\n',
            "the step would wait for a place that the flow holds until it ends; give one of them another limit",
        ),
        (
            f'[schedules.tell]\nevery = "1h"\n{STEP.replace("etl", "tell")}task = "load"\nargs = {{ file = "x" }}\n',
            "the app has a task or a flow of this name; give the schedule another name",
        ),
    ],
)
def test_what_does_not_fit_the_app_is_told_with_its_place_and_nothing_is_taken(
    shop: Shop, text: str, said: str
) -> None:
    with pytest.raises(FileError) as caught:
        shop.load(text)
    (problem,) = caught.value.problems
    assert problem.endswith(said), problem
    assert shop.app.tasks.flow("etl") is None


def test_a_flow_of_a_file_stands_beside_others_of_the_app(shop: Shop) -> None:
    shop.app.flow("other").step("tell")
    shop.load(ETL)
    shop.app.schedules.put("nightly", "etl", every("1h"))
    assert {each.name for each in shop.app.tasks.flows()} == {"other", "etl"}
