"""Mistakes in a Flask program."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake, Section

_BEGIN = "from flask import Flask\nfrom onthedot.flask import Onthedot\nsite = Flask('shop')\n"

IN_FLASK = Section(
    "Flask",
    "",
    (
        Mistake(
            "from onthedot.flask import Onthedot\nOnthedot('sqlite:///jobs.db')",
            "Onthedot: 'sqlite:///jobs.db' is no Flask app; it takes one, and then a URL: Onthedot(flask_app, url)",
        ),
        Mistake(
            "from onthedot.flask import Onthedot\nOnthedot().init_app('shop')",
            "init_app: 'shop' is no Flask app; it takes one",
        ),
        Mistake(
            f"{_BEGIN}site.config['ONTHEDOT_URL'] = 'sqlite:///jobs.db'\nOnthedot(site)",
            "app.config has 'ONTHEDOT_URL', which onthedot does not know; there is 'ONTHEDOT_STORE'",
        ),
        Mistake(
            f"{_BEGIN}site.config['ONTHEDOT_STORE'] = 5\nOnthedot(site)",
            "app.config['ONTHEDOT_STORE'] is a URL, such as 'sqlite:///jobs.db', not 5",
        ),
        Mistake(
            f"{_BEGIN}site.config['ONTHEDOT_STORE'] = 'https://jobs.example'\nOnthedot(site)",
            "https://jobs.example is an HTTP API, not a database: an app with tasks of its own needs a database",
        ),
        Mistake(
            f"{_BEGIN}Onthedot(site)\nOnthedot(site)",
            "this Flask app has an Onthedot already: one is enough, and has all tasks",
        ),
    ),
)
