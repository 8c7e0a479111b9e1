"""What people decided: a log that only grows, its outcome, undo, conflicts with files."""
