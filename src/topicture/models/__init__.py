"""One model, one file, one order; em.py holds the only EM loop."""
