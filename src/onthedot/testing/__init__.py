"""For tests: a clock that stands still until it is told, and the suite that every store must pass."""
