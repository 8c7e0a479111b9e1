"""Whatever happens to files, in whatever order: a decision of a person disappears only by a person's own act."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st
from photo_folder import LONG_AGO, jpeg, make_library, put, xmp

from topicture.collection.metadata.keywords import photo_keywords
from topicture.store import Catalog
from topicture.store.decisions.decisions import OURS

PHOTOS = ("photo-000.jpg", "photo-002.jpg")
WORDS = ("tiger", "grass", "sea")
FOREIGN = "family"

photo = st.sampled_from(PHOTOS)
some = st.sets(st.sampled_from(WORDS))
ACTS = st.one_of(
    st.tuples(st.just("decide"), photo, some, st.sampled_from(["present", "rejected", "cleared"])),
    st.tuples(st.just("undo")),
    st.tuples(st.just("settle"), st.booleans()),
    st.tuples(st.just("delete"), st.sampled_from(WORDS)),
    st.tuples(st.just("scan")),
    st.tuples(st.just("write")),
    st.tuples(st.just("rewrite"), photo, some),
    st.tuples(st.just("embed"), photo, some),
    st.tuples(st.just("cut"), photo),
    st.tuples(st.just("remove"), photo),
    st.tuples(st.just("restore"), photo),
    st.tuples(st.just("damage"), photo),
    st.tuples(st.just("move"), photo, st.booleans()),
)
OF_PEOPLE = ("decide", "undo", "settle", "delete")


class World:
    """A small collection, other programs, and a person."""

    def __init__(self, root):
        self.library = make_library(root, n=3, tagged=1)
        self.root = root
        self.clock = LONG_AGO
        self.kept = {}  # files as they last were whole
        self.images = {name: self.library.image(root / name) for name in PHOTOS}
        self.folder = dict.fromkeys(PHOTOS, "")  # where a photo lies now
        for name in PHOTOS:
            self.decide(name, WORDS[:2], "present")
            self.decide(name, WORDS[2:], "rejected")
        self.write()

    def do(self, act, *arguments):
        getattr(self, act)(*arguments)

    def decide(self, name, words, verdict):
        self.library.decide(self.images[name], words, verdict)

    def undo(self):
        self.library.undo()

    def settle(self, keep):
        self.library.resolve(keep=keep)

    def delete(self, word):
        if word in {word for word, *_ in self.library.words()}:
            self.library.delete_tag(word)

    def scan(self):
        self.library.scan()

    def write(self):
        contested = {(conflict.image, conflict.word) for conflict in self.library.conflicts()}
        before = {name: self.said(name) for name in PHOTOS}
        self.library.write(regions=False)
        for name in PHOTOS:
            now = self.said(name)
            assert (FOREIGN in now) == (FOREIGN in before[name])
            for word in WORDS:
                if (self.images[name], word) in contested:
                    assert (word in now) == (word in before[name])

    def path(self, name):
        return self.root / self.folder[name] / name

    def sidecar(self, name):
        return self.path(name).with_name(f"{name}.xmp")

    def said(self, name):
        return set(photo_keywords(self.path(name)).words)

    def put(self, path, content):
        self.clock += 10
        put(path, content)
        os.utime(path, (self.clock, self.clock))

    def rewrite(self, name, words):
        self.put(self.sidecar(name), xmp([*sorted(words), FOREIGN]))

    def embed(self, name, words):
        self.put(self.path(name), jpeg(PHOTOS.index(name) * 2, sorted(words)))

    def cut(self, name):
        self.spoil(self.sidecar(name))

    def damage(self, name):
        self.spoil(self.path(name))

    def spoil(self, path):
        if path.exists():
            content = path.read_bytes()
            self.kept[path.name] = content
            self.put(path, content[: len(content) // 2])

    def remove(self, name):
        if self.sidecar(name).exists():
            self.kept[self.sidecar(name).name] = self.sidecar(name).read_bytes()
            self.sidecar(name).unlink()

    def restore(self, name):
        for path in (self.path(name), self.sidecar(name)):
            if path.name in self.kept:
                self.put(path, self.kept[path.name])

    def move(self, name, with_sidecar):
        old, old_sidecar = self.path(name), self.sidecar(name)
        self.folder[name] = "" if self.folder[name] else "elsewhere"
        self.path(name).parent.mkdir(exist_ok=True)
        old.rename(self.path(name))
        if with_sidecar and old_sidecar.exists():
            old_sidecar.rename(self.sidecar(name))

    def decided(self):
        """What people decided: all that stands but the keywords that came from files."""
        with Catalog.open(self.library.folder) as catalog:
            return {
                (name, tag.word, tag.verdict, tag.source)
                for name in PHOTOS
                for tag in catalog.decisions.tags_of(self.images[name])
                if tag.verdict == "rejected" or tag.source in OURS
            }


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(ACTS, st.booleans()), min_size=2, max_size=10))
def test_a_decision_disappears_only_by_a_persons_act(tmp_path_factory, acts):
    world = World(tmp_path_factory.mktemp("world") / "photos")
    for (act, *arguments), scanned in acts:
        before = world.decided()
        world.do(act, *arguments)
        if act in OF_PEOPLE:
            before = world.decided()
        if scanned:
            world.scan()
        assert world.decided() == before, act
    assert world.library.check() == []
    world.scan()
    while world.library.undo() is not None:
        pass
    assert world.decided() == set()
