"""Whether somebody sits before the terminal."""

import sys

__all__ = ["is_terminal"]


def is_terminal(*streams: str) -> bool:
    """Whether all of these are a terminal, "stdin" and "stdout" unless named; a stream that was closed is None."""
    found = [getattr(sys, name) for name in streams or ("stdin", "stdout")]
    return all(stream is not None and stream.isatty() for stream in found)
