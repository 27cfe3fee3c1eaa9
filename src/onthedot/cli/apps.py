"""The app that a command works on: one that is loaded from a module, or one that only knows its store."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onthedot.errors import OnthedotError, SettingsError

if TYPE_CHECKING:
    from onthedot.app.app import App

_OURS = str(Path(__file__).parents[1])
_FORM = "write it as module:attribute, such as myapp:app, or name a jobs.toml"


def open_app(store: str | None) -> App:
    """An app without tasks of its own, for commands that need only the store."""
    from onthedot.app.app import App

    app = App(store)
    app.surface = "cli"
    return app


def load_app(text: str) -> App:
    """The app that `module:attribute` names, or one of a file: jobs.toml; the current folder is looked in first."""
    return _app_of_file(text) if is_file(text) else _app_of_module(text)


def is_file(text: str) -> bool:
    """Whether it is meant as a file of schedules."""
    return text.endswith(".toml")


def _app_of_file(path: str) -> App:
    from onthedot.app.app import App
    from onthedot.app.files import read_file

    job_file = read_file(path)
    if job_file.app is None:
        app = App(job_file.store, timezone=job_file.timezone)
    else:
        app = _app_of_module(job_file.app)
        app.override(url=job_file.store)
    app.load_file(path)
    app.surface = "cli"
    return app


def _app_of_module(text: str) -> App:
    from onthedot.app.app import App

    module_name, attribute = _split(text)
    sys.path.insert(0, str(Path.cwd()))
    found: Any = _import(module_name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise SettingsError(f"{text}: {_named(found)} has no {part!r}{_apps_in(found, App)}")
        found = getattr(found, part)
    if not isinstance(found, App):
        raise SettingsError(f"{text} is a {type(found).__name__}, not an App{_apps_in(sys.modules[module_name], App)}")
    for included in found.include:
        if "*" not in included:
            _import(included)
    found.surface = "cli"
    return found


def _split(text: str) -> tuple[str, str]:
    module, colon, attribute = text.partition(":")
    if Path(text).is_file() and not module.endswith(".py"):
        raise SettingsError(f"{text}: a crontab is run as a jobs.toml: onthedot import crontab {text} -o jobs.toml")
    if module.endswith(".py") or "/" in module:
        guess = module.removesuffix(".py").strip("./").replace("/", ".")
        raise SettingsError(f"{text}: {_FORM}; did you mean {guess}:{attribute or 'app'}?")
    if not colon or not attribute or not all(part.isidentifier() for part in f"{module}.{attribute}".split(".")):
        raise SettingsError(f"{text!r} names no app; {_FORM}")
    return module, attribute


def _import(name: str) -> Any:
    """The module; whatever goes wrong inside it is told in one line, with its place."""
    from onthedot.app.importing import StartedByImport, importing

    try:
        with importing():
            return importlib.import_module(name)
    except StartedByImport as error:
        raise SettingsError(f"{_place(error)}: {error}") from None
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise SettingsError(f"no module {error.name!r} in {Path.cwd()} or on Python's path") from None
        raise _failed(name, error) from None
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # SystemExit too: a script that ends itself is no app
        raise _failed(name, error) from None


def _failed(name: str, error: BaseException) -> OnthedotError:
    text = error.msg if isinstance(error, SyntaxError) else str(error)  # which would repeat the place
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return OnthedotError(f"{name} could not be imported: {said} ({_place(error)})")


def _place(error: BaseException) -> str:
    """The deepest line of the user's own code, where there is one."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{_short(error.filename)}:{error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    here = str(Path.cwd())
    own = [frame for frame in frames if frame.filename.startswith(here) and "site-packages" not in frame.filename]
    theirs = [frame for frame in frames if not frame.filename.startswith(_OURS)]
    frame = (own or theirs or frames)[-1]
    return f"{_short(frame.filename)}:{frame.lineno}"


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else filename


def _apps_in(module: Any, kind: type) -> str:
    names = (
        [name for name, value in vars(module).items() if isinstance(value, kind)] if hasattr(module, "__dict__") else []
    )
    return f"; did you mean {names[0]}?" if names else ""


def _named(thing: Any) -> str:
    return f"module {thing.__name__}" if isinstance(thing, type(sys)) else f"a {type(thing).__name__}"
