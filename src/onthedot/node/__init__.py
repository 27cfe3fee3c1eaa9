"""One process's part: it reads ahead, plans, starts, keeps its lease, and takes over from the dead."""
