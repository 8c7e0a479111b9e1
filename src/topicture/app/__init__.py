"""The verbs, and their command-line and web faces."""
