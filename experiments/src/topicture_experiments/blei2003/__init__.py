"""Blei and Jordan 2003."""
