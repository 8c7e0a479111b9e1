"""Everything at once, again and again, for a given time: does anything get lost?

    python soak_driver.py WORK SECONDS SEED [MOST_SECONDS]

In every round a person scans, learns, annotates, answers, takes back and writes; a second process runs a command, and
another program adds keywords to the sidecars; the person's process is killed, or the disk is full for moments, or
neither. Then the promises are checked against notes that were kept outside of the collection. Prints JSON: what
happened how often, and every promise that did not hold. With MOST_SECONDS it goes on for up to so long until there was
a kill, a decision and a keyword of another program.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from photo_files import subject
from photo_folder import RECIPE, hashes, make_photos
from soak.actors import OWN_WORDS, Notes, SecondProcess, foreign_writer, verdict_of, work

from topicture.app.verbs.library import Library
from topicture.collection.metadata.keywords import photo_keywords
from topicture.errors import TopictureError

TROUBLES = ("kill", "kill", "full", "none")
NEEDED = ("kills", "decisions", "foreign words")  # a run without one of them shows little
DISK = "24m"
N, TAGGED, WITH_SIDECAR = 24, 16, 8


@contextmanager
def small_disk(folder):
    """A file system that can be filled, where one can be mounted (that takes root); whether it was."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    mounted = shutil.which("mount") is not None and not subprocess.run(mount, capture_output=True).returncode
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _lives(process):
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def fill(path):
    """Take all the room that is left."""
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


class Soak:
    """The collection, what must be true of it, and what has happened to it."""

    def __init__(self, work_folder, disk, mounted, seed):
        self.work, self.disk, self.mounted = work_folder, disk, mounted
        self.draw = random.Random(seed)
        self.root = make_photos(disk / "photos", n=N, tagged=TAGGED)
        self.photos = sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*.jpg"))
        self.originals = hashes(self.root)
        for photo in self.photos[:WITH_SIDECAR]:
            (self.root / f"{photo}.xmp").write_bytes(subject("theirs"))
        self.decided = {}  # (photo, word) -> verdicts of which one must stand
        self.foreign = [(photo, "theirs") for photo in self.photos[:WITH_SIDECAR]]
        self.count, self.problems = Counter(), []
        self.library = Library.create(self.root, recipe=RECIPE)
        self.library.scan()
        self.library.learn("knn", regions=False, workers=0)
        self.library.annotate(workers=0)

    def round(self, foreign):
        number, trouble = self.count["rounds"], self.draw.choice(TROUBLES)
        self.count["rounds"] += 1
        notes, seed = self.work / f"notes-{number}", self.draw.random()
        second = self._second(number)
        person = os.fork()
        if person == 0:
            self._be_the_person(notes, seed, trouble)
        end = time.monotonic() + (self.draw.uniform(0.1, 4) if trouble == "kill" else float("inf"))
        filler = self.disk / "filler"
        while time.monotonic() < end and _lives(person):
            if trouble == "full" and self.mounted and self.draw.random() < 0.3:
                fill(filler)
                self.count["full disks"] += 1
            self._write_as_another(foreign)
            filler.unlink(missing_ok=True)
        if trouble == "kill":
            os.kill(person, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(person, 0)[1])
        self.count["kills"] += status == -signal.SIGKILL
        if status not in (0, -signal.SIGKILL):
            self.problems.append(f"round {number}: the person's process ended with {status}")
        self._end_second(number, *second)
        self._read(notes)
        self.problems += [f"round {number} ({trouble}): {line}" for line in self._broken()]

    def _be_the_person(self, notes, seed, trouble):
        try:
            if trouble == "full" and not self.mounted:
                import resource

                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
            work(self.root, self.photos, Notes(notes), seed, actions=1000 if trouble == "kill" else 12)
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)

    def _second(self, number):
        photo, word = self.draw.choice(self.photos), f"second-{number}"
        tag = ["tag", photo, word]
        command = self.draw.choice((tag, tag, ["write"], ["scan"], ["search", "rose"]))
        log = self.work / f"sockets-{number}"
        environment = {**os.environ, "TOPICTURE_CACHE": str(self.work / "cache")}
        return command, SecondProcess(self.root, log, command, environment)

    def _end_second(self, number, command, process):
        status, told, sockets = process.end()
        self.count["second commands"] += 1
        self.count["second refused"] += status == 2
        if sockets or "Traceback" in told or status not in (0, 1, 2):
            self.problems.append(f"round {number}: {command[0]} gave {status}, {told[-300:]!r}, {sockets}")
        if command[0] == "tag":
            self.decided[command[1], command[2]] = ("present",) if status == 0 else ("present", None)

    def _write_as_another(self, foreign):
        photo, word = self.draw.choice(self.photos[:WITH_SIDECAR]), f"foreign-{self.count['foreign words']}"
        if foreign.add(word, self.root / f"{photo}.xmp"):
            self.foreign.append((photo, word))
            self.count["foreign words"] += 1

    def _read(self, notes):
        """What the person was told."""
        begun = None
        for line in map(json.loads, notes.read_text().splitlines() if notes.exists() else ()):
            if "photo" in line:
                begun = line
                self.decided[line["photo"], line["word"]] = (line["before"], line["after"])
            elif "done" in line:
                self.decided[begun["photo"], begun["word"]] = (begun["after"],)
                self.count["decisions"] += 1
            elif "refused" in line:
                self.count["refusals"] += 1
            elif "did" in line:
                self.count[line["did"]] += 1

    def _broken(self):
        """Promises that do not hold now; first as it was left, then after a scan and a write that nobody disturbs."""
        try:
            yield from self._lost()
            yield from self.library.check()
            self.library.scan()
            yield from self.library.write().pending
            yield from self._lost()
        except TopictureError as error:
            yield f"a verb failed though nothing was in its way: {error}"
        now = hashes(self.root)
        if {name: now.get(name) for name in self.originals} != self.originals:
            yield "an original has changed"
        keywords = {photo: photo_keywords(self.root / photo) for photo in self.photos}
        for photo, word in self.foreign:
            if word not in keywords[photo].words:
                yield f"the keyword {word} of another program is gone from {photo}"
        # Another program that reads before our write and writes after it undoes ours: that is shown, for a person to
        # settle.
        conflicts = {(conflict.path, conflict.word) for conflict in self.library.conflicts()}
        self.count["conflicts"] = max(self.count["conflicts"], len(conflicts))
        for (photo, word), (verdict, *_) in self.decided.items():
            agrees = (verdict == "present") == (word in keywords[photo].words)
            if word in OWN_WORDS and not agrees and (photo, word) not in conflicts:
                yield f"{word} of {photo} is {verdict}, its sidecar says something else, and nobody is told"
        yield from self._left_behind(lambda path: ".topicture" not in path.parts)
        self.foreign = [entry for entry in self.foreign if entry[1] in keywords[entry[0]].words]

    def last_look(self):
        """Folders that a killed process was still filling go when the next one is made."""
        try:
            self.library.learn("knn", regions=False, workers=0)
            self.library.annotate(workers=0)
        except Exception as error:  # what the rounds have found is to be told all the same
            self.problems.append(f"the last look failed: {type(error).__name__}: {error}")
        self.problems += self._left_behind(lambda path: True)

    def _left_behind(self, counts):
        return [f"left behind: {path.name}" for path in self.disk.rglob(".topicture.*") if counts(path)]

    def _lost(self):
        for (photo, word), allowed in self.decided.items():
            verdict = verdict_of(self.library, photo, word)
            if verdict not in allowed and not self._put_in_by_another(photo, word, allowed):
                yield f"{word} of {photo} is {verdict}, decided was {allowed}"
            self.decided[photo, word] = (verdict,)  # told once; what was either is now what it is

    def _put_in_by_another(self, photo, word, allowed):
        """A word about which nothing stood any more, and which the other program wrote back with its next keyword."""
        with self.library.reading() as catalog:
            found_by = catalog.database.execute(
                "SELECT batches.source FROM tags JOIN words ON words.id = tags.word JOIN decisions AS d "
                "ON d.id = tags.decision JOIN batches ON batches.id = d.batch WHERE tags.image = ? AND words.word = ?",
                (self.library.image(photo), word),
            ).fetchone()
        return None in allowed and found_by == ("scan",)


def main():
    work_folder, seconds, seed = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    most_seconds = float(sys.argv[4]) if len(sys.argv) > 4 else seconds
    with small_disk(work_folder / "disk") as mounted:
        soak = Soak(work_folder, work_folder / "disk", mounted, seed)
        start, foreign = time.monotonic(), foreign_writer()
        try:
            while (passed := time.monotonic() - start) < seconds or (
                passed < most_seconds and not all(soak.count[what] for what in NEEDED)
            ):
                soak.round(foreign)
            soak.last_look()
        finally:
            foreign.close()
        report = {
            "seconds": round(time.monotonic() - start, 1),
            "disk": f"tmpfs of {DISK}" if mounted else "limit of file size",
            "foreign writer": type(foreign).__name__,
            **soak.count,
            "checked decisions": len(soak.decided),
            "problems": soak.problems,
        }
    print(json.dumps(report))
    sys.exit(bool(soak.problems))


if __name__ == "__main__":
    main()
