"""Teaching a word by a few clicks."""
