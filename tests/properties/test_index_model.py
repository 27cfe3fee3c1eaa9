"""The holder and its index against a naive sorted list."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from onthedot.forecast import IndexHolder, RunIndex

START = datetime(2026, 11, 15, tzinfo=UTC)
NAMES = ["delta", "alpha", "charlie", "bravo"]
SECONDS = st.integers(-5, 300)
RUNS = st.lists(st.tuples(SECONDS, st.integers(0, len(NAMES) - 1)), max_size=40)


def moment(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def make(runs: list[tuple[int, int]]) -> RunIndex:
    seconds = np.array([int(START.timestamp()) + second for second, _ in runs], np.int64)
    return RunIndex.from_arrays(seconds, np.array([number for _, number in runs], np.int64), NAMES)


class IndexModel(RuleBasedStateMachine):
    @initialize(runs=RUNS)
    def begin(self, runs: list[tuple[int, int]]) -> None:
        self.model = sorted((moment(second), NAMES[number]) for second, number in runs)
        self.holder = IndexHolder(make(runs))

    @rule(runs=RUNS)
    def swap(self, runs: list[tuple[int, int]]) -> None:
        held = self.holder.current
        before = list(self.model)
        assert self.holder.swap(make(runs)) is held
        assert [tuple(run) for run in held.query(moment(-10), moment(400))] == before
        self.model = sorted((moment(second), NAMES[number]) for second, number in runs)

    @rule(start=SECONDS, length=st.integers(0, 120))
    def query(self, start: int, length: int) -> None:
        found = self.holder.current.query(moment(start), moment(start + length))
        assert [tuple(run) for run in found] == [
            run for run in self.model if moment(start) <= run[0] < moment(start + length)
        ]

    @rule(bucket=st.integers(1, 90), count=st.integers(0, 5))
    def busiest(self, bucket: int, count: int) -> None:
        per_bucket = Counter(int(at.timestamp()) // bucket * bucket for at, _ in self.model)
        best = sorted(per_bucket.items(), key=lambda item: (-item[1], item[0]))[:count]
        found = self.holder.current.busiest(timedelta(seconds=bucket), count)
        assert [(int(busy.at.timestamp()), busy.runs) for busy in found] == best

    @rule(bucket=st.integers(1, 90), start=SECONDS, length=st.integers(1, 120))
    def counts(self, bucket: int, start: int, length: int) -> None:
        found = self.holder.current.counts(timedelta(seconds=bucket), moment(start), moment(start + length)).tolist()
        edges = [*range(start, start + length, bucket), start + length]
        pairs = itertools.pairwise(edges)
        assert found == [sum(moment(a) <= at < moment(b) for at, _ in self.model) for a, b in pairs]

    @invariant()
    def agrees(self) -> None:
        index = self.holder.current
        index._check()
        assert len(index) == len(self.model)
        assert index.peek() == (self.model[0] if self.model else None)
        assert index.per_name() == {name: sum(run[1] == name for run in self.model) for name in sorted(NAMES)}


IndexModel.TestCase.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
TestIndexModel = IndexModel.TestCase
