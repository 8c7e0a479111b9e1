"""The data behind the pages, one file per page."""
