"""Data of the page: review."""

from starlette.routing import Route

__all__ = ["ROUTES"]

ROUTES: list[Route] = []
