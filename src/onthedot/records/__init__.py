"""WHAT HAPPENED? Outcomes, leases and takeovers, and the answer to "why did it (not) run?"."""
