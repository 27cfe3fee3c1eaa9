"""What may be a task: every callable that can do work, under a name of its own or one that is given."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import date
from functools import lru_cache, partial
from typing import Any

import pytest

from onthedot import App, Conflict, Context, SettingsError, every


def greet(ctx: Context, greeting: str, name: str = "you", day: date | None = None) -> str:
    """Says hello."""
    return f"{greeting} {name} {ctx.attempt} {day!r}"


async def later(number: int, more: int = 1) -> int:
    return number + more


@lru_cache
def cached(number: int = 1) -> int:
    return number


class Mailer:
    """Does its work when it is called, or by its methods."""

    def __init__(self, to: str) -> None:
        self.to = to

    def send(self, subject: str = "news") -> str:
        return f"{subject} for {self.to}"

    def __call__(self, subject: str = "news") -> str:
        return f"{subject} for {self.to}"

    @classmethod
    def count(cls) -> int:
        return 1


class AsyncMailer:
    async def __call__(self, subject: str) -> str:
        return subject


@pytest.fixture
def app() -> App:
    return App("memory://")


def result_of(app: App, task: Any, **args: Any) -> Any:
    with app.running():
        run = app.runs.wait(app.enqueue(task, args=args or None).id)
    assert run.state == "succeeded", run.error
    return run.result


def refusal(app: App, function: Any, **options: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        app.task(**options)(function)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_partial_has_the_name_and_the_words_of_its_function(app: App) -> None:
    task = app.task(partial(greet, greeting="hello"))
    assert task.name == "greet"
    assert task.info().doc == "Says hello."
    assert [each["name"] for each in task.info().parameters] == ["greeting", "name", "day"]
    assert task.place.startswith(__file__)


def test_a_partial_gets_its_context_and_its_arguments_as_the_objects_they_are_annotated_as(app: App) -> None:
    task = app.task(name="hi")(partial(greet, greeting="hello"))
    assert result_of(app, task, day="2026-11-16") == "hello you 1 datetime.date(2026, 11, 16)"


def test_a_partial_of_an_async_function_is_awaited(app: App) -> None:
    assert result_of(app, app.task(partial(later, 3)), more=4) == 7


def test_a_partial_of_a_task_is_one_of_its_function(app: App) -> None:
    task = app.task(later)
    with pytest.raises(Conflict, match="two tasks are named 'later'"):
        app.task(partial(task, 3))
    assert result_of(app, app.task(name="later-3")(partial(task, 3)), more=4) == 7


def test_a_partial_may_be_a_task_for_a_process_and_keeps_what_it_was_given(app: App) -> None:
    task = app.task(name="six", pool="process")(partial(later, 5))
    assert result_of(app, task) == 6


@pytest.mark.parametrize(
    ("function", "name"),
    [(Mailer("you").send, "send"), (Mailer.count, "count"), (cached, "cached")],
    ids=["a bound method", "a class method", "a cached function"],
)
def test_methods_and_decorated_functions_have_their_own_names(app: App, function: Any, name: str) -> None:
    assert app.task(function).name == name


def test_a_bound_method_and_an_object_that_can_be_called_are_called(app: App) -> None:
    assert result_of(app, app.task(Mailer("you").send), subject="a") == "a for you"
    assert result_of(app, app.task(name="mail")(Mailer("me"))) == "news for me"
    assert result_of(app, app.task(name="later-mail")(AsyncMailer()), subject="b") == "b"


def test_a_local_function_and_a_lambda_with_a_name_are_called(app: App) -> None:
    def local() -> int:
        return 1

    assert result_of(app, app.task(local)) == 1
    assert result_of(app, app.task(name="two")(lambda: 2)) == 2


def test_what_has_no_name_is_called_as_its_schedule(app: App) -> None:
    task = app.schedule(every("1h"), name="tidy")(lambda: None)
    assert task.name == "tidy"


@pytest.mark.parametrize(
    "function", [lambda: None, Mailer("you"), partial(Mailer("you"), subject="x"), partial(lambda x: x, 1)]
)
def test_what_has_no_name_is_asked_for_one(app: App, function: Any) -> None:
    assert refusal(app, function).endswith(' has no name of its own; give it one: app.task(name="…")(…)')


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


def by_place(number: int, /) -> int:
    return number


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (None, "@app.task: None is no function"),
        ("report", "@app.task: 'report' is no function; to name a task write @app.task(name='report')"),
        (Mailer, "@app.task: Mailer is a class, and calling it does no work; give a method of an object, such as Mail"),
        (generator, "@app.task: generator has a yield, so that calling it does no work; return what came of it"),
        (async_generator, "@app.task: async_generator has a yield, so that calling it does no work; return what"),
        (Mailer.send, "@app.task: send is a method without its object; register that of an object: app.task(Mailer()."),
        (by_place, "@app.task: by_place takes number by its place only, and arguments have names; remove the / behind"),
        (max, "@app.task: nobody can tell what max takes; call it from a function of your own"),
    ],
    ids=lambda value: "" if isinstance(value, str) else getattr(value, "__name__", "None"),
)
def test_what_can_be_no_task_is_refused_where_it_is_declared(app: App, function: Any, said: str) -> None:
    assert refusal(app, function).startswith(said)


@pytest.mark.parametrize("function", [Mailer("you").send, Mailer("you"), lambda: None, partial(Mailer("you").send)])
def test_a_process_needs_what_it_can_import(app: App, function: Any) -> None:
    said = refusal(app, function, name="mail", pool="process")
    assert said == "'mail': pool='process' needs a function at the top of a module"


TWINS: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
    (lambda: partial(later, 1), lambda: partial(later, 2)),
    (lambda: Mailer("you").send, lambda: Mailer("me").send),
    (lambda: Mailer("you"), lambda: Mailer("me")),
    (
        lambda: lambda: 1,
        lambda: lambda: 2,
    ),
]


@pytest.mark.parametrize(("first", "second"), TWINS, ids=["partials", "methods", "objects", "lambdas"])
def test_two_callables_under_one_name_are_told_and_neither_is_lost(
    app: App, first: Callable[[], Any], second: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = first(), second()
    held = app.task(name="twin")(one)
    with pytest.raises(Conflict, match=r"two tasks are named 'twin': .*; give one of them a name="):
        app.task(name="twin")(other)
    assert app.tasks.lookup("twin") is held
    app.task(name="twin")(one)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    app.task(name="twin")(other)  # at a prompt the later counts


def test_partials_that_differ_in_the_middle_of_a_long_list_are_two_and_are_told_apart(app: App) -> None:
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    app.task(name="sum")(partial(total, [*range(50), 1, *range(50)]))
    with pytest.raises(Conflict, match=r"two tasks are named 'sum': .* with .* and .* with "):
        app.task(name="sum")(partial(total, [*range(50), 2, *range(50)]))
    app.task(name="other")(partial(later, 3))
    with pytest.raises(Conflict, match=r"\.py:\d+ with 3 and .*\.py:\d+ with more=4; give one"):
        app.task(name="other")(partial(later, more=4))
