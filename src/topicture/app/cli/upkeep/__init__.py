"""Commands that keep the collection in order."""
