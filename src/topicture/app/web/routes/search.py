"""Data of the page: search."""

from starlette.routing import Route

__all__ = ["ROUTES"]

ROUTES: list[Route] = []
