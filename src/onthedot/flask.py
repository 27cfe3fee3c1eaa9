"""onthedot inside Flask: `jobs = Onthedot(flask_app)`. Needs the extra `flask`: pip install 'onthedot[flask]'."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Iterator, Mapping
from typing import Any

from onthedot.app.app import App
from onthedot.errors import ExtraMissing, OnthedotError, SchemaError, SettingsError
from onthedot.stores.base import Store
from onthedot.stores.open import mask_url

try:
    import click
    from flask import Flask, current_app, has_app_context
    from flask.cli import FlaskGroup, with_appcontext
    from flask.helpers import get_debug_flag
    from werkzeug.serving import is_running_from_reloader
except ImportError:
    raise ExtraMissing("onthedot.flask", "flask", "flask") from None

__all__ = ["Onthedot"]

_STORE = "ONTHEDOT_STORE"
_OF_AN_APP = ("run", "sync")
_NAME = "flask jobs"


class Onthedot(App):
    """An `App` whose runs happen inside the app context of a Flask app, with `flask jobs …` as its command line.

    `Onthedot(flask_app)`, or `Onthedot()` and later `init_app(flask_app)`. The store is `ONTHEDOT_STORE` of
    `flask_app.config`, unless a URL is given here.
    """

    def __init__(self, flask_app: Flask | None = None, url: str | None = None, **options: Any) -> None:
        if flask_app is not None:
            _check_app(flask_app, "Onthedot")
        super().__init__(url, **options)
        self._has_url = url is not None
        self._flask_app: Flask | None = None
        self.around(self._in_app_context)
        if flask_app is not None:
            self.init_app(flask_app)

    def init_app(self, flask_app: Flask) -> None:
        """For factories: what is declared on this object is run inside the context of this Flask app."""
        _check_app(flask_app, "init_app")
        store = _store_of(flask_app.config)
        if "onthedot" in flask_app.extensions:
            raise SettingsError("this Flask app has an Onthedot already: one is enough, and has all tasks")
        if store is not None and not self._has_url:
            self._go_to(store)
        self._flask_app = flask_app
        flask_app.extensions["onthedot"] = self
        flask_app.cli.add_command(_jobs)

    def _go_to(self, store: str) -> None:
        """Another Flask app of this process, as tests make one for each test, may have a store of its own."""
        if self._flask_app is not None and store != self.url:
            if self.runner is not None:
                raise SettingsError(f"a node runs on {mask_url(self.url)}; stop() it before init_app of another app")
            self.close()
        self.override(url=store)

    def open_store(self, *, create: bool = False, upgrade: bool = False) -> Store:
        """See `App.open_store`; where its tables are missing, the command that makes them is the one of Flask."""
        try:
            return super().open_store(create=create, upgrade=upgrade)
        except SchemaError as error:
            raise SchemaError(str(error).replace("`onthedot ", f"`{_NAME} ")) from None

    def start(self, *, loop: asyncio.AbstractEventLoop | None = None, log: bool = True) -> None:
        """Start a node in a process that serves, and drain it when the process ends.

        Does nothing in `flask` commands other than `run`, nor in the parent of the reloader: that would go on running
        the code of yesterday.
        """
        if _serves():
            super().start(loop=loop, log=log)
            atexit.register(self.stop)

    def _in_app_context(self) -> Iterator[None]:
        if self._flask_app is None:
            raise OnthedotError("Onthedot knows no Flask app: call init_app(flask_app) where that is made")
        with self._flask_app.app_context():
            yield


def _check_app(given: object, where: str) -> None:
    if not isinstance(given, Flask):
        url = ", and then a URL: Onthedot(flask_app, url)" if where == "Onthedot" else ""
        raise SettingsError(f"{where}: {given!r} is no Flask app; it takes one{url}")


def _store_of(config: Mapping[str, Any]) -> str | None:
    unknown = [key for key in config if key.startswith("ONTHEDOT_") and key != _STORE]
    if unknown:
        raise SettingsError(f"app.config has {unknown[0]!r}, which onthedot does not know; there is {_STORE!r}")
    store = config.get(_STORE)
    if store is None or isinstance(store, str):
        return store
    raise SettingsError(f"app.config[{_STORE!r}] is a URL, such as 'sqlite:///jobs.db', not {store!r}")


def _serves() -> bool:
    """Other servers may be commands of click as well, such as uvicorn: only those of Flask are told apart."""
    context = click.get_current_context(silent=True)
    if context is None or not isinstance(context.find_root().command, FlaskGroup):
        return True
    if context.info_name != "run":
        return False
    reload = context.params.get("reload")
    return is_running_from_reloader() or not (get_debug_flag() if reload is None else reload)


@click.command("jobs", context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
@with_appcontext
def _jobs(context: click.Context, words: tuple[str, ...]) -> None:
    """The command line of onthedot: run, status, schedules, runs, explain and all others."""
    from onthedot.cli import main

    jobs: Onthedot = current_app.extensions["onthedot"]
    given = list(words)
    if given and given[0] in _OF_AN_APP and not {"-h", "--help"} & set(given):
        given.insert(1, f"{__name__}:app")
    context.exit(main(given, name=_NAME, store=jobs.url))


def __getattr__(name: str) -> Any:
    """`onthedot.flask:app` is the one of the Flask app at hand: for `flask jobs run`."""
    if name == "app" and has_app_context():
        return current_app.extensions["onthedot"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
