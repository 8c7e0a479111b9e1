"""Small pictures for the pages."""
