"""Every decision, pure: what becomes of ticks and runs. Rules know values, and no store, clock or thread."""
