"""`auto` and its rivals, calibration, teaching."""
