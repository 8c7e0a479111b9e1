"""From word probabilities to ranked words, measures and experiments."""
