"""Mistakes in Python. `app` has the tasks `send(to: str, copies: int = 1)` and `tidy()`, and the schedule `nightly`."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake, Section

TRIGGERS = Section(
    "Triggers",
    "A text that was read is also shown with a caret below the column.",
    (
        Mistake('cron("0 25 * * *")', "hour: 25 is not 0-23 (column 3)"),
        Mistake('cron("0 24 * * *")', "hour: 24 is not 0-23 (column 3); midnight is hour 0"),
        Mistake('cron("0 9 * * mo")', "day of week: 'mo' is not 0-7 or sun-sat (column 9); did you mean mon?"),
        Mistake('cron("0 0 31 2 *")', "this can never fire (column 5); the last day of the month is L: 0 0 L 2 *"),
        Mistake('cron("@dayly")', "@dayly is not known (column 1); did you mean @daily?"),
        Mistake(
            'cron("every day at 9")',
            "4 fields where 5 (minute hour day month weekday), 6 (second first) or 7 (year last) are wanted"
            " (column 15); write five fields, such as 0 9 * * mon-fri",
        ),
        Mistake("cron(9)", 'a cron text is text, not 9; write cron("0 9 * * mon-fri")'),
        Mistake('cron("0 9 * * *", tz="Berlin")', "no time zone 'Berlin'; did you mean Europe/Berlin?"),
        Mistake('cron("0 9 * * *", gap="jump")', "gap='jump' is not known; write one of shift, skip"),
        Mistake('every("15")', '\'15\' lacks a unit; write it like "90s", "15m", "2h30m" or "1d"'),
        Mistake("every(15)", 'a duration is a timedelta or text, not 15; write it like "90s", "15m", "2h30m" or "1d"'),
        Mistake('every("0s")', "an interval of 0s is too short; the least is 1s"),
        Mistake(
            'every("1 month")',
            "'1 month': months and years differ in length; use cron, such as cron('0 0 1 * *')",
        ),
        Mistake(
            'every("1h", starts_at="2027-01-01T00:00Z", repeat_until="2026-01-01T00:00Z")',
            "repeat_until 2026-01-01T00:00Z is before starts_at 2027-01-01T00:00Z; this can never fire; exchange them",
        ),
        Mistake(
            'at("2026-12-24 18:00")',
            '2026-12-24 18:00:00 has no zone; write at("2026-12-24 18:00:00", tz="Europe/Berlin") or add an offset',
        ),
        Mistake('at("tomorrow")', "'tomorrow' is no moment; write it like 2026-12-24T18:00Z or 2026-12-24 18:00+01:00"),
        Mistake('dates("24.12.2026")', "'24.12.2026' is no date; write \"2026-12-25\""),
        Mistake(
            'cron("@daily") - "2026-12-24"',
            '\'2026-12-24\' cannot be excluded; write trigger - dates("2026-12-25"), - calendar("de") or - another'
            " trigger",
        ),
        Mistake(
            'cron("@daily") | "@hourly"', "'@hourly' is no trigger; write trigger | cron(…), | every(…) or | at(…)"
        ),
        Mistake(
            'forecast({"poll": "5m"}, "2026-11-16T00:00Z", "2026-11-17T00:00Z")',
            "poll: '5m' is no trigger; write cron(…), every(…) or at(…)",
        ),
    ),
)

SCHEDULES = Section(
    "Schedules",
    "",
    (
        Mistake(
            'app.schedules.put("job", tidy, "0 9 * * *")',
            "job: '0 9 * * *' is no trigger; write cron('0 9 * * *')",
        ),
        Mistake(
            'app.schedules.put("job", tidy, dates("2026-12-24"))',
            'job: dates are what a trigger leaves out; write cron("0 8 * * *") - dates("2026-12-25")',
        ),
        Mistake(
            'app.schedules.put("job", tidy, cron("@daily") - calendar("de"))',
            "job: no calendar named 'de'. Put it first: app.calendars.put(\"de\", …), or onthedot calendars put.",
        ),
        Mistake(
            'app.schedules.put("job", tidy, cron("* * * * *") - cron("* * * * *"))',
            "job: cron('* * * * *', tz='UTC') - cron('* * * * *', tz='UTC') can never fire;"
            " what is excluded leaves nothing of it",
        ),
        Mistake(
            'app.schedules.put("job", tidy, cron("0 0 9 1 1 * 2020"))',
            "job: cron('0 0 9 1 1 * 2020', tz='UTC') can never fire again; its last tick was 2020-01-01T09:00:00Z;"
            " give it a later end",
        ),
        Mistake(
            'app.schedules.put("job", "tdy", every("1h"))',
            "No task named 'tdy'. Did you mean tidy? Import its module before start, or pass unchecked=True.",
        ),
        Mistake(
            'app.schedules.put("job", lambda: None, every("1h"))',
            "a lambda is no task; give its name, or what @app.task has made of the function",
        ),
        Mistake('app.schedules.put("", tidy, every("1h"))', "schedule: a name is missing"),
        Mistake('app.schedules.put("a/b", tidy, every("1h"))', "schedule: '/' cannot stand in a name; write 'a-b'"),
        Mistake(
            'app.schedules.put("job ", tidy, every("1h"))',
            "schedule: the name 'job ' begins or ends with a blank, which nobody would see; write 'job'",
        ),
        Mistake('app.schedules.put("job", send, every("1h"))', "task 'send' needs to; add it to args"),
        Mistake(
            'app.schedules.put("job", send, every("1h"), args={"too": "you"})',
            "task 'send' has no parameter 'too'; it takes: to, copies",
        ),
        Mistake(
            'app.schedules.put("job", send, every("1h"), args={"to": "you", "copies": "two"})',
            "task 'send': copies must be int, not 'two'",
        ),
        Mistake(
            'app.schedules.put("job", send, every("1h"), args=["you"])',
            "args of 'send' map parameter names to values; ['you'] does not",
        ),
        Mistake(
            'app.schedules.put("job", note, every("1h"), args={"value": math.inf})',
            "'note': value: inf is no number of JSON; give None, or a text",
        ),
        Mistake(
            'app.schedules.put("job", note, every("1h"), args={"value": {1, 2}})',
            "'note': value: a set is no JSON value, date, duration, UUID or Decimal",
        ),
        Mistake(
            'app.schedules.put("job", tidy, every("1h"), overlapp="discard")',
            "job: no option 'overlapp'; did you mean overlap?",
        ),
        Mistake(
            'app.schedules.put("job", tidy, every("1h"), overlap="skip")',
            "job: overlap: 'skip' is not known; there are serial, discard, cover and concurrent",
        ),
        Mistake('app.schedules.put("job", tidy, every("1h"), retries="3")', "job: retries: '3' is not a whole number"),
        Mistake(
            'app.schedules.put("job", tidy, every("1h"), timeout=30)',
            'job: timeout: \'30\' lacks a unit; write it like "90s", "15m", "2h30m" or "1d"',
        ),
        Mistake(
            'app.schedules.put("job", tidy, every("1h"), timeout=timedelta(seconds=-1))',
            "job: timeout: a duration cannot be negative: -1 day, 23:59:59",
        ),
        Mistake(
            'app.schedules.put("job", tidy, every("1h"), limit="mail")',
            "job: limit: 'mail' is not a group and how many of it may run at once; write it like 'mail:5'",
        ),
        Mistake(
            'app.schedules.put("job", tidy, every("1h"), enabled="no")', "job: enabled: 'no' is neither true nor false"
        ),
        Mistake(
            'app.schedules.put("job", tidy, every("1h"), alerts=["ops"])',
            "job: alerts: no alert 'ops', the app has none; declare it: app.alert('ops', task='hook')",
        ),
        Mistake(
            'app.alert("ops", task="hook", on="failed")',
            "alert 'ops': on: 'failed' is not known; did you mean failure?",
        ),
        Mistake(
            'app.alert("ops", task="hook", on="overdue")',
            "alert 'ops': overdue: say how long after the latest success, overdue='26h'",
        ),
        Mistake(
            'app.schedules.put("job", tidy, every("1h"), ping={"success": "https://hc.example.org/abc"})',
            "job: ping: urls are said in code or a file, @app.schedule(…, ping={…}), and not kept in a store;"
            " here write the kinds, ['success', 'fail']",
        ),
        Mistake(
            'app.mail("post", "ops", sender="jobs@example.org", host="smtp.example.org")',
            "'post': to: 'ops' is no address; write 'ops@example.org'",
        ),
        Mistake(
            'app.schedules.put("job", tidy, every("1h"), then="sned")',
            "job: then: no task named 'sned'. Did you mean send? Import its module before start, or pass"
            " unchecked=True.",
        ),
        Mistake(
            'app.schedules.put("job", tidy, every("1h"), depends_on="nihgtly")',
            "job depends on 'nihgtly', and there is no such schedule: it waits for one; did you mean 'nightly'?",
            note=True,
        ),
        Mistake('app.schedules.get("nihgtly")', "No schedule named 'nihgtly'. Did you mean nightly?"),
        Mistake("app.schedules.pause()", "pause: give a name, or where={'tag': …}"),
        Mistake('app.schedules.pause(where={"task": "tidy"})', "pause: where knows only 'tag', not task"),
        Mistake(
            'app.schedules.reschedule("nightly", "2020-01-01T00:00Z")',
            "2020-01-01T00:00:00Z is not ahead of 2026-11-16T12:00:00Z in the store; to run it now, use trigger",
        ),
        Mistake(
            'app.schedules.put("digest", tidy, every("1h"), each={})',
            "digest: each: it is empty; to have none of its schedules, delete digest[*]",
        ),
        Mistake(
            'app.schedules.put("digest[eu]", tidy, every("1h"), each={"a": {}})',
            "digest[eu]: each: '[', ']' and '*' cannot stand in the name of a template; its schedules are NAME[KEY]",
        ),
        Mistake(
            'app.schedules.put("digest", tidy, every("1h"), each={"a": {}}, mode="local")',
            "digest: each: a local schedule is every node's own; write one put for each of them",
        ),
        Mistake('app.schedules.pause("nothing-*")', "No schedule named 'nothing-*'."),
        Mistake(
            'app.schedules.skip_next("nightly", -1)',
            "skip: -1 is not a whole number of 0 or more; 0 takes a skip back",
        ),
        Mistake(
            'app.freeze("xmas", "2027-01-02T00:00Z", "2026-12-24T00:00Z")',
            "freeze xmas: its end 2026-12-24T00:00:00Z is not after its start 2027-01-02T00:00:00Z",
        ),
        Mistake(
            'app.freeze("xmas", "2025-12-24T00:00Z", "2026-01-02T00:00Z")',
            "freeze xmas: it is over already, at 2026-01-02T00:00:00Z; nothing that ran can be frozen",
        ),
        Mistake(
            'app.freeze("xmas", "2026-12-24", "2027-01-02T00:00Z")',
            "freeze xmas: start: 2026-12-24 00:00:00 has no zone; add one, as in 2026-12-24T00:00:00+00:00",
        ),
        Mistake(
            'app.freeze("xmas", "2026-12-24T00:00Z", "2027-01-02T00:00Z", where={"tags": "prod"})',
            "freeze xmas: where knows no 'tags'; did you mean tag?",
        ),
        Mistake(
            'app.freeze("xmas", "2026-12-24T00:00Z", "2027-01-02T00:00Z", where={})',
            "freeze xmas: where takes {'tag': …} or {'name': 'etl-*'}; leave it out to freeze all schedules",
        ),
        Mistake('app.freezes.thaw("xmas")', "No freeze named 'xmas'. `onthedot freezes list` shows them."),
        Mistake("app.schedules.list(limit=0)", "limit: 0 is not a whole number of 1 or more"),
    ),
)

TASKS = Section(
    "Tasks and runs",
    "",
    (
        Mistake(
            '@app.task("report")\ndef report(): ...',
            "@app.task: 'report' is no function; to name a task write @app.task(name='report')",
        ),
        Mistake("app.task(lambda: None)", 'a lambda has no name of its own; give it one: app.task(name="…")(…)'),
        Mistake(
            "app.task(Mailer)",
            "@app.task: Mailer is a class, and calling it does no work; give a method of an object, such as"
            " Mailer().run",
        ),
        Mistake(
            "@app.task\ndef report():\n    yield 1",
            "@app.task: report has a yield, so that calling it does no work; return what came of it instead",
        ),
        Mistake(
            'app.task(name="render", pool="process")(lambda: None)',
            "'render': pool='process' needs a function at the top of a module",
        ),
        Mistake(
            '@app.task(name="send")\ndef other(): ...',
            "two tasks are named 'send': shop.py:14 and shop.py:27; give one of them a name=",
        ),
        Mistake(
            'app.task(name="mail", aliases=["send"])(partial(tidy))',
            "'mail' and 'send' are both called 'send'; give one another name",
        ),
        Mistake(
            '@app.schedule(every("1h"), name="job")\ndef one(): ...\n'
            '\n@app.schedule(every("2h"), name="job")\ndef two(): ...',
            "two schedules are named 'job': shop.py:27 and shop.py:30; give one of them another name=",
        ),
        Mistake(
            "@app.schedule\ndef job(): ...",
            '@app.schedule: the function job is no trigger; write every("15m") or cron("0 8 * * *")',
        ),
        Mistake(
            'app.task(name="x", max_runs=3)(tidy.function)',
            "x: max_runs belongs to a schedule; give it to @app.schedule or put",
        ),
        Mistake(
            'app.command("list", "ls -l")',
            "'list': write the words of a command as a list, ['ls', '-l']; for a shell's line add shell=True",
        ),
        Mistake(
            'app.http("ping", "GET", "example.org")',
            "'ping': a url begins with https:// or http://, or is env:NAME, unlike 'example.org'",
        ),
        Mistake(
            'app.http("ping", "POST", "https://example.org", json={"load": math.nan})',
            "'ping': json: it is no JSON value: NaN and infinities are no numbers of JSON",
        ),
        Mistake(
            "app.enqueue(tidy, delay=5)",
            'enqueue: delay: a duration is a timedelta or text, not 5; write it like "90s", "15m", "2h30m" or "1d"',
        ),
        Mistake('app.enqueue(tidy, delay="5m", at="2027-01-01T00:00Z")', "enqueue: give delay= or at=, not both"),
        Mistake('app.enqueue(tidy, key="")', "enqueue: key: it is empty, and would stand for all runs; leave it out"),
        Mistake(
            'app.enqueue(tidy, tags=["mail"])', "tidy: tags belongs to a schedule; give it to @app.schedule or put"
        ),
        Mistake(
            'app.runs.get("42")',
            "No run 42; it never was, or its history has been pruned.",
        ),
        Mistake(
            'app.runs.list(state="broken")',
            "no state 'broken'; there are waiting, running, succeeded, failed, timed_out, cancelled, skipped, lost",
        ),
        Mistake('app.nodes.drain("web-1")', "No live node web-1. `onthedot nodes list` shows them."),
        Mistake('app.nodes.forget("web-1")', "No node web-1. `onthedot nodes list` shows them."),
        Mistake('@app.on("finished")\ndef told(event): ...', "app.on: no topic 'finished'; did you mean run_finished?"),
        Mistake(
            '@app.on("run_finished")\ndef told(): ...',
            "app.on('run_finished'): told is called with the event, and must take it as its one argument",
        ),
        Mistake(
            "@app.around\ndef session(): ...",
            "app.around: session has no yield; what stands before it is done before each run, the rest after",
        ),
        Mistake("current()", "no run is under way here: current() works only inside a task"),
    ),
)

APPS = Section(
    "Apps",
    "",
    (
        Mistake('App("memory://", retires=3)', "App: no option 'retires'; did you mean retries?"),
        Mistake('App("memory://", timezone="Berlin")', "timezone: no time zone 'Berlin'; did you mean Europe/Berlin?"),
        Mistake('App("memory://", include="shop.jobs")', "App: include= takes a list of modules: ['shop.jobs']"),
        Mistake('App("memory://", include=["shp"]).sync()', "include: there is no module 'shp'"),
        Mistake(
            'App("memory://", store="sqlite:///jobs.db")',
            "App: store= takes a store that is open; for a URL write App('sqlite:///jobs.db')",
        ),
        Mistake('app.load_file("jobs.toml")', "jobs.toml: no such file or directory"),
    ),
)
