"""What keeps a catalog whole: its lock, its own files, its root, copies, checks."""
