"""Where, and at which moment? Brings what is due to the node that runs it."""
