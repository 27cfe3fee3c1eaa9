"""IndexedHeap against a naive list, under random operations."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from onthedot.heap import IndexedHeap

keys = st.integers(0, 12)
moments = st.integers(-5, 5) | st.integers(-(2**70), 2**70)  # the small ones meet often


class HeapModel(RuleBasedStateMachine):
    """The model is a list of (key, moment) in the order of pushing and updating."""

    def __init__(self) -> None:
        super().__init__()
        self.heap: IndexedHeap[int] = IndexedHeap()
        self.model: list[tuple[int, int]] = []

    def in_order(self) -> list[tuple[int, int]]:
        return sorted(self.model, key=lambda entry: entry[1])

    def forget(self, key: int) -> int | None:
        """Take a key out of the model and return its moment, or None if it was not there."""
        moment = dict(self.model).get(key)
        self.model = [entry for entry in self.model if entry[0] != key]
        return moment

    @rule(key=keys, moment=moments)
    def push(self, key: int, moment: int) -> None:
        try:
            self.heap.push(key, moment)
        except ValueError:
            assert key in dict(self.model)
        else:
            assert key not in dict(self.model)
            self.model.append((key, moment))

    @rule(key=keys, moment=moments)
    def update(self, key: int, moment: int) -> None:
        try:
            self.heap.update(key, moment)
        except KeyError:
            assert key not in dict(self.model)
        else:
            assert self.forget(key) is not None
            self.model.append((key, moment))

    @rule(key=keys)
    def remove(self, key: int) -> None:
        try:
            removed: int | None = self.heap.remove(key)
        except KeyError:
            removed = None
        assert removed == self.forget(key)

    @precondition(lambda self: self.model)
    @rule()
    def pop(self) -> None:
        first = self.in_order()[0]
        assert self.heap.pop() == first
        self.model.remove(first)

    @rule(now=moments)
    def pop_due(self, now: int) -> None:
        assert sorted(self.heap.due(now)) == sorted(entry for entry in self.in_order() if entry[1] <= now)
        assert self.heap.pop_due(now) == [entry for entry in self.in_order() if entry[1] <= now]
        self.model = [entry for entry in self.model if entry[1] > now]

    @invariant()
    def agrees(self) -> None:
        self.heap._check()
        assert self.heap.peek() == next(iter(self.in_order()), None)
        assert len(self.heap) == len(self.model)
        assert {key: self.heap.moment_of(key) for key in self.heap} == dict(self.model)

    def teardown(self) -> None:
        assert [self.heap.pop() for _ in range(len(self.heap))] == self.in_order()


TestHeapModel = HeapModel.TestCase
TestHeapModel.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
