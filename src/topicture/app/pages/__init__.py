"""HTML pages from templates."""
