"""Who works on the collection at the same time: a person at work, a second process, another program.

Each notes outside of the collection what it has been told is done; what was begun and not told as done may be either.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

from collection.foreign_writer import Exiftool
from photo_files import bag

from topicture.app.verbs.library import Library
from topicture.errors import TopictureError

OWN_WORDS = tuple(f"soak-{number}" for number in range(6))
# How often each: every model stays until somebody prunes, and hundreds of them would fill the small disk.
ACTS = {"answer": 24, "undo": 8, "write": 10, "scan": 6, "annotate": 2, "learn": 2, "prune": 1}
PROGRAM = "from topicture.app.cli.main import main; main()"


class Notes:
    """Lines of JSON that outlive whoever writes them."""

    def __init__(self, path):
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, **line):
        os.write(self._handle, json.dumps(line).encode() + b"\n")


def verdict_of(library, photo, word):
    """present, rejected, or None."""
    said = {tag.word: tag.verdict for tag in library.tags(photo)}.get(word)
    return None if said == "cleared" else said


def work(root, photos, notes, seed, actions):
    """A person's session: one act after another at random; ends by being killed, or so."""
    draw, library = random.Random(seed), Library.find(root)
    last = None
    for _ in range(actions):
        act = draw.choices(tuple(ACTS), tuple(ACTS.values()))[0]
        try:
            if act == "answer":
                last = _answer(library, photos, notes, draw)
            elif act == "undo" and last is not None:
                photo, word, before, after, step = last
                last = None
                notes.add(photo=photo, word=word, before=after, after=before)
                library.undo(step)
                notes.add(done=True)
            elif act == "learn":
                library.learn("knn", regions=False, workers=0)
            elif act == "annotate":
                library.annotate(workers=0)
            elif act in ("write", "scan", "prune"):
                getattr(library, act)()
        except (TopictureError, OSError) as error:  # busy, or no room
            notes.add(refused=f"{act}: {error}")
        else:
            notes.add(did=act)


def _answer(library, photos, notes, draw):
    questions = library.queue(limit=5) if library.models() and draw.random() < 0.5 else []
    if questions:
        question = draw.choice(questions)
        photo, word = question.path, question.word
    else:
        photo, word = draw.choice(photos), draw.choice(OWN_WORDS)
    before = verdict_of(library, photo, word)
    after = draw.choice(("present", "present", "rejected"))
    notes.add(photo=photo, word=word, before=before, after=after)
    step = library.answer(library.image(photo), word, after)
    notes.add(done=True)
    return None if step is None else (photo, word, before, after, step)


class SecondProcess:
    """A real command at the same time; under strace, where there is one, which sees sockets of native code too."""

    def __init__(self, root, log, arguments, environment):
        self._log = log
        watch = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=%network", "-o", str(log)]
        program = [sys.executable, "-P", "-c", PROGRAM, *arguments]
        self._process = subprocess.Popen(
            [*(watch if shutil.which("strace") else []), *program],
            cwd=root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self):
        """Exit status, what was told as an error, and the sockets that were opened."""
        _, told = self._process.communicate(timeout=120)
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return self._process.returncode, told, [line for line in lines if "AF_INET" in line]


def foreign_writer():
    """exiftool where there is one; else a program of our own that edits sidecars by atomic rename, as others do."""
    return Exiftool() if shutil.which("exiftool") else Editor()


class Editor:
    """Adds keywords to sidecars, reading right before it renames."""

    def add(self, word, path):
        new = Path(f"{path}.editing")
        try:
            content = Path(path).read_text(encoding="utf-8")
            item = re.search(r"<rdf:li>.*?</rdf:li>", bag([word])).group()
            changed = re.sub(r"(<dc:subject>\s*<rdf:(?:Bag|Seq)>)", rf"\1{item}", content, count=1)
            new.write_text(changed, encoding="utf-8")
            new.rename(path)
        except OSError:
            new.unlink(missing_ok=True)
            return False
        return changed != content

    def close(self):
        pass
