"""Commands that look at photos and at what was learned."""
