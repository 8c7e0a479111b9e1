"""Held-out answers and what is decided by them: models, settings, calibration."""
