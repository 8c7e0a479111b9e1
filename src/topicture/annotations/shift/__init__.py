"""Tagged photos are no random sample of a collection: how far the others are from them, and what that does."""
