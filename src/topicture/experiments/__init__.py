"""Experiments on public data sets: the five papers, the descriptors, and the automatic choice of a model."""
