"""Questions that `review` asks: which are drawn at random, and what their answers are worth."""
