"""Deciding on many suggestions: what is left, page by page, and what was decided so far."""
