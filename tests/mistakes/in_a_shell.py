"""Mistakes on the command line. The store is sqlite:///jobs.db, with the schedule `nightly` of the task `report`."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake, Section

SHOP = {"shop.py": 'from onthedot import App\n\napp = App("sqlite:///jobs.db")\nrate = 5\n'}

COMMANDS = Section(
    "Commands",
    "Each line on stderr begins with `error:`. The exit code is 2 where the command can be written differently,"
    " and 1 where it failed.",
    (
        Mistake("onthedot schedules pause nihgtly", "No schedule named 'nihgtly'. Did you mean nightly?", code=1),
        Mistake(
            "onthedot enqueue report to",
            "Invalid value for 'NAME=VALUE': 'to' is not NAME=VALUE (see onthedot enqueue --help)",
        ),
        Mistake(
            "onthedot enqueue report --delay 1h --at 2027-01-01T00:00Z",
            "Invalid value for '--delay' / '--at': give one of them (see onthedot enqueue --help)",
        ),
        Mistake(
            "onthedot enqueue report --option overlapp=discard",
            "report: no option 'overlapp'; did you mean overlap?",
        ),
        Mistake(
            "onthedot schedules trigger 'night*' --wait",
            "Invalid value for '--wait': one run is waited for: name one schedule"
            " (see onthedot schedules trigger --help)",
        ),
        Mistake("onthedot top", "top fills a terminal, and this is none; onthedot status says the same in lines"),
        Mistake("onthedot completion csh", "completion: no shell 'csh'; there are bash, zsh, fish"),
        Mistake(
            "onthedot init jobs.txt", "init: jobs.txt is neither a module such as jobs.py nor a file such as jobs.toml"
        ),
        Mistake(
            "onthedot init shop.py", "shop.py is there already, and was left as it is; name another file", files=SHOP
        ),
        Mistake("onthedot run shop:app --roles paln", "roles: no role 'paln'; there are plan and execute", files=SHOP),
        Mistake(
            "onthedot run shop:app --drain 5x",
            "drain: '5x': no unit 'x'; the units are w, d, h, m, s and ms",
            files=SHOP,
        ),
        Mistake("onthedot statu", "No such command 'statu'; did you mean status? (see onthedot --help)"),
        Mistake(
            "onthedot runs list --satte failed",
            "No such option: --satte; did you mean --state? (see onthedot runs list --help)",
        ),
        Mistake(
            "onthedot verify --journal nowhere",
            "--journal: nowhere is no folder; name the one that tasks were told to write into",
        ),
        Mistake(
            "onthedot verify --task work",
            "--task goes with --journal: what a task did is read there; add --journal FOLDER",
        ),
        Mistake(
            "onthedot verify --since 2030-01-01T00:00Z",
            "--since: 2030-01-01T00:00:00Z is in the future; say how long ago, as in 24h",
        ),
        Mistake(
            "onthedot verify --store https://jobs.example",
            "verify reads the store itself: give its own URL, such as postgresql://db/jobs",
        ),
        Mistake(
            "onthedot dashboard --host 0.0.0.0",
            "others could reach 0.0.0.0:8642, and there is no token yet;"
            " make one first: onthedot tokens create NAME --role admin",
        ),
        Mistake(
            "onthedot dashboard --host 192.0.2.7 --port 0",
            "others could reach 192.0.2.7:0, and there is no token yet;"
            " make one first: onthedot tokens create NAME --role admin",
        ),
        Mistake(
            "onthedot run shop:app --port 8080",
            "Invalid value for '--host' / '--port': they go with --dashboard (see onthedot run --help)",
            files=SHOP,
        ),
        Mistake(
            "onthedot tokens create ann --role root",
            "token: no role 'root'; there are viewer, operator, admin",
        ),
        Mistake(
            "onthedot tokens create 'ann b'",
            "token: 'ann b' cannot be its name; write up to 100 letters, digits, dots and dashes: deploy-bot",
        ),
        Mistake("onthedot calendars show de", "No calendar named 'de'.", code=1),
        Mistake(
            "onthedot calendars put de",
            "Invalid value for 'DAY': give days, --ics or --holidays, and one of them"
            " (see onthedot calendars put --help)",
        ),
        Mistake("onthedot calendars put de --ics gone.ics", "gone.ics: No such file or directory"),
        Mistake("onthedot calendars put de --holidays DE", "holidays_of: name the years; years=range(2026, 2030)"),
        Mistake(
            "onthedot calendars put de --holidays DE --year 1700", "holidays_of: 1700 is no year from 1970 to 2199"
        ),
        Mistake("onthedot calendars put de 25.12.2026", "calendar de: '25.12.2026' is no date; write \"2026-12-25\""),
        Mistake(
            "onthedot triggers put hourly 'every 1h except calendar de'",
            "trigger hourly: no calendar named 'de'. Put it first: app.calendars.put(\"de\", …), or onthedot calendars"
            " put.",
            code=1,
        ),
        Mistake("onthedot tokens revoke ann", "No token named 'ann'. `onthedot tokens list` shows them.", code=1),
        Mistake(
            "onthedot schedules pause --tag mial",
            "no schedule has the tag 'mial'; nothing was changed",
            code=1,
        ),
        Mistake(
            "onthedot schedules delete nightly",
            "Invalid value for '--yes': nobody can be asked here; add it to delete"
            " (see onthedot schedules delete --help)",
        ),
        Mistake(
            "onthedot schedules put job --task report",
            "Invalid value for '--cron' / '--every' / '--at' / '--trigger': one of them is needed"
            " (see onthedot schedules put --help)",
        ),
        Mistake(
            'onthedot schedules put job --task report --cron "0 25 * * *"',
            "hour: 25 is not 0-23 (column 3)",
        ),
        Mistake(
            "onthedot schedules put job --task report --every 15",
            '\'15\' lacks a unit; write it like "90s", "15m", "2h30m" or "1d"',
        ),
        Mistake(
            "onthedot schedules put job --task report --every 1h --option overlapp=discard",
            "job: no option 'overlapp'; did you mean overlap?",
        ),
        Mistake(
            "onthedot schedules put job --task report --every 1h --option grace",
            "Invalid value for '--option': 'grace' is not NAME=VALUE (see onthedot schedules put --help)",
        ),
        Mistake(
            """onthedot schedules put job --task report --every 1h --arg 'to={"a": '""",
            "Invalid value for '--arg': to begins as JSON and is none, at column 7: Expecting value;"
            " a text stands in quotes (see onthedot schedules put --help)",
        ),
        Mistake(
            "onthedot schedules trigger nightly --arg to=a --arg to=b",
            "Invalid value for '--arg': to is given twice (see onthedot schedules trigger --help)",
        ),
        Mistake(
            "onthedot schedules reschedule nightly tomorrow",
            "'tomorrow' is no moment; write it like 2026-12-24T18:00Z or 2026-12-24 18:00+01:00",
        ),
        Mistake(
            "onthedot freezes put xmas tomorrow 2027-01-02T00:00Z",
            "freeze xmas: start: 'tomorrow' is no moment; write it like 2026-12-24T18:00Z or 2026-12-24 18:00+01:00",
        ),
        Mistake(
            "onthedot runs show abc",
            "Invalid value for 'ID': 'abc' is too short; write at least 6 characters (see onthedot runs show --help)",
        ),
        Mistake("onthedot runs cancel abcdef", "No run abcdef; it never was, or its history has been pruned.", code=1),
        Mistake(
            "onthedot explain nightly 25:00",
            "Invalid value for 'MOMENT': '25:00' is no time of day (see onthedot explain --help)",
        ),
        Mistake("onthedot prune --history 0s", "history: 0s is too short"),
        Mistake(
            "onthedot run shop",
            "'shop' names no app; write it as module:attribute, such as myapp:app, or name a jobs.toml",
            files=SHOP,
        ),
        Mistake(
            "onthedot run shop.py",
            "shop.py: write it as module:attribute, such as myapp:app, or name a jobs.toml; did you mean shop:app?",
            files=SHOP,
        ),
        Mistake("onthedot run shop:ap", "shop:ap: module shop has no 'ap'; did you mean app?", files=SHOP),
        Mistake("onthedot run shop:rate", "shop:rate is a int, not an App; did you mean app?", files=SHOP),
        Mistake("onthedot run shp:app", "no module 'shp' in /srv or on Python's path", files=SHOP),
        Mistake(
            "onthedot run shop:app",
            "shop could not be imported: ValueError: no prices (shop.py:1)",
            files={"shop.py": 'raise ValueError("no prices")\n'},
            code=1,
        ),
        Mistake(
            "onthedot import all.json",
            "all.json: line 1, column 2: Expecting property name enclosed in double quotes;"
            " import takes what onthedot export wrote",
            files={"all.json": "{nope"},
        ),
        Mistake(
            "onthedot import all.json",
            "all.json: it is of version 9, and this onthedot reads 1; upgrade onthedot",
            files={"all.json": '{"onthedot": 9, "schedules": []}'},
        ),
        Mistake(
            "onthedot export -o all.json",
            "all.json is there already; name another file, or add --force",
            files={"all.json": "{}"},
        ),
    ),
)

SETTINGS = Section(
    "Settings",
    "",
    (
        Mistake(
            "ONTHEDOT_STOER=memory:// onthedot status",
            "ONTHEDOT_STOER: there is no such setting; did you mean ONTHEDOT_STORE?",
        ),
        Mistake(
            "ONTHEDOT_LEASE=30 onthedot status",
            'ONTHEDOT_LEASE: \'30\' lacks a unit; write it like "90s", "15m", "2h30m" or "1d"',
        ),
        Mistake("ONTHEDOT_WORKERS=many onthedot status", "ONTHEDOT_WORKERS: 'many' is not a whole number of 1 or more"),
        Mistake(
            "ONTHEDOT_HEARTBEAT=20s onthedot status",
            "ONTHEDOT_HEARTBEAT: a heartbeat of 20s is too slow for a lease of 30s;"
            " the lease must last two heartbeats or more",
        ),
        Mistake(
            "ONTHEDOT_ROLES=plan,dance onthedot status", "ONTHEDOT_ROLES: no role 'dance'; there are plan and execute"
        ),
        Mistake(
            "ONTHEDOT_TIMEZONE=Berlin onthedot status",
            "timezone: no time zone 'Berlin'; did you mean Europe/Berlin?",
        ),
        Mistake(
            "onthedot status",
            "onthedot.toml: no setting 'stroe'; did you mean store?",
            files={"onthedot.toml": 'stroe = "memory://"\n'},
        ),
        Mistake(
            "onthedot status",
            'onthedot.toml: lease: 30 is not text; write it like "30s"',
            files={"onthedot.toml": "lease = 30\n"},
        ),
        Mistake(
            "onthedot status",
            "onthedot.toml: Invalid value (at line 1, column 9)",
            files={"onthedot.toml": "lease = \n"},
        ),
        Mistake(
            "onthedot status",
            "pyproject.toml [tool.onthedot]: no setting 'stroe'; did you mean store?",
            files={"pyproject.toml": '[tool.onthedot]\nstroe = "memory://"\n'},
        ),
    ),
)
