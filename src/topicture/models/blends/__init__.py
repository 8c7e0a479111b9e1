"""`auto`: several models tried on hidden captions and blended."""
