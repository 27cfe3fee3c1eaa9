"""The name under which users import the heap; it lives below, where the stores can use it too."""

from onthedot.heap import IndexedHeap

__all__ = ["IndexedHeap"]
