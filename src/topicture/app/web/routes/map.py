"""Data of the page: map."""

from starlette.routing import Route

__all__ = ["ROUTES"]

ROUTES: list[Route] = []
