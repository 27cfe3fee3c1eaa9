"""TimeRing against a naive list, under random operations, stalls and a clock that steps both ways."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from onthedot.node.ring import Hint, TimeRing

keys = st.integers(0, 12)
priorities = st.integers(-1, 1)
# Milliseconds from now: near ones that meet, whole turns of the ring around them, and anything up to a week, both ways.
near = st.sampled_from([-1000, -1, 0, 1, 300, 999, 1000, 5000])
turns = st.builds(lambda turn, ms: turn * 60_000 + ms, st.integers(-3, 3), near)
offsets = near | turns | st.integers(-604_800_000, 604_800_000)


class RingModel(RuleBasedStateMachine):
    """The model is a list of hints in the order in which they were put."""

    def __init__(self) -> None:
        super().__init__()
        self.ring: TimeRing[int] = TimeRing()
        self.model: list[Hint[int]] = []
        self.now_ms = 1_790_000_000_000

    def forget(self, key: int) -> bool:
        """Take a key out of the model; say whether it was there."""
        before = len(self.model)
        self.model = [hint for hint in self.model if hint.key != key]
        return len(self.model) < before

    def put(self, hint: Hint[int]) -> None:
        self.ring.put(hint.key, hint.moment_ms, hint.priority)
        if hint not in self.model:
            self.forget(hint.key)
            self.model.append(hint)

    @rule(key=keys, offset=offsets, priority=priorities)
    def put_anywhere(self, key: int, offset: int, priority: int) -> None:
        self.put(Hint(self.now_ms + offset, priority, key))

    @precondition(lambda self: self.model)
    @rule(key=keys, priority=priorities, chosen=st.integers(0, 12))
    def put_beside_another(self, key: int, priority: int, chosen: int) -> None:
        self.put(Hint(self.model[chosen % len(self.model)].moment_ms, priority, key))

    @precondition(lambda self: self.model)
    @rule(chosen=st.integers(0, 12))
    def put_the_same_again(self, chosen: int) -> None:
        self.put(self.model[chosen % len(self.model)])

    @rule(key=keys)
    def remove(self, key: int) -> None:
        assert self.ring.remove(key) == self.forget(key)

    @rule(step=offsets)
    def the_clock_moves_and_the_ring_is_drained(self, step: int) -> None:
        self.now_ms += step
        self.drain()

    @rule()
    def the_clock_moves_to_the_earliest_moment(self) -> None:
        """As the loop does: it waits for peek(), and just before that nothing may come out."""
        moment_ms = self.ring.peek()
        if moment_ms is not None:
            assert self.ring.due(moment_ms - 1) == []
            self.now_ms = moment_ms
            self.drain()

    @rule()
    def drain(self) -> None:
        due = [hint for hint in self.model if hint.moment_ms <= self.now_ms]
        assert self.ring.due(self.now_ms) == sorted(due, key=lambda hint: (hint.moment_ms, -hint.priority))
        self.model = [hint for hint in self.model if hint.moment_ms > self.now_ms]

    @invariant()
    def agrees(self) -> None:
        self.ring._check()
        assert len(self.ring) == len(self.model)
        assert self.ring.peek() == min((hint.moment_ms for hint in self.model), default=None)
        assert all(hint.key in self.ring for hint in self.model)


TestRingModel = RingModel.TestCase
TestRingModel.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
