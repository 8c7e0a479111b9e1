"""From words to ranked images."""
