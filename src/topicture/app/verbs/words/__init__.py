"""Verbs about words themselves: counts, names, places in the tree, policies, and what is confused with what."""
