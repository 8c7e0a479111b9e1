"""Coroutines in tests that may share their process with a browser, whose own event loop never ends."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

__all__ = ["run"]


def run(coroutine):
    """As asyncio.run, in a thread of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
