"""The app of a Django project: on one of its databases, or on a store of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

from django.conf import settings as django_settings
from django.db import transaction

import django
from onthedot.app.app import App
from onthedot.app.tasks import Task
from onthedot.app.templates import Each
from onthedot.django.conf import SiteSettings, read_settings
from onthedot.django.databases import is_in_memory, url_of
from onthedot.django.idle import IdleConnections
from onthedot.django.scheduled_tasks import as_function, is_django_task, scheduled_task, through_its_backend
from onthedot.django.store import SiteStore, waits_for_commit
from onthedot.errors import SettingsError
from onthedot.execution.around import around_of
from onthedot.execution.capture import in_children
from onthedot.model.run import Run
from onthedot.stores.base import Store
from onthedot.stores.engine import Engine
from onthedot.triggers.base import Trigger

P = ParamSpec("P")
R = TypeVar("R")
AroundT = TypeVar("AroundT", bound=Callable[..., Any])


class SiteApp(App):
    """`onthedot.django.app`. With an alias of a database, what is asked for inside `atomic` there is a part of it."""

    def __init__(self, site: SiteSettings, problem: SettingsError | None = None) -> None:
        self.site = site
        self._problem: SettingsError | None = None
        self._alias = site.alias
        self._url = "" if site.alias is not None else site.store
        super().__init__(
            url_of(site.alias) if site.alias is not None else site.store,
            timezone=django_settings.TIME_ZONE,
            **site.defaults,
        )
        self._problem = problem
        self._site_store = None if self._alias is None else SiteStore(self._alias, self._wake_node)
        self._idle = IdleConnections()
        self._arounds.append(around_of(self._idle.around))
        self._async_arounds = [around_of(self._idle.around_async)]
        if django.setup not in in_children:  # a process for a task knows no Django yet
            in_children.append(django.setup)

    @classmethod
    def of_settings(cls) -> SiteApp:
        """By the setting `ONTHEDOT`. Where that is wrong, it can be declared on, and says so when it is used."""
        try:
            return cls(read_settings())
        except SettingsError as error:
            return cls(SiteSettings("memory://"), error)

    # the store

    @property
    def url(self) -> str:
        """Where nodes find the store."""
        self._refuse_wrong_settings()
        return self._url if self._alias is None else url_of(self._alias)

    @url.setter
    def url(self, url: str) -> None:
        if self._alias is None or url != url_of(self._alias):
            self._alias, self._url = None, url  # the command line says where

    def open_store(self, *, create: bool = False, upgrade: bool = False) -> Store:
        """Django's own connection; in a process with a node that node's, unless inside a transaction of Django's."""
        self._refuse_wrong_settings()
        site = self._site_store
        if self._alias is None or site is None or self._given_store is not None:
            return super().open_store(create=create, upgrade=upgrade)
        if create or upgrade or (self._store is not None and not site.is_inside):
            return self._open_for_node(create=create, upgrade=upgrade)
        return site.ready()

    def _refuse_wrong_settings(self) -> None:
        if self._problem is not None:
            raise SettingsError(str(self._problem))  # a new one each time: it gets the traceback of where it is raised

    def _open_for_node(self, *, create: bool, upgrade: bool) -> Store:
        assert self._alias is not None
        if is_in_memory(self._alias):
            raise SettingsError(
                f"the database {self._alias!r} is SQLite's in memory, which no node can share; give it a file"
                f" (in tests: DATABASES[{self._alias!r}]['TEST'] = {{'NAME': 'test.sqlite3'}})"
            )
        return super().open_store(create=create, upgrade=upgrade)

    def _wake_node(self) -> bool:
        """Whether a node in this process was told that something is due."""
        store = self._store
        if self._runner is None or not isinstance(store, Engine):
            return False
        store.notify()
        return True

    def stop(self) -> bool:
        """Drain and stop the node, and let go of its connections: a test database could not be dropped else."""
        has_node = self.runner is not None
        try:
            return super().stop()
        finally:
            if has_node:
                self._idle.close()
            if self._alias is not None:
                self.close()

    def after_fork(self) -> None:
        """See `App.after_fork`."""
        super().after_fork()
        self._idle.after_fork()

    # declaring

    @property
    def alias(self) -> str | None:
        """The database of the project that is the store; None where that is a URL."""
        return self._alias

    def around(self, generator: AroundT) -> AroundT:
        """Call the generator around every run: see `App.around`."""
        self._async_arounds.append(around_of(generator))
        return super().around(generator)

    def _task(
        self,
        function: Callable[P, R] | Task[P, R],
        name: str | None,
        aliases: Sequence[str],
        options: Mapping[str, Any],
    ) -> Task[P, R]:
        task = super()._task(function, name, aliases, options)
        if task.is_async:
            task.arounds = self._async_arounds
        return task

    def schedule(
        self,
        trigger: Trigger,
        *,
        name: str | None = None,
        args: Mapping[str, Any] | None = None,
        each: Each | None = None,
        **options: Any,
    ) -> Callable[[Any], Any]:
        """Declare a schedule for a function, or for a task of Django's, above or below its `@task`.

        What it gives can be called as the function was; a task of Django's stays what it is.
        """

        def declare(function: Any) -> Any:
            declared = super(SiteApp, self).schedule
            if is_django_task(function):
                task = scheduled_task(self, function)
                declared(trigger, name=name or function.name, args=args, each=each, **options)(task)
                return function
            held = getattr(function, "onthedot_task", function)
            work = held if isinstance(held, Task) else through_its_backend(held)
            task = declared(trigger, name=name, args=args, each=each, **options)(work)
            return as_function(task, held) if held is function else function

        return declare

    # one-off work

    def _enqueue(self, store: Store, run: Run, connection: Any) -> Run:
        """In Django's transaction where the store is that database; else after the commit. Either gives the run."""
        waits = None if connection is not None or self._stands_elsewhere else waits_for_commit(self._alias)
        if waits is None:
            return super()._enqueue(store, run, connection)
        keep = partial(super()._enqueue, store, run, None)
        transaction.on_commit(keep, using=waits)
        return run
