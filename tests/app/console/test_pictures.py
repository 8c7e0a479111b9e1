"""Photos in terminals: only where it is known how, and exactly the pixels."""

import base64
import io
import re
import zlib

import numpy as np
import pytest
from photo_folder import jpeg, put
from PIL import Image

from topicture.app.console.pictures import as_text, protocol_of_terminal
from topicture.app.verbs.browsing.small_pictures import SmallPictures


@pytest.mark.parametrize(
    ("environment", "protocol"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "iterm"),
        ({"TERM": "screen", "KITTY_WINDOW_ID": "1"}, None),
        ({"TERM": "xterm-kitty", "TMUX": "x"}, None),
        ({"TERM": "xterm-256color"}, None),
        ({"TERM": "dumb"}, None),
        ({}, None),
    ],
)
def test_terminals_are_known_by_what_they_say(environment, protocol):
    assert protocol_of_terminal(environment) == protocol


@pytest.fixture
def pixels(rng):
    blocks = rng.integers(0, 256, (4, 5, 3), dtype=np.uint8)
    return blocks.repeat(5, axis=0).repeat(6, axis=1)  # few colours, 20 x 30


def test_kitty_gets_the_pixels(pixels):
    parts = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", as_text(pixels, "kitty"))
    assert "s=30,v=20" in parts[0][0]
    assert parts[-1][0].endswith("m=0")
    data = zlib.decompress(base64.b64decode("".join(data for _, data in parts)))
    np.testing.assert_array_equal(np.frombuffer(data, np.uint8).reshape(20, 30, 3), pixels)


def test_iterm_gets_a_picture_file(pixels):
    text = as_text(pixels, "iterm")
    assert text.startswith("\x1b]1337;File=inline=1")
    assert Image.open(io.BytesIO(base64.b64decode(text.partition(":")[2][:-1]))).size == (30, 20)


def test_sixel_can_be_read_back(pixels):
    """Read as a terminal does: colours, runs, ends of lines and of bands."""
    text = as_text(pixels, "sixel")
    assert text.startswith("\x1bPq")
    assert text.endswith("\x1b\\")
    body = text[3:-2].partition("20")[2]  # behind the size
    colours = {}
    seen = np.full((24, 30, 3), -1)
    top = left = 0
    current = None
    for match in re.finditer(r"#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)(.)|([$-])|([?-~])", body):
        number, red, green, blue, chosen, times, repeated, end, single = match.groups()
        if number:
            colours[int(number)] = [int(red), int(green), int(blue)]
        elif chosen:
            current = colours[int(chosen)]
        elif end:
            left, top = 0, top + 6 * (end == "-")
        else:
            bits, n = ord(repeated or single) - 63, int(times or 1)
            for row in range(6):
                if bits >> row & 1:
                    assert (seen[top + row, left : left + n] == -1).all()
                    seen[top + row, left : left + n] = current
            left += n
    assert np.abs(seen[:20] - pixels / 2.55).max() <= 2
    assert (seen[20:] == -1).all()


def test_photos_are_made_small_by_a_worker(tmp_path):
    with SmallPictures() as small:
        assert small.pixels(str(put(tmp_path / "a.jpg", jpeg(1)))).shape == (24, 32, 3)
        assert small.pixels(str(put(tmp_path / "b.jpg", b"no picture"))) is None
