"""Photos in the terminals that can show them: kitty's protocol, iTerm2's, or sixel; nothing where none is known."""

import base64
import io
import os
import re
import select
import sys
import zlib
from collections.abc import Mapping

import numpy as np
from PIL import Image

from topicture.app.console.terminal import is_terminal

__all__ = ["as_text", "protocol_of_terminal"]

CHUNK = 4096  # characters that kitty takes at once
COLOURS = 128  # of a sixel picture
ROWS = 16  # of the terminal that a picture takes
ATTRIBUTES = re.compile(rb"\x1b\[\?([\d;]+)c")


def protocol_of_terminal(environment: Mapping[str, str] | None = None, *, ask: bool = True) -> str | None:
    """How the terminal shows pictures: "kitty", "iterm", "sixel", or None.

    Kitty and iTerm2 say who they are; of others it is asked whether they know sixel, where one sits before them.
    """
    told = os.environ if environment is None else environment
    term, program = told.get("TERM", ""), told.get("TERM_PROGRAM", "")
    if not (
        "TMUX" in told or term.startswith(("screen", "tmux", "dumb"))
    ):  # in between, nothing would arrive
        if term == "xterm-kitty" or "KITTY_WINDOW_ID" in told or program == "ghostty":
            return "kitty"
        if program in ("iTerm.app", "WezTerm") or told.get("LC_TERMINAL") == "iTerm2":
            return "iterm"
    return "sixel" if ask and term != "dumb" and _knows_sixel() else None


def _knows_sixel(timeout: float = 0.3) -> bool:
    """Ask the terminal for its attributes; 4 among them is sixel."""
    try:
        import termios
        import tty

        if not is_terminal():
            return False
        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
    except (ImportError, OSError, ValueError, AttributeError):  # Windows, or no terminal after all
        return False
    answer = b""
    try:
        tty.setcbreak(keyboard)
        sys.stdout.write("\x1b[c")
        sys.stdout.flush()
        while not answer.endswith(b"c") and select.select([keyboard], [], [], timeout)[0]:
            answer += os.read(keyboard, 64)
    except OSError:
        return False
    finally:
        termios.tcsetattr(keyboard, termios.TCSANOW, before)
    found = ATTRIBUTES.search(answer)
    return found is not None and b"4" in found[1].split(b";")


def as_text(pixels: np.ndarray, protocol: str) -> str:
    """What to print so that a picture, uint8 (H, W, 3), appears."""
    return {"kitty": _kitty, "iterm": _iterm, "sixel": _sixel}[protocol](pixels)


def _kitty(pixels: np.ndarray) -> str:
    height, width, _ = pixels.shape
    data = base64.standard_b64encode(zlib.compress(pixels.tobytes())).decode("ascii")
    parts = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]
    text = []
    for number, part in enumerate(parts):
        first = f"a=T,f=24,o=z,s={width},v={height},r={ROWS},q=2," if number == 0 else ""
        text.append(f"\x1b_G{first}m={int(number + 1 < len(parts))};{part}\x1b\\")
    return "".join(text)


def _iterm(pixels: np.ndarray) -> str:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=85)
    content = stream.getvalue()
    data = base64.standard_b64encode(content).decode("ascii")
    return f"\x1b]1337;File=inline=1;size={len(content)};height={ROWS};preserveAspectRatio=1:{data}\a"


def _sixel(pixels: np.ndarray) -> str:
    """Bands of six rows; in each band every colour paints its own pixels, runs of the same six bits counted."""
    image = Image.fromarray(pixels)
    image.thumbnail((20 * ROWS * 2, 20 * ROWS))  # a line of text is about twenty pixels high
    flat = image.quantize(COLOURS)
    indices = np.asarray(flat)
    height, width = indices.shape
    palette = np.asarray(flat.getpalette(), np.int64).reshape(-1, 3)
    parts = [f'\x1bPq"1;1;{width};{height}']
    for number in np.unique(indices).tolist():
        red, green, blue = (palette[number] * 100 // 255).tolist()
        parts.append(f"#{number};2;{red};{green};{blue}")
    for top in range(0, height, 6):
        band = indices[top : top + 6]
        weights = 1 << np.arange(len(band))
        lines = [
            f"#{number}" + _runs(((band == number) * weights[:, None]).sum(axis=0) + 63)
            for number in np.unique(band).tolist()
        ]
        parts.append("$".join(lines) + "-")
    return "".join(parts) + "\x1b\\"


def _runs(codes: np.ndarray) -> str:
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    lengths = np.diff(starts, append=len(codes))
    pairs = zip(codes[starts].tolist(), lengths.tolist(), strict=True)
    return "".join(f"!{n}{chr(code)}" if n > 3 else chr(code) * n for code, n in pairs)
