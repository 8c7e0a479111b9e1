"""The catalog and what it keeps."""
