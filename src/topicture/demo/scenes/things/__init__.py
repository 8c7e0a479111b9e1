"""What the scenes are made of."""
