"""What happened, and why? Answered from the store alone."""
