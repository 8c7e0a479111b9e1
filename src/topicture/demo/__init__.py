"""The sample collection, rendered by the package itself, and the demonstration on it."""
