"""Fuzzing guided by coverage, where Atheris is installed (pip install atheris).

    python -m fuzz.with_atheris TARGET [OPTIONS]

Options are libFuzzer's, as in -runs=100000 or -max_total_time=600. It sees which inputs reach new lines, and may find
what our own mutator misses; it is worth most for the plain readers of bytes.
"""

import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

from fuzz.__main__ import CORPUS, target_of


def main() -> None:
    name, *options = sys.argv[1:]
    seeds = CORPUS / name
    with tempfile.TemporaryDirectory() as new, tempfile.TemporaryDirectory() as scratch:
        with atheris.instrument_imports(include=["topicture"]):
            target = target_of(name, Path(scratch))
        from topicture.errors import TopictureError

        def use(content: bytes) -> None:
            with contextlib.suppress(TopictureError, *target.allowed):
                target.use(content)

        folders = [new, *([str(seeds)] if seeds.is_dir() else [])]
        atheris.Setup(["fuzz", "-rss_limit_mb=1024", "-timeout=5", *options, *folders], use)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
