"""Commands that put on record what people decide, and take it back."""
