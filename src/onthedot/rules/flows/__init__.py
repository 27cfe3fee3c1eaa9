"""Flows: what becomes of a flow and its steps. Pure; who calls holds the flow's row.

judging    which steps are made, skipped or have their verdict, and how the flow ends
telling    ended steps go into the ledger; what a request to stop asks of the steps
making     the runs of steps
retrying   a flow, or one of its steps, once more
broadcasting  a flow over nodes
"""
