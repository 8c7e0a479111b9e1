"""What people use instead: word frequencies, neighbours, regressions, networks."""
