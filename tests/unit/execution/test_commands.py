"""Commands: real child processes, what they say, and their end."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.unit.execution.places import app_in_memory, done, ended, lives, said, until

from onthedot import App, ArgumentsError, Conflict, SettingsError, alert, cron
from onthedot.cli.run_tables import why
from onthedot.execution.context import MOST_LOG_BYTES
from onthedot.execution.targets.listening import Child
from onthedot.node.settings import NodeSettings


@pytest.fixture
def app() -> Iterator[App]:
    app = app_in_memory()
    with app.running():
        yield app


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def _is_gone(pid: int) -> bool:
    return not lives(pid)


AMPLE = "3s"
"""A time-out before which a command has surely begun, also on a busy machine."""


def pid_in(path: Path) -> int:
    until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


# what it says, and its exit code


def test_the_exit_code_is_the_outcome_and_what_it_says_is_kept(app: App) -> None:
    code = "import sys; print('one'); sys.stdout.flush(); print('two', file=sys.stderr)"
    run = done(app, app.command("talks", python(code)))
    assert (run.state, run.result) == ("succeeded", {"exit_code": 0})
    assert sorted(said(app, run)) == [("STDERR", "two"), ("STDOUT", "one")]


def test_another_exit_code_fails_the_run_with_its_last_words(app: App) -> None:
    code = "import sys; print('hello'); print('sorry\\nno disk\\n', file=sys.stderr); sys.exit(3)"
    run = done(app, app.command("fails", python(code)))
    assert (run.state, run.result) == ("failed", {"exit_code": 3})
    assert run.error == "sorry\ncommand ended with exit code 3: no disk"


def test_the_exit_code_stands_in_the_line_that_lists_and_logs_show(app: App) -> None:
    run = done(app, app.command("fails", python("import sys; print('the disk\\nis full'); sys.exit(4)")))
    assert why(run) == "command ended with exit code 4: is full"
    assert why(done(app, app.command("silent", shell="exit 5"))) == "command ended with exit code 5"


def test_a_command_that_is_killed_from_outside_fails_and_names_the_signal(app: App) -> None:
    run = done(app, app.command("killed", python("import os; os.kill(os.getpid(), 9)")))
    assert (run.state, run.result, run.error) == (
        "failed",
        {"exit_code": -9},
        "command was ended by signal 9 (SIGKILL)",
    )


def test_a_command_to_which_we_cannot_listen_is_ended_and_its_run_fails(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deaf(self: Child) -> int:
        pid_in(tmp_path / "pid")
        raise OSError("too many open files")

    monkeypatch.setattr(Child, "listen", deaf)
    write = f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(f'{{os.getpid()}}\\n')"
    code = f"import os, time, pathlib; {write}; time.sleep(1000)"
    run = done(app, app.command("sleeps", python(code)))
    assert run.state == "failed"
    assert "too many open files" in (run.error or "")
    until(partial(_is_gone, pid_in(tmp_path / "pid")))


def test_a_failed_command_is_tried_again_as_its_policy_says(app: App) -> None:
    run = done(app, app.command("again", python("import sys; sys.exit(1)"), retries=1, backoff="0s"))
    assert (run.state, run.attempt) == ("failed", 2)


def test_words_are_words_and_no_shell_reads_them(app: App) -> None:
    run = done(app, app.command("plain", ["echo", "$HOME", "|", "cat; id"]))
    assert said(app, run) == [("STDOUT", "$HOME | cat; id")]


@pytest.mark.parametrize("how", ["line", "shell"])
def test_a_line_for_the_shell_runs_only_where_a_shell_is_asked_for(app: App, how: str) -> None:
    line = "echo a b | tr a-z A-Z"
    task = app.command("piped", line, shell=True) if how == "line" else app.command("piped", shell=line)
    assert said(app, done(app, task)) == [("STDOUT", "A B")]


def test_it_is_told_of_its_run_and_runs_where_it_should(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in os.environ if each.startswith("ONTHEDOT_")]:  # such as that of the scripts
        monkeypatch.delenv(name)
    told_of = "{k: v for k, v in os.environ.items() if k[:8] == 'ONTHEDOT'}"
    code = f"import os, json; print(json.dumps({told_of} | {{'cwd': os.getcwd(), 'X': os.environ['X']}}))"
    app.command("env", python(code), cwd=tmp_path, env={"X": "yes"})
    app.schedules.put("nightly", "env", cron("0 0 1 1 *"))
    run = ended(app, app.schedules.trigger("nightly"))
    told = json.loads(said(app, run)[0][1])
    assert told == {
        "ONTHEDOT_RUN_ID": run.id,
        "ONTHEDOT_SCHEDULE": "nightly",
        "ONTHEDOT_SCHEDULED_AT": told["ONTHEDOT_SCHEDULED_AT"],
        "ONTHEDOT_ATTEMPT": "1",
        "ONTHEDOT_FENCE": str(run.fence),
        "ONTHEDOT_SHARD": "",
        "ONTHEDOT_SHARDS": "",
        "cwd": str(tmp_path),
        "X": "yes",
    }
    assert told["ONTHEDOT_SCHEDULED_AT"].endswith("Z")


def test_a_command_that_alerts_is_told_of_what_in_its_environment(app: App) -> None:
    @app.task
    def fails() -> None:
        raise RuntimeError("no disk")

    app.command(
        "shout", shell='echo "$ONTHEDOT_ARG_SCHEDULE|$ONTHEDOT_ARG_ON|$ONTHEDOT_ARG_ERROR"; echo "$ONTHEDOT_ARGS"'
    )
    ops = alert("ops", task="shout", on="failure")
    app.schedules.put("nightly", fails, cron("0 0 1 1 *"), alerts=[ops])
    ended(app, app.schedules.trigger("nightly"))
    (sent,) = app.runs.list(task="shout")
    told = ended(app, sent)
    first, second = (text for _, text in said(app, told))
    assert first == "nightly|failure|RuntimeError: no disk"
    assert json.loads(second) == told.args


def test_arguments_that_no_environment_holds_fail_the_command_in_one_line(app: App) -> None:
    @app.task
    def much() -> str:
        return "x" * 200_000

    app.command("cat", ["cat"])
    flow = app.flow("large")
    flow.step("cat", args={"text": flow.step(much)})
    run = ended(app, app.enqueue("large"))
    assert run.state == "failed"
    (step,) = app.runs.list(parent=run.id, task="cat")
    assert "ONTHEDOT_ARG_TEXT would have 200,000 bytes, and the most is 100,000" in (step.error or "")
    assert "let the step before write a file" in (step.error or "")


def test_a_command_may_use_onthedot_itself(app: App) -> None:
    run = done(app, app.command("nested", python("from onthedot import App; App('memory://')")))
    assert run.state == "succeeded", run.error


@pytest.mark.parametrize(
    "words", [["no-such-program-here"], ["/"], ["echo", "a\0b"]], ids=["missing", "a folder", "a NUL"]
)
def test_what_cannot_be_started_fails_in_one_line(app: App, words: list[str]) -> None:
    run = done(app, app.command("wrong", words))
    assert run.state == "failed"
    assert "could not be started on this node" in (run.error or "")
    assert "\n" not in (run.error or "")


# huge output


def test_a_huge_output_is_kept_up_to_the_limit_and_does_not_hold_the_command_up(app: App) -> None:
    run = done(app, app.command("huge", ["sh", "-c", "yes | head -c 20000000; echo the end; exit 5"]))
    lines = said(app, run)
    assert run.result == {"exit_code": 5}
    assert sum(len(text) + 100 for _, text in lines) < MOST_LOG_BYTES + 1000
    assert "nothing more is kept" in lines[-1][1]
    assert (run.error or "").endswith("the end")


def test_a_line_without_an_end_is_kept_in_pieces(app: App) -> None:
    run = done(app, app.command("long", python("print('x' * 100_000, end='')")))
    pieces = [text for _, text in said(app, run)]
    assert "".join(pieces) == "x" * 100_000
    assert max(map(len, pieces)) <= 8192


def test_bytes_that_are_no_text_are_kept_as_well_as_can_be(app: App) -> None:
    run = done(app, app.command("bytes", python(r"import sys; sys.stdout.buffer.write(b'a\xff\x00b\n')")))
    assert said(app, run) == [("STDOUT", "a��b")]


# its end


def test_at_its_time_out_the_whole_group_ends(app: App, tmp_path: Path) -> None:
    line = f"sleep 1000 & echo $! > {tmp_path}/grandchild; echo $$ > {tmp_path}/child; wait"
    run = done(app, app.command("slow", shell=line, timeout=AMPLE))
    assert (run.state, run.error) == ("timed_out", "it took longer than its time-out, and ended on SIGTERM")
    for name in ("child", "grandchild"):
        pid = pid_in(tmp_path / name)
        until(partial(_is_gone, pid))


def test_what_ignores_sigterm_is_killed_after_its_grace(app: App, tmp_path: Path) -> None:
    line = f"trap '' TERM; (echo $$ > {tmp_path}/pid; while true; do sleep 0.05; done)"
    run = done(app, app.command("stubborn", shell=line, timeout=AMPLE, kill_after="200ms"))
    assert (run.state, run.result) == ("timed_out", {"exit_code": -9})
    assert "SIGKILL" in (run.error or "")
    assert not lives(pid_in(tmp_path / "pid"))


def test_a_grandchild_that_ignores_sigterm_is_killed_too(app: App, tmp_path: Path) -> None:
    inner = f"trap '' TERM; echo $$ > {tmp_path}/pid; while true; do sleep 0.05; done"
    task = app.command("parent", ["sh", "-c", f'sh -c "{inner}" & wait'], timeout=AMPLE, kill_after="200ms")
    assert done(app, task).state == "timed_out"
    pid = pid_in(tmp_path / "pid") if (tmp_path / "pid").exists() else None
    assert pid is None or not lives(pid)


def test_a_cancelled_command_ends(app: App, tmp_path: Path) -> None:
    run = app.enqueue(app.command("long", shell=f"echo $$ > {tmp_path}/pid; exec sleep 1000"))
    pid = pid_in(tmp_path / "pid")
    app.runs.cancel(run.id)
    last = ended(app, run)
    assert (last.state, last.result) == ("cancelled", {"exit_code": -15})
    assert not lives(pid)


def test_what_it_leaves_running_holds_nothing_up(app: App, tmp_path: Path) -> None:
    run = done(
        app, app.command("daemon", shell=f"(echo $$ > {tmp_path}/x; exec sleep 1000) & echo $! > {tmp_path}/pid")
    )
    assert run.state == "succeeded"
    os.kill(pid_in(tmp_path / "pid"), signal.SIGKILL)


def test_a_stopping_node_ends_its_commands(tmp_path: Path) -> None:
    app = app_in_memory(node=NodeSettings(drain_ms=0))
    task = app.command(
        "long", shell=f"trap '' TERM; echo $$ > {tmp_path}/pid; while true; do sleep 0.05; done", kill_after="100ms"
    )
    with app.running():
        run = app.enqueue(task)
        pid = pid_in(tmp_path / "pid")
    assert not lives(pid), "it outlived its node"
    assert app.runs.get(run.id).state == "waiting"


# secrets


def test_a_secret_is_read_when_it_runs_and_shown_nowhere(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", 'hunter2"x y')
    code = "import os, sys, json; p = os.environ['PGPASSWORD']; print(p, json.dumps(p)); sys.exit('bad password ' + p)"
    task = app.command("dump", python(code), env={"PGPASSWORD": "env:DB_PASSWORD"})
    run = done(app, task)
    shown = [text for _, text in said(app, run)]
    assert sorted(shown) == ['*** "***"', "bad password ***"]
    assert run.error == "command ended with exit code 1: bad password ***"
    assert "hunter2" not in f"{run} {app.tasks.list()} {task}"


def test_a_secret_in_a_line_without_an_end_is_not_cut_into_the_open(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "topsecret")
    code = "import os; print(('x' * 8189 + os.environ['K']) * 9, end='')"
    run = done(app, app.command("leaky", python(code), env={"K": "env:KEY"}))
    whole = "".join(text for _, text in said(app, run))
    assert "topsecret" not in whole
    assert whole.count("***") == 9


def test_a_secret_that_is_not_set_fails_the_run_and_names_it(app: App) -> None:
    run = done(app, app.command("dump", ["true"], env={"PGPASSWORD": "env:NOT_SET_ANYWHERE"}))
    assert run.state == "failed"
    assert "environment has no NOT_SET_ANYWHERE" in (run.error or "")


# declaring


def test_it_is_a_task_like_any_other(app: App) -> None:
    task = app.command("backup", ["true"], retries=2)
    app.schedules.put("nightly", task, cron("0 2 * * *"))
    app.schedules.put("by-name", "backup", cron("0 3 * * *"))
    (info,) = [each for each in app.tasks.list() if each.name == "backup"]
    assert (info.doc, info.parameters) == ("true", ())
    assert ended(app, app.schedules.trigger("nightly")).result == {"exit_code": 0}
    assert app.schedules.get("nightly").policy.retries == 2
    with pytest.raises(ArgumentsError):
        app.enqueue(task, args={"x": 1})


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        ("pg_dump shop", {}, "as a list, ['pg_dump', 'shop']"),
        (["echo"], {"shell": True}, "shell=True takes one line"),
        (["echo"], {"shell": "echo"}, "not both"),
        ([], {}, "no list of words"),
        (["echo", 3], {}, "no list of words"),
        (["echo"], {"env": {"A": 1}}, "env: 'A' = 1 is not text"),
        (["echo"], {"pool": "process"}, "pool='process' is for Python functions"),
        (["echo"], {"timeut": "1s"}, "did you mean timeout"),
    ],
)
def test_a_wrong_declaration_is_refused_with_the_remedy(command: object, options: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        app_in_memory().command("job", command, **options)  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_command_and_a_function_of_one_name_are_refused() -> None:
    app = app_in_memory()
    app.command("job", ["true"])
    app.command("job", ["false"])  # the same place again: a reloaded module
    with pytest.raises(Conflict, match="two tasks are named 'job'"):

        @app.task
        def job() -> None: ...
