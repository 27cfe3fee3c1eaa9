"""Mistakes in crontabs and in jobs.toml."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake, Section


def _jobs(text: str, answered: str) -> Mistake:
    return Mistake("onthedot check jobs.toml", f"jobs.toml: {answered}", files={"jobs.toml": text})


def _job(lines: str, answered: str) -> Mistake:
    return _jobs(f"[schedules.job]\n{lines}\n", f"[schedules.job] {answered}")


def _steps(lines: str, answered: str) -> Mistake:
    return _job(f'every = "1h"\n\n[[schedules.job.steps]]\n{lines}', answered)


def _crontab(text: str, answered: str) -> Mistake:
    return Mistake("onthedot check crontab", f"crontab: {answered}", files={"crontab": text})


JOBS = Section(
    "jobs.toml",
    "All problems of a file are told at once, and nothing of it counts until it is mended;"
    " a node goes on with what it had.",
    (
        _jobs("[schedules.job\n", "line 1, column 15: Expected ']' at the end of a table declaration"),
        _jobs('sotre = "memory://"\n', "sotre: unknown key; did you mean store?"),
        _jobs("[engines.cluster]\n", "[engines.cluster] dask or celery is missing"),
        _jobs('timezone = "Berlin"\n', "timezone: no time zone 'Berlin'; did you mean Europe/Berlin?"),
        _job('cron = "61 * * * *"\nshell = "true"', "cron: minute: 61 is not 0-59 (column 1)"),
        _job('every = 15\nshell = "true"', 'every: 15 is no interval; write it like "90s" or "15m"'),
        _job('cron = "@daily"\nevery = "1h"\nshell = "true"', "cron and every: only one of them can stand here"),
        _jobs('[alerts.ops]\non = "failure"\n', "[alerts.ops] command, shell, http, mail or task is missing"),
        _job('every = "1h"', "command, shell, http, mail, task or steps is missing"),
        _job(
            'every = "1h"\ncommand = "ls -l"',
            'command: write its words as a list, ["pg_dump", "shop"]; a line for the shell is shell = \'ls -l\'',
        ),
        _job('every = "1h"\nshell = "true"\novrlap = "discard"', "ovrlap: unknown key; did you mean overlap?"),
        _job('every = "1h"\nshell = "true"\nenabled = "no"', "enabled: 'no' is neither true nor false"),
        _job(
            'every = "1h"\nhttp = { url = "example.org" }',
            "http: url: it begins with https:// or http://, unlike 'example.org'",
        ),
        _job(
            'every = "1h"\nhttp = { url = "https://example.org", json = { load = nan } }',
            "http: json: it is no JSON value: NaN and infinities are no numbers of JSON",
        ),
        Mistake("onthedot check jobs.toml", "jobs.toml: no such file or directory"),
        Mistake(
            "onthedot check shop.py",
            "shop.py: this is a program, not a file of schedules; onthedot run shop:app runs its app",
            files={"shop.py": ""},
        ),
    ),
)

STEPS = Section(
    "Steps in jobs.toml",
    "A flow is drawn when the file is read: what is wrong with a step is told with its name.",
    (
        _steps('task = "load"\nretrys = 3', "step load: retrys: unknown key; did you mean retries?"),
        _steps('task = "load"\noverlap = "discard"', "step load: overlap: it belongs to the schedule, not to a step"),
        _steps('shell = "true"', "step 1: name is missing"),
        _steps(
            'task = "load"\nafter = "sum"\n\n[[schedules.job.steps]]\ntask = "sum"\nargs = { a = { result = "load" } }',
            "steps: load and sum wait for each other; take one of their after or result out",
        ),
        _steps('task = "load"\nafter = "laod"', "step load: after: there is no step 'laod'; did you mean load?"),
        _steps(
            'task = "sum"\nargs = { parts = { result = "load" } }',
            "step sum: args: result: there is no step 'load'",
        ),
        _steps(
            'task = "files"\n\n[[schedules.job.steps]]\ntask = "load"\nmap = "files"',
            "step load: map: a map goes over a list, not over 'files'; write map = { result = \"files\" }",
        ),
        _steps(
            'task = "load"\nmap = ["a", "b"]',
            "step load: args: say which argument gets the item of the map: args = { file = { item = true } }",
        ),
        _steps(
            'task = "load"\nargs = { day = { arg = "day" } }',
            "step load: args: arg: the flow has no argument 'day'; say it in args of the schedule",
        ),
        _steps(
            'name = "list"\nshell = "ls"\n\n[[schedules.job.steps]]\nname = "load"\nshell = "cat"\n'
            'map = { result = "list" }',
            "step load: map: list is no task that returns a list; map over what a task returns",
        ),
        _steps(
            'task = "load"\nwhen = "rows > 0"',
            "step load: when: 'rows > 0' is no condition; compare what a step returns:"
            ' { result = "total", path = "rows", gt = 0 }',
        ),
        _job(
            'every = "1h"\nretries = 3\nsteps = [{ task = "load" }]',
            "retries: it belongs to the steps of a flow; write it below the one that it is about",
        ),
    ),
)

CRONTABS = Section(
    "Crontabs",
    "A bad line refuses that line only; the others are checked, imported and run.",
    (
        _crontab("0 9 * * * good\n0 25 * * * bad\n", "line 2: hour: 25 is not 0-23 (column 3)"),
        _crontab(
            "0 9 * * * good\n9 * * bad\n",
            "line 2: 5 fields (minute hour day month weekday) and a command are wanted;"
            " a comment begins with #, a setting is NAME=value",
        ),
        _crontab("0 9 * * * good\n0 9 * * *\n", "line 2: a command is missing behind the fields"),
        _crontab("0 9 * * * good\n@dayly bad\n", "line 2: @dayly is not known (column 1); did you mean @daily?"),
        _crontab(
            "0 9 * * * good\nCRON_TZ=Berlin\n",
            "line 2: CRON_TZ: no time zone 'Berlin'; did you mean Europe/Berlin?",
        ),
        _crontab(
            "0 9 * * * good\nCRON_TZ=Europe/Berlin 0 9 * * * bad\n",
            "line 2: CRON_TZ stands on a line of its own; move the fields and the command below it",
        ),
        Mistake(
            "onthedot run crontab",
            "crontab: a crontab is run as a jobs.toml: onthedot import crontab crontab -o jobs.toml",
            files={"crontab": "0 9 * * * good\n"},
        ),
        Mistake(
            "onthedot import crontab jobs.toml",
            "jobs.toml: this is TOML, not a crontab; onthedot run takes it as it is",
            files={"jobs.toml": '[schedules.job]\nevery = "1h"\nshell = "true"\n'},
        ),
    ),
)
