"""Liu and Tang 2005."""
