"""Data of the page: learning."""

from starlette.routing import Route

__all__ = ["ROUTES"]

ROUTES: list[Route] = []
