"""Shao et al. 2009 and 2010."""
