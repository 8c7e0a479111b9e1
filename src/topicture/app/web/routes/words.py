"""Data of the page: words."""

from starlette.routing import Route

__all__ = ["ROUTES"]

ROUTES: list[Route] = []
