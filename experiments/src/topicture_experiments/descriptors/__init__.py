"""Which descriptors tell most."""
