"""Mistakes in flows. `app` has the tasks `send(to: str, copies: int = 1)`, `tidy()` and `note(value)`."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake, Section

_NOT_KNOWN = "a flow is drawn before it runs, and note is not known yet"


def _drawn(lines: str, answered: str, above: str = "@app.flow") -> Mistake:
    body = "\n".join(f"    {line}" for line in lines.split("\n"))
    return Mistake(f"{above}\ndef etl(day='today'):\n{body}", answered)


def _built(lines: str, answered: str) -> Mistake:
    return Mistake(f"flow = app.flow('etl')\n{lines}", answered)


FLOWS = Section(
    "Flows",
    "A flow is drawn when it is declared, so all of it is refused there.",
    (
        _drawn(
            "if note(1): tidy()",
            f"{_NOT_KNOWN}: if, and, or, not; a step is left out by when=: task.options(when=…)(…)",
        ),
        _drawn(
            "if note(1)['rows'] > 0: tidy()",
            "a flow is drawn before it runs, and what is compared is not known yet: if, and, or, not;"
            " give it to a step: task.options(when=(a > 0) & (b > 0))(…)",
        ),
        _drawn("for each in note(1): send(each)", f"{_NOT_KNOWN}: for … in; one run for each item is task.map(…)"),
        _drawn("len(note(1))", f"{_NOT_KNOWN}: len(); let a step count it"),
        _drawn("note(1).rows", f'{_NOT_KNOWN}: .rows; a part of it is ["rows"]; let a step do the rest'),
        _drawn("note(1) + 1", f"{_NOT_KNOWN}: calculating with it; let a step do it"),
        _drawn(
            "send(f'{day}@example.org')",
            "a flow is drawn before it runs, and day is not known yet: a text of it;"
            " pass it on as an argument, and let the step write the text",
        ),
        _drawn("note(Mailer())", "flow 'etl': note: value: a Mailer is no JSON value, date, duration, UUID or Decimal"),
        _drawn("send(5)", "flow 'etl': send: task 'send': to must be str, not 5"),
        _drawn("send()", "flow 'etl': send: task 'send' needs to; add it to args"),
        _drawn(
            "send('a', subject='b')", "flow 'etl': send: task 'send' has no parameter 'subject'; it takes: to, copies"
        ),
        _drawn("send('a', 1, 2)", "flow 'etl': send: 3 arguments; it takes: to, copies"),
        _drawn(
            "note.map({'a': 1})",
            "flow 'etl': note: a map goes over a list, not over a dict; write list(d.items()) or list(d)",
        ),
        _drawn("note.map(5)", "flow 'etl': note: a map goes over a list, not over 5: what a step returns, or a list"),
        _drawn(
            "note.map(list(range(10_001)))",
            "flow 'etl': note: 10,001 items; a map has at most 10,000: give it batches of them",
        ),
        _drawn(
            "send.map(note(1)['to'])",
            "flow 'etl': send: a map goes over all that a step returns, not <note['to']>; let a step return that list",
        ),
        _drawn("tidy.map([1, 2])", "flow 'etl': tidy: it has no parameter left for the item of a map"),
        _drawn("note(item)", "flow 'etl': note: item is only known in a map: write note.map(…)"),
        _drawn(
            "tidy()\ntidy()",
            "flow 'etl': tidy: two steps have this name; give one another: task.options(name='tidy-2')(…)",
        ),
        _drawn(
            "for number in range(201): tidy.options(name=f'tidy-{number}')()",
            "flow 'etl' has 201 steps; the most is 200: map one step over a list, or call a flow in it",
        ),
        _drawn(
            "note('x' * 70_000)",
            "flow 'etl' has 70,101 bytes as JSON; the most is 65,536: keep what is large elsewhere and give its path"
            " or id",
        ),
        _drawn("tidy.options(retires=3)()", "flow 'etl': tidy: no option 'retires'; did you mean retries?"),
        _drawn("tidy.options(retries=-1)()", "flow 'etl': tidy: retries: -1 is less than 0"),
        _drawn(
            "tidy.options(overlap='discard')()",
            "flow 'etl': tidy: overlap belongs to the flow; give it to @app.flow or put",
        ),
        _drawn(
            "tidy.options(depends_on='nightly')()",
            "flow 'etl': tidy: depends_on belongs to the flow; give it to @app.flow or put",
        ),
        _drawn("tidy.options(on='fail')()", "flow 'etl': tidy: on: 'fail' is not known; did you mean failure?"),
        _drawn("tidy.options(on='any')()", "flow 'etl': tidy: on='any' joins branches; say which: after=[a, b]"),
        _drawn(
            "tidy.options(after=[tidy])()",
            "flow 'etl': tidy: after: tidy is a task; give what its call gave: a = tidy(…)",
        ),
        _drawn("tidy.options(after='load')()", "flow 'etl': tidy: after: there is no step 'load' in this flow"),
        _drawn(
            "tidy.options(when=True)()",
            "flow 'etl': tidy: when: True is known before anything runs; compare what a step returns:"
            " when=total['rows'] > 0",
        ),
        _drawn(
            "tidy.options(parallel=5)()",
            "flow 'etl': tidy: parallel= is for maps; write tidy.options(parallel=…).map(…)",
        ),
        _drawn(
            "note.options(parallel=0).map([1])", "flow 'etl': note: parallel: 0 is not a whole number from 1 to 1,000"
        ),
        _drawn(
            "tidy.options(route='broadcast')()",
            "flow 'etl': tidy: route='broadcast' is for tasks and schedules; a step runs once, or as a map",
        ),
        _drawn(
            "note(1).options()",
            f'{_NOT_KNOWN}: .options; a part of it is ["options"]; let a step do the rest',
        ),
        _drawn(
            "last = tidy.options(on='end')()\nnote.options(after=[last])(1)",
            "flow 'etl': note: tidy is a closing step, which begins when all others have ended; do both in one task",
        ),
        _drawn(
            "tidy.options(limit='db:4')()",
            "flow 'etl' and its step 'tidy' share the limit 'db': the step would wait for a place that the flow holds"
            " until it ends; give one of them another limit",
            "@app.flow(limit='db:4')",
        ),
        _drawn("pass", "flow 'etl' has no step; call a task in it"),
        _drawn(
            "return note(1)",
            "flow 'etl': it returns something, and a flow has no result of its own; leave out return,"
            " and read app.runs.get(id).steps",
        ),
        _drawn(
            "tidy()", "etl: retries belongs to the steps of a flow: task.options(retries=…)(…)", "@app.flow(retries=3)"
        ),
        _drawn("tidy()", "etl: tags belongs to a schedule; give it to @app.schedule or put", "@app.flow(tags=['a'])"),
        _drawn(
            "tidy()",
            "a task is named 'tidy' too: shop.py:18 and shop.py:27; give one a name=",
            "@app.flow(name='tidy')",
        ),
        Mistake(
            "@app.flow\ndef etl(ctx: Context): tidy()",
            "flow 'etl': a flow has no context, its tasks have; leave out ctx",
        ),
        Mistake(
            "@app.flow\ndef etl(*days): tidy()",
            "flow 'etl': name each argument of a flow; *args and **kwargs cannot be drawn",
        ),
        Mistake(
            "@app.flow\nasync def etl(): tidy()",
            "flow 'etl': write it as a plain def: it is called once, and only draws",
        ),
        Mistake(
            "@app.flow\ndef etl(): tidy()\netl()",
            "a flow is not called: app.enqueue(etl, args=…) begins one",
        ),
        Mistake(
            "tidy.options(retries=3)()",
            "tidy.options(…)(…) draws a step, and no flow is drawn here; write it below @app.flow,"
            " or call tidy(…), or app.enqueue(tidy)",
        ),
        _built(
            "flow.step(tidy, after='note'); flow.step(note, args={'value': 1}, after='tidy'); flow.graph",
            "flow 'etl': tidy and note wait for each other; take one after= out",
        ),
        _built(
            "flow.step(tidy)\napp.schedules.put('job', tidy, every('1h'), then=['etl'])",
            "job: then: etl is a flow; name a task, which may enqueue it",
        ),
        _built(
            "inner = app.flow('inner'); inner.step(tidy)\nflow.step(inner, when=flow.step(note, args={'value': 1}))",
            "flow 'etl': inner: when= is judged by the task of a step, and inner is a flow; let a task before it raise"
            " Skip: inner.options(after=[check()])(…)",
        ),
        _built(
            "inner = app.flow('inner'); inner.step(tidy)\nflow.step(inner, retries=3)",
            "flow 'etl': inner: retries is for tasks, and inner is a flow; give it to the steps of inner",
        ),
        _built("flow.step(flow)", "flow 'etl': a flow cannot be a step of itself"),
        _built(
            "flow.step(len)", "flow 'etl': the function len is no task; give its name, or what @app.task has made of it"
        ),
        _built("flow.step(note, args=[1])", "flow 'etl': args map parameter names to values: args={'day': …}"),
        _built("flow.map('far', [1])", "flow 'etl': far: say which argument gets the item: args={'path': item}"),
    ),
)
