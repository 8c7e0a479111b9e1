"""From pixels to numbers."""
