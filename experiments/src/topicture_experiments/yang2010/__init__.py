"""Yang et al. 2010."""
