"""Jobs of the catalog: what people decided, what was learned, what was written, and its copy (see `crash_jobs`)."""

import shutil

from file_jobs import leftovers
from photo_folder import RECIPE, learn, make_library, make_photos

from topicture.app.learning.model_folder import load_learned
from topicture.app.verbs.library import Library
from topicture.collection.metadata.keywords import photo_keywords
from topicture.store import Catalog
from topicture.vision.cache import FeatureCache


class Decisions:
    """Answers, each in a transaction of its own, the catalog opened and closed for each."""

    answers = tuple((f"photo-{2 * n:03d}.jpg", word) for word in ("tiger", "lion", "bear") for n in range(3))

    def setup(self, root):
        make_library(root, n=6, tagged=4)

    def run(self, root, ack):
        library = Library.find(root)
        for name, word in self.answers:
            library.decide(root / name, [word], "present")
            ack(f"{name}:{word}")

    def check(self, root, acks, before, after):
        library = Library.find(root)
        found = library.check()
        library.decide(root / "photo-000.jpg", ["after"], "present")
        for name, word in (*(told.split(":") for told in acks), ("photo-000.jpg", "after")):
            if word not in {tag.word for tag in library.tags(root / name) if tag.verdict == "present"}:
                found.append(f"a decision is lost: {name} {word}")
        return found + library.check()


class Init:
    """A new catalog and its first scan."""

    def setup(self, root):
        make_photos(root, n=4, tagged=4)

    def run(self, root, ack):
        library = Library.create(root, recipe=RECIPE)
        ack("made")
        library.scan()
        ack("scanned")

    def check(self, root, acks, before, after):
        if "made" not in acks:
            shutil.rmtree(root / ".topicture", ignore_errors=True)  # nobody was told of it
            return []
        library = Library.find(root)
        n = library.status().photos
        if "scanned" in acks and n != 4:
            return [f"{n} photos after a finished scan of 4"]
        library.scan()
        return library.check() + (
            [] if library.status().photos == 4 else ["the scan does not find all photos"]
        )


class Learning:
    """A model, its suggestions, the search index with its shards, and the cache of measurements."""

    def setup(self, root):
        make_library(root, n=24, tagged=16)

    def run(self, root, ack):
        library = Library.find(root)
        for turn in ("first", "second"):
            library.learn("lsa", regions=False, workers=0)
            ack(f"learned-{turn}")
            library.annotate(workers=0, again=True)
            ack(f"annotated-{turn}")

    def check(self, root, acks, before, after):
        library = Library.find(root)
        found = library.check()
        models = library.models()
        told = sum(ack.startswith("learned") for ack in acks)
        if not told <= len(models) <= told + 1:
            found.append(f"{len(models)} models where {told} were told")
        with Catalog.open(library.folder) as catalog:
            for model in catalog.suggestions.models():
                load_learned(catalog.model_folder(model))
            annotated = [model.annotated for model in catalog.suggestions.models()][::-1]
            index = catalog.index_folder()
        if "annotated-first" in acks:
            if annotated[0] is None or index is None:
                found.append("an annotation is lost")
            if not library.search("rose") or not library.similar("photo-000.jpg"):
                found.append("the index finds nothing")
        with FeatureCache(root / ".topicture" / "cache") as cache:
            if cache._database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                found.append("the cache is damaged")
        return found


class Writing:
    """Accepted tags into sidecars, with the catalog's own account of what was written."""

    names = tuple(f"photo-{n:03d}.jpg" for n in (0, 2, 4))

    def setup(self, root):
        library = make_library(root, n=6, tagged=4)
        for name in self.names:
            library.decide(root / name, ["tiger"], "present")

    def run(self, root, ack):
        Library.find(root).write(regions=False)
        ack("written")

    def check(self, root, acks, before, after):
        library = Library.find(root)
        found = library.check()
        if "written" not in acks:
            found += library.write(regions=False).pending
        for name in self.names:
            keywords = photo_keywords(root / name)
            found += list(keywords.refused)
            if "tiger" not in keywords.words:
                found.append(f"{name}: a tag that counts as written is not in its sidecar")
        return found + (leftovers(root) if "written" not in acks else [])


class Backup:
    """A copy of the catalog with a model."""

    def setup(self, root):
        learn(make_library(root / "photos", n=24, tagged=16))

    def run(self, root, ack):
        Library.find(root / "photos").backup(root / "copies" / "copy")
        ack("copied")

    def check(self, root, acks, before, after):
        library, copy = Library.find(root / "photos"), root / "copies" / "copy"
        found = library.check()
        if copy.exists():
            # As a catalog that lies elsewhere; it names the collection of the machine where it was made.
            found += Library(copy).check()
            if Library(copy).words() != library.words() or len(Library(copy).models()) != 1:
                found.append("the copy differs")
        elif acks:
            found.append("a finished backup is lost")
        library.backup(root / "copies" / "another")
        return found + Library(root / "copies" / "another").check() + leftovers(root)
