"""What a terminal shows: progress, tables, lines."""
