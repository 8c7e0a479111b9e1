"""Data of the page: photos."""

from starlette.routing import Route

__all__ = ["ROUTES"]

ROUTES: list[Route] = []
