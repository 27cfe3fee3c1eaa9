"""Flows: a function that is called once, when it is declared, and draws which tasks follow which."""

from onthedot.app.flows.references import item

__all__ = ["item"]
