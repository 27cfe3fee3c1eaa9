"""Nodes under a steady load for hours: what grows, and what should not. `scripts/soak` runs it.

load        what the nodes do, and what is asked of them from outside
node        one of the processes
sizes       how much the store holds
sample      what is looked at every ten seconds
soaking     the hours themselves
judging     whether anything grew that should not
page        the figures, with plots
"""
