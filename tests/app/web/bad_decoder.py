"""A decoder for workers of tests: one photo kills it, one takes too long."""

import os
import time

from topicture.vision.thumbnails import Made


def crash_or_hang(wanted):
    if wanted.path.endswith("wide.jpg"):
        os.kill(os.getpid(), 11)
    if wanted.path.endswith("panorama.jpg"):
        time.sleep(60)
    return Made(b"\1" * 32, 3, 2, None, {"small": b"\xff\xd8\xff"})
