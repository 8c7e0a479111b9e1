"""The corpus: the one input of every model."""
