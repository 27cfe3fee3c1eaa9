"""The figures of a soak: what it was, its plots, and what is judged."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from bench.calm import MOST
from bench.plots import Axis, Line, Plot
from bench.report import Report
from bench.soak import judging
from bench.soak.judging import Growth, Windows
from bench.soak.sample import NodeSample, Recording, Sample

_MB = 2**20
_MINUTES = Axis("minutes")
_ASKED_ONCE = (
    "Asked of the last two minutes alone, with moments out of order by a tenth of a second at most. So decisions at "
    "the beginning of these minutes are judged without the runs that had ended just before, which are not read; and "
    "on a machine this busy a run may be seen to run by a planner some hundred milliseconds after its end was dated. "
    "Later soaks ask of all that is kept, and allow for a second."
)
"""What a record without a word on it was judged by."""


def report_of(recording: Recording) -> Report:
    """All of it."""
    about, samples = recording.about, recording.samples
    command = f"scripts/soak --hours {about['hours']:g} --store {about['store']}"
    report = Report(command, dict(about["machine"]))
    if about.get("note"):
        report.machine["beside it"] = about["note"]
    _warn(report, recording)
    _what(report, recording)
    _plots(report, samples)
    if len(samples) > 2:
        _judge(report, recording)
    return report


def _warn(report: Report, recording: Recording) -> None:
    others = [sample.others for sample in recording.samples]
    if others and statistics.fmean(others) > MOST:
        report.warnings.append(
            f"The machine was loaded: others used {statistics.fmean(others):.2f} of a core on the average and up to "
            f"{max(others):.2f}, so lateness is theirs as well. What grows, and what does not, is shown all the same."
        )
    planned_s = float(recording.about["hours"]) * 3600
    lasted_s = recording.samples[-1].at_s if recording.samples else 0.0
    if lasted_s < planned_s - 30:
        report.warnings.append(f"It was stopped after {lasted_s / 60:.0f} of {planned_s / 60:.0f} minutes.")


def _what(report: Report, recording: Recording) -> None:
    about, samples = recording.about, recording.samples
    section = report.section(
        f"{about['nodes']} nodes on {about['name']} for {about['hours']:g} h",
        f"{about['how']}. Processes with the settings of `onthedot run`. Each second {about['schedules']} schedules "
        "tick that may begin at once, and others with limits, pauses, and each rule of overlap; beside them retries, "
        "failures, a flow of seven steps every 5 s, a broadcast, commands, a function in a process of its own, lines "
        "of log, and another program that enqueues five runs a second, triggers, pauses and resumes. All that is old "
        f"is forgotten after {about['keep_ms'] / 60_000:g} minutes. Everything is looked at every ten seconds.",
        *("what", "in all", "median of ten seconds", "most of ten seconds"),
    )
    seconds = sum(sample.seconds for sample in samples) or 1.0
    rows: list[tuple[str, str, Callable[[Sample], float]]] = [
        ("runs ended a second", f"{sum(sample.done for sample in samples):,} runs", lambda s: s.done / s.seconds),
        ("p50 of lateness, ms", "", lambda s: s.late_p50_ms),
        ("p99 of lateness, ms", "", lambda s: s.late_p99_ms),
        ("most of lateness, ms", "", lambda s: s.late_max_ms),
        ("used by nodes, server and who asks, of a core", f"{_mean(samples, seconds, True):.2f}", lambda s: s.used),
        ("used by others, of a core", f"{_mean(samples, seconds, False):.2f}", lambda s: s.others),
    ]
    for name, in_all, of in rows:
        values = [of(sample) for sample in samples] or [0.0]
        section.rows.append((name, in_all, statistics.median(values), max(values)))
    ended = sorted({name for sample in samples for name in sample.ended})
    for name in ended:
        section.rows.append((f"runs that ended: {name}", f"{sum(s.ended.get(name, 0) for s in samples):,}", "", ""))


def _mean(samples: tuple[Sample, ...], seconds: float, own: bool) -> float:
    return sum((sample.used if own else sample.others) * sample.seconds for sample in samples) / seconds


# plots


def _plots(report: Report, samples: tuple[Sample, ...]) -> None:
    section = report.section("Over time", "Each point is one look; of the figures, every so many are in the tables.")
    tables = [name for name in samples[-1].rows if max(sample.rows.get(name, 0) for sample in samples) > 200]
    section.plots += [
        _by_node("memory", "Memory of each node", "MB", samples, lambda node: node.rss / _MB),
        _by_node("objects", "Memory blocks that Python has given out", "thousands", samples, lambda n: n.blocks / 1000),
        Plot(
            "handles",
            "File handles and threads of each node",
            _MINUTES,
            Axis("number"),
            (
                *_node_lines("handles", samples, lambda node: node.handles),
                *_node_lines("threads", samples, lambda node: node.threads),
            ),
        ),
        _plot("tables", "Rows of tables with more than 200", "rows", samples, {name: _rows(name) for name in tables}),
        _plot("store", "What the store takes on disk", "MB", samples, {"bytes on disk": lambda s: s.size / _MB}),
        Plot(
            "lateness",
            "How late plain ticks began",
            _MINUTES,
            Axis("ms, logarithmic", is_log=True),
            tuple(
                _line(name, samples, of)
                for name, of in (
                    ("p50", lambda s: max(s.late_p50_ms, 1.0)),
                    ("p99", lambda s: max(s.late_p99_ms, 1.0)),
                    ("most", lambda s: max(s.late_max_ms, 1.0)),
                )
            ),
        ),
        _plot("runs", "Runs that ended", "a second", samples, {"all nodes": lambda s: s.done / s.seconds}),
        _plot(
            "machine",
            "Who used the processors",
            "of one core",
            samples,
            {"the soak": lambda s: s.used, "others": lambda s: s.others, "load average, 1 min": lambda s: s.load},
        ),
    ]


def _rows(name: str) -> Callable[[Sample], float]:
    return lambda sample: sample.rows.get(name, 0)


def _plot(
    name: str, title: str, unit: str, samples: tuple[Sample, ...], lines: dict[str, Callable[[Sample], float]]
) -> Plot:
    return Plot(name, title, _MINUTES, Axis(unit), tuple(_line(each, samples, of) for each, of in lines.items()))


def _by_node(name: str, title: str, unit: str, samples: tuple[Sample, ...], of: Callable[[NodeSample], float]) -> Plot:
    return Plot(name, title, _MINUTES, Axis(unit), tuple(_node_lines("", samples, of)))


def _node_lines(what: str, samples: tuple[Sample, ...], of: Callable[[NodeSample], float]) -> list[Line]:
    count = len(samples[0].nodes) if samples else 0
    before = f"{what}, " if what else ""
    return [_line(f"{before}node {number + 1}", samples, _of(of, number)) for number in range(count)]


def _of(of: Callable[[NodeSample], float], number: int) -> Callable[[Sample], float]:
    return lambda sample: of(sample.nodes[number])


def _line(name: str, samples: tuple[Sample, ...], of: Callable[[Sample], float]) -> Line:
    return Line(name, tuple((sample.at_s / 60, of(sample)) for sample in samples))


# what is judged


def _judge(report: Report, recording: Recording) -> None:
    samples = recording.samples
    if samples[-1].at_s < judging.LEAST_S:
        report.warnings.append(
            f"Shorter than {judging.LEAST_S / 60:.0f} minutes: the first of them are warming up, and no figure of "
            "growth means much."
        )
    windows = Windows.of(samples)
    nodes, tables = judging.of_nodes(windows), judging.of_tables(windows)
    store = windows.grown("bytes on disk", lambda sample: sample.size)
    _growth_table(report, windows, nodes, [*tables, store])
    memory = max(nodes["memory"], key=lambda growth: growth.by)
    report.goal("memory of a node at the end: at most 10 % more", f"{memory.by:+.1%}", judging.is_flat(memory))
    report.goal("wanted: no more", f"{memory.by:+.1%}", memory.by <= 0.01)
    for kind in ("handles", "threads"):
        worst = max(nodes[kind], key=lambda growth: growth.by)
        said = f"{worst.before:.0f} and {worst.after:.0f}"
        report.goal(f"{kind} of a node are no more at the end", said, worst.after <= worst.before + 1)
    busier = judging.busier(windows)
    grown = [each.what for each in tables if not judging.is_flat_table(each, busier)]
    report.goal(
        "no table has more than 10 % more rows once retention holds (for as many runs)",
        f"{', '.join(grown)} grew" if grown else "none has",
        not grown,
    )
    report.goal("nor does the store take 10 % more on disk", f"{store.by:+.1%}", judging.is_flat(store))
    _verdict(report, recording)


def _verdict(report: Report, recording: Recording) -> None:
    """What was kept is in the page whole, not only whether it was."""
    first, *others = recording.end.get("verdict", ["not asked: it was killed"])
    section = report.section("What `onthedot verify` said", recording.end.get("asked", _ASKED_ONCE), "line by line")
    section.rows += [(line,) for line in (first, *others)]
    report.goal("`onthedot verify` at the end: no promise broken", first, "no promise" in first)


def _growth_table(report: Report, windows: Windows, nodes: dict[str, list[Growth]], store: list[Growth]) -> None:
    section = report.section(
        "What was there, and what is there",
        "Medians of five minutes after the first ten, and of the last five. Left out: what is kept for days "
        "however short history is, so that no hour can show it to be flat: keys of enqueued runs (30 days), statistics "
        "(a row for each hour) and counts of nodes (a row for each minute). What is kept is what ended of late: at the "
        f"end {judging.busier(windows):.2f} times as many runs did, and tables are judged for as many.",
        *("what", "after the first minutes", "at the end", "grown by"),
    )
    scale = {"memory": _MB, "bytes on disk": _MB}
    named = [
        (f"{kind}{' MB' if kind == 'memory' else ''}, {each.what}", kind, each)
        for kind in nodes
        for each in nodes[kind]
    ]
    named += [(_store_label(each.what), each.what, each) for each in store if each.before or each.after]
    for label, kind, each in named:
        by = scale.get(kind, 1)
        section.rows.append((label, each.before / by, each.after / by, f"{each.by:+.1%}"))


def _store_label(what: str) -> str:
    return "MB on disk" if what == "bytes on disk" else f"rows of {what}"
