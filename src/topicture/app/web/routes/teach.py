"""Data of the page: teach."""

from starlette.routing import Route

__all__ = ["ROUTES"]

ROUTES: list[Route] = []
