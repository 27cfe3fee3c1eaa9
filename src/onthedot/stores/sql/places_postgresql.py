"""Places of groups in the short way on PostgreSQL: whoever ends hands its place on to the foremost that waits for it.

So many hold places of a group afterwards as did before, or fewer; each place has one row, and one holder. Whether it
may be done so at all is looked at before anything is locked: nothing else that is due, or waits for these places, needs
more care, and the group is as wide as those say who end. The places of those who end are theirs, so nobody else changes
them; they are locked in the order of their keys, and the width after them, which may have changed while an end waited.
Who inherits a place is locked without waiting for anybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from onthedot.model.run import for_limit
from onthedot.stores.engine.limits import places_of, width_of
from onthedot.stores.plain import PlainStep
from onthedot.stores.sql.postgres_batches import array_literal

_GROUPS = (
    "SELECT * FROM unnest(CAST(:group_lanes AS text[]), CAST(:group_widths AS text[]), CAST(:group_most AS bigint[]),"
    " CAST(:group_ends AS bigint[])) AS groups (lane, width, most, ends)"
)
_LANE = "'limit' || regexp_replace(substr(key, 2), '/[0-9]+$', '')"
"""Where they wait for a place, of its key: of `l:mail/3` it is `limit:mail`."""


class Words(NamedTuple):
    """What the parts of such a statement are made of."""

    runs: str
    keys: str
    now_ms: str
    of_tasks: str
    """A condition on runs: the claim takes them."""
    due: str
    """Another: they are due, and wait for nothing."""

    @property
    def behind(self) -> str:
        """FROM and so on: the foremost that wait for places of a group, but for how many."""
        return f"FROM {self.runs} WHERE {self._waiting('0')} ORDER BY due_ms, id"

    def groups(self) -> str:
        """The part that all of these read."""
        return f"groups AS ({_GROUPS})"

    def _waiting(self, ranked: str) -> str:
        return f"state = 'waiting' AND lane = groups.lane AND ranked = {ranked} AND due_ms <= {self.now_ms}"

    @property
    def _is_as_wide(self) -> str:
        # The moment in other words, so that it is found by its key: not by the index of those that expire.
        return (
            "theirs.key = groups.width AND theirs.state = CAST(groups.most AS text)"
            f" AND COALESCE(theirs.expires_ms, 0) > {self.now_ms}"
        )

    def needs_care(self) -> Iterator[str]:
        """Conditions, each of which leaves the places of groups to the general way."""
        # One condition on a group, not three, and one of them no EXISTS: as joins, or hashed, they would read all that
        # waits. What has a priority in other words: else the index of levels would be taken, in which due moments do
        # not come first.
        yield (
            "EXISTS (SELECT 1 FROM groups WHERE"
            f" NOT EXISTS (SELECT 1 FROM {self.keys} AS theirs WHERE {self._is_as_wide})"
            f" OR (SELECT 1 FROM {self.runs} WHERE {self._waiting('(SELECT 1)')} LIMIT 1) IS NOT NULL"
            f" OR EXISTS (SELECT 1 FROM (SELECT plain, task, pool {self.behind} LIMIT groups.ends) AS foremost"
            f" WHERE foremost.plain <> groups.most OR ({self.of_tasks}) IS NOT TRUE))"
        )
        yield (
            "(SELECT count(*) + :ends > :most OR COALESCE(bool_or(plain = 0), FALSE) FROM"
            f" (SELECT plain FROM {self.runs} WHERE {self.due} ORDER BY due_ms, id LIMIT :most) AS foremost)"
        )

    def handing_on(self) -> list[str]:
        """The parts after those that end them and lock what is due: `behind` are those that inherit."""
        held = (
            f"SELECT key, {_LANE} AS lane FROM {self.keys} WHERE key = ANY(CAST(:place_keys AS text[]))"
            " AND CASE WHEN expires_ms IS NULL THEN run_id = ANY(ARRAY(SELECT id FROM ours)) ELSE FALSE END"
            " ORDER BY key FOR NO KEY UPDATE"
        )
        wide = (
            f"SELECT groups.lane, groups.most, (SELECT count(*) FROM held WHERE held.lane = groups.lane) AS ends"
            f" FROM groups JOIN {self.keys} AS theirs ON {self._is_as_wide} WHERE (SELECT count(*) FROM held) > 0"
            " ORDER BY theirs.key FOR SHARE OF theirs"
        )
        behind = (
            "SELECT heirs.id, groups.lane FROM wide AS groups CROSS JOIN LATERAL"
            f" (SELECT id, plain, task, pool {self.behind} LIMIT groups.ends FOR NO KEY UPDATE SKIP LOCKED) AS heirs"
            f" WHERE heirs.plain = groups.most AND ({self.of_tasks})"
            " AND NOT EXISTS (SELECT 1 FROM due WHERE plain = 0)"
        )
        turn = "row_number() OVER (PARTITION BY lane ORDER BY"
        handed = (
            f"SELECT free.key, heirs.id FROM (SELECT key, lane, {turn} key) AS turn FROM held) AS free"
            f" LEFT JOIN (SELECT id, lane, {turn} id) AS turn FROM behind) AS heirs USING (lane, turn)"
        )
        moved = (
            f"UPDATE {self.keys} AS theirs SET run_id = COALESCE(handed.id, theirs.run_id),"
            " expires_ms = CASE WHEN handed.id IS NULL THEN 1 END FROM handed WHERE theirs.key = handed.key"
        )
        parts = {"held": held, "wide": wide, "behind": behind, "handed": handed, "moved": moved}
        return [f"{name} AS ({part})" for name, part in parts.items()]


def values(asked: PlainStep) -> dict[str, Any]:
    """What these parts are given."""
    limits = sorted(asked.limits.items())
    groups = [(for_limit(group), width_of(group), most, ends) for (group, most), ends in limits]
    names = ("group_lanes", "group_widths", "group_most", "group_ends")
    arrays = {name: array_literal(column) for name, column in zip(names, zip(*groups, strict=True), strict=True)}
    places = [key for (group, most), _ in limits for key in places_of(group, most)]
    return {**arrays, "place_keys": array_literal(places), "ends": asked.limits.total()}


def set_aside(keys: str) -> str:
    """A part that gives back the places of runs that cannot be read."""
    return (
        f"UPDATE {keys} SET expires_ms = 1 WHERE key = ANY(CAST(:place_keys AS text[]))"
        " AND run_id = ANY(CAST(:ids AS text[]))"
    )
