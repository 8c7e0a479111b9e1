"""Measures of annotation quality, and the protocols of the literature."""
