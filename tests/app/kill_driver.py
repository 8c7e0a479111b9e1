"""Kills a full run of the tool at random points, resumes it, and compares with a run that nobody disturbed.

    python kill_driver.py WORK KILLS SEED

Everything is imported once; each run is a forked child. Half of the kills strike at a call of a function, Python or C,
inside one of the verbs; the other half after a random time, so that they also strike inside C code and system calls.
Prints JSON: what was killed, and every difference that was found.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from photo_folder import RECIPE, hashes, make_photos

import topicture.annotations.choice.presence
import topicture.app.learning.annotating
import topicture.app.learning.learning
import topicture.app.verbs.reviewing
import topicture.app.verbs.scanning
import topicture.app.verbs.status
import topicture.app.verbs.writing
import topicture.models.spaces.lsa
import topicture.store.safety.checks
from topicture.app.verbs.library import Library
from topicture.collection.metadata.keywords import photo_keywords
from topicture.store import Catalog, CatalogError

VERBS = ("init", "scan", "learn", "annotate", "accept", "reject", "write")
REJECTED = ("photo-000.jpg", "sand")
PACKAGE = os.path.dirname(topicture.app.__file__).removesuffix("app")


def run(root, before=lambda verb: None):
    """The whole job; what is done already is not done again."""
    before("init")
    try:
        library = Library.create(root, recipe=RECIPE)
    except CatalogError:
        library = Library.find(root)
    before("scan")
    library.scan()
    before("learn")
    if not library.models():
        library.learn("lsa", regions=False, workers=0)
    before("annotate")
    if library.models()[0].annotated is None:
        library.annotate(workers=0, again=True)
    before("accept")
    if library.status().accepted_here == 0:
        library.accept_above(0.6)
    before("reject")
    library.decide(root / REJECTED[0], [REJECTED[1]], "rejected")
    (root.parent / f"{root.name}.told").write_text("rejected")  # from here on the answer must never be lost
    before("write")
    library.write()


class Assassin:
    """Kills this process at the n-th call inside a verb; counts the calls of all verbs."""

    def __init__(self, verb=None, n=0):
        self.verb, self.n = verb, n
        self.current = ""
        self.calls = dict.fromkeys(VERBS, 0)

    def before(self, verb):
        self.current = verb
        sys.setprofile(self.see)

    def see(self, frame, event, argument):
        if frame.f_code.co_filename.startswith(PACKAGE):
            self.calls[self.current] += 1
            if self.current == self.verb and self.calls[self.current] >= self.n:
                os.kill(os.getpid(), signal.SIGKILL)


def in_child(function, *, after=None):
    """Exit status of a forked child that runs a function; killed after so many seconds, if told."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    if after is not None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def state(root):
    """Everything that must be the same, however often the run was killed. Ids depend on nothing but the photos."""
    with Catalog.open(root / ".topicture") as catalog:
        content = {image.image: image.content.hex() for image in catalog.files.living()}
        tags = sorted((content[image], *rest) for image, *rest in catalog.decisions.all_tags())
        model = catalog.suggestions.models()[0]
        suggestions = sorted(
            (content[image], word, round(probability, 9))
            for image, word, probability in catalog.database.execute(
                "SELECT image, words.word, probability FROM suggestions AS s JOIN words ON words.id = s.word "
                "WHERE model = ?",
                (model.id,),
            )
        )
        return {
            "tags": tags,
            "suggestions": suggestions,
            "due": catalog.sidecar_record.count_due(),
            "sidecars": sidecars(root),
        }


def sidecars(root):
    found = {}
    for path in sorted(root.rglob("*.xmp")):
        keywords = photo_keywords(path.with_suffix(""))
        found[path.name] = [sorted(keywords.words), sorted(keywords.by_machine), list(keywords.refused)]
    return found


def wounds(root, originals):
    """What a killed run must never leave behind: half files, changed photos, a catalog that does not open."""
    found = []
    now = hashes(root)
    if {name: value for name, value in now.items() if name in originals} != originals:
        found.append("an original has changed")
    found += [f"{name}: {line}" for name, (_, _, refused) in sidecars(root).items() for line in refused]
    if (root / ".topicture" / "catalog.sqlite").exists():
        try:
            found += Library.find(root).check()
        except CatalogError as error:
            if (
                "never finished" not in str(error)
                and "no catalog" not in str(error)
                and "older" not in str(error)
            ):
                found.append(str(error))
        if (root.parent / f"{root.name}.told").exists():
            verdict = {tag.word: tag.verdict for tag in Library.find(root).tags(root / REJECTED[0])}
            if verdict.get(REJECTED[1]) != "rejected":
                found.append("a decision was lost")
    return found


def leftovers(root):
    strange = list(root.rglob(".topicture.*"))
    return [f"left behind: {path.name}" for path in strange]


def main():
    work, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(seed)
    base = make_photos(work / "base", n=24, tagged=16)
    originals = hashes(base)
    reference = work / "reference"
    shutil.copytree(base, reference)

    assassin = Assassin()  # of nobody: it only counts
    run(reference, assassin.before)
    sys.setprofile(None)
    start = time.perf_counter()
    undisturbed = work / "undisturbed"
    shutil.copytree(base, undisturbed)
    in_child(lambda: run(undisturbed))
    seconds = time.perf_counter() - start
    expected = state(reference)
    problems = [] if state(undisturbed) == expected else ["two undisturbed runs differ"]

    n_killed, killed = 0, dict.fromkeys((*VERBS, "time"), 0)
    number = 0
    while n_killed < kills:  # a run that ends before its time is up was not killed, and does not count
        number += 1
        root = work / f"run-{number}"
        shutil.copytree(base, root)
        verb = draw.choice(VERBS) if number % 2 else "time"
        if verb == "time":
            status = in_child(lambda root=root: run(root), after=draw.uniform(0, seconds))
        else:
            victim = Assassin(verb, draw.randint(1, assassin.calls[verb]))
            status = in_child(lambda root=root, victim=victim: run(root, victim.before))
        n_killed += status == -signal.SIGKILL
        killed[verb] += status == -signal.SIGKILL
        found = wounds(root, originals)
        if in_child(lambda root=root: run(root)) != 0:
            found.append("the run could not be resumed")
        elif state(root) != expected:
            found.append("the result differs")
        found += leftovers(root) + wounds(root, originals)
        problems += [f"kill {number} ({verb}): {line}" for line in found]
        shutil.rmtree(root)
    print(json.dumps({"killed": n_killed, "where": killed, "problems": problems, "seconds": seconds}))


if __name__ == "__main__":
    main()
