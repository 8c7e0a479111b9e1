"""What becomes of answers: suggestions, and the index that search reads."""
