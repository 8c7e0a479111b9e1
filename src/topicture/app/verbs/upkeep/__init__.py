"""What keeps a collection in order: its settings, models that are no longer needed, photos that arrive."""
