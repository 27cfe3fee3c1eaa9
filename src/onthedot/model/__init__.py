"""Frozen values: what a schedule, a run, a node and a decision are. They know no store and no clock."""
