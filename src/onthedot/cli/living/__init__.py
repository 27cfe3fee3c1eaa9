"""The living example: lively schedules on a SQLite file, nodes as processes, and a view of them in the terminal."""
