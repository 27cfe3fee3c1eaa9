"""Runs that are executed elsewhere: what an engine is, and who watches what was given to it."""
