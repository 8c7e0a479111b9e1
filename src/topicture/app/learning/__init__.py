"""Learning from a collection and suggesting for it: training tags, models on disk, answers."""
