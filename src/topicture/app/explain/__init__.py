"""What a learned model is and how far it can be trusted: as data, in sentences, as a page."""
