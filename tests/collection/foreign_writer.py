"""Another program and Topicture write the same sidecars at the same time: does a keyword of the other get lost?

    python foreign_writer.py WORK WRITES [SIDECARS]

exiftool adds a keyword of its own with every write, sidecar after sidecar; a second process writes and takes back words
of ours in the same sidecars as fast as it can. Prints JSON: the keywords that exiftool reported as written and that are
no longer there, and how much each side has done.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from photo_files import photo, subject

from topicture.collection.metadata.keywords import photo_keywords
from topicture.collection.sidecar.write import SidecarError, Tag, sidecar_path, write_sidecar


def write_ours(pictures, stop):
    """Words in, words out, until a file says stop; prints how many writes, and how many were given up."""
    turn = written = given_up = 0
    while not stop.exists():
        word = f"ours-{turn % 7}"
        for picture in pictures:
            try:
                written += write_sidecar(picture, add=[Tag(word)]).changed
                written += write_sidecar(picture, remove=[word]).changed
            except SidecarError:
                given_up += 1
        turn += 1
    print(json.dumps({"ours": written, "given_up": given_up}))


class Exiftool:
    """An exiftool that stays open between commands."""

    def __init__(self):
        self._process = subprocess.Popen(
            ["exiftool", "-stay_open", "True", "-@", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def add(self, word, path):
        """Whether it says that it has written the keyword."""
        command = f"-overwrite_original\n-XMP-dc:Subject+={word}\n{path}\n-execute\n"
        self._process.stdin.write(command)
        self._process.stdin.flush()
        answer = ""
        while (line := self._process.stdout.readline()) not in ("{ready}\n", ""):
            answer += line
        return "1 image files updated" in answer

    def close(self):
        self._process.communicate("-stay_open\nFalse\n", timeout=30)


def main():
    work, writes = Path(sys.argv[1]), int(sys.argv[2])
    n_sidecars = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    pictures = [work / f"{number}.jpg" for number in range(n_sidecars)]
    stop = work / "stop"
    if sys.argv[4:] == ["ours"]:
        write_ours(pictures, stop)
        return
    work.mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        sidecar_path(photo(picture)).write_bytes(subject("theirs"))
    start = time.perf_counter()
    ours = subprocess.Popen(
        [sys.executable, __file__, str(work), "0", str(n_sidecars), "ours"], stdout=subprocess.PIPE
    )
    exiftool = Exiftool()
    try:
        acknowledged = [
            (picture, f"foreign-{number}")
            for number in range(writes)
            if exiftool.add(f"foreign-{number}", sidecar_path(picture := pictures[number % n_sidecars]))
        ]
    finally:
        exiftool.close()
        stop.touch()
        told = json.loads(ours.communicate(timeout=60)[0] or "{}")
    found = {picture: photo_keywords(picture) for picture in pictures}
    report = {
        "acknowledged": len(acknowledged),
        **told,
        "lost": [word for picture, word in acknowledged if word not in found[picture].words],
        "refused": [line for keywords in found.values() for line in keywords.refused],
        "left_behind": sorted(path.name for path in work.glob(".topicture.*")),
        "seconds": round(time.perf_counter() - start, 1),
    }
    print(json.dumps(report))
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
