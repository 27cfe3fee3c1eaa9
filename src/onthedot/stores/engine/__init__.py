"""The law, kept once: every store that has transactions is this engine over its own `Transaction`.

engine      the methods of `Store`: each a transaction, and what is to be done after its commit
planning    lock what is due, ask what becomes of it, write that
starting    due runs become a node's own
finishing   outcomes
leases      joining, renewing, leaving, taking over
changing    schedules put, paused, deleted; enqueuing one-off runs; operating: cancel, retry
claiming    keys that stand for a value
rerouting   another node for what its node did not take
lookout     flows are told of ended steps, stopped, and moved on; flow_watch: which of them, and when
step_facts  what the runs of steps are made with
settling    the one place where runs end or wait again, with their slots, places and keys
waking      who waited behind what was freed
limits      the places of groups
freezing    freezes, and the walk that writes them into schedules
access      tokens and sessions of the HTTP API
"""

from onthedot.stores.engine.engine import Engine

__all__ = ["Engine"]
