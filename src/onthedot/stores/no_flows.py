"""What a store says that does not keep flows yet."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from onthedot.errors import StoreError
from onthedot.model.graph import Graph
from onthedot.model.run import Run
from onthedot.stores.transaction import StepRow


class NoFlows:
    """It has none, and takes none."""

    def graphs(self, hashes: Collection[str]) -> dict[str, Graph]:
        return {}

    def save_graphs(self, graphs: Sequence[Graph]) -> None:
        raise StoreError("this store keeps no flows yet")

    def steps_of(self, flow_ids: Collection[str]) -> list[StepRow]:
        return []

    def untold(self, limit: int, after: str = "") -> list[str]:
        return []

    def past_until(self, limit: int) -> list[Run]:
        return []
