"""Descriptors of pictures and regions, and the way from them to the numbers of a corpus."""
