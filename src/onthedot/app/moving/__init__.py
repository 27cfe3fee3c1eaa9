"""Schedules of other schedulers: read elsewhere, moved into a store of ours, or written as a program."""
