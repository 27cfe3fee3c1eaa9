"""HOW? Calling tasks, with a context, and telling how they ended."""
