"""Jobs of single files and folders: sidecars, exports, models, indexes, the cache (see `crash_jobs`)."""

import os

import numpy as np
from photo_folder import make_photos, put

from topicture.atomic import exchange, folders, new_folder
from topicture.collection.formats import Item, read_annotations, write_annotations
from topicture.collection.metadata.keywords import photo_keywords
from topicture.collection.sidecar.write import Tag, write_sidecar
from topicture.corpus import Vocabulary
from topicture.models.files import read_model, write_model
from topicture.search.index import WordIndex
from topicture.vision import cache as feature_cache

FOREIGN = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag>'
    b"<rdf:li>foreign</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>"
)


def leftovers(root):
    return [f"left behind: {path.name}" for path in root.rglob(".topicture.*")]


class Sidecars:
    """Words into sidecars, new ones and one that another program made."""

    names, words = ("photo-000.jpg", "photo-002.jpg"), ("tiger", "lion", "bear")

    def setup(self, root):
        make_photos(root, n=3, tagged=0)
        put(root / "photo-002.jpg.xmp", FOREIGN)

    def run(self, root, ack):
        for word in self.words:
            for name in self.names:
                write_sidecar(root / name, add=[Tag(word)])
                ack(f"{name}:{word}")

    def check(self, root, acks, before, after):
        found = []
        for name in self.names:
            keywords = photo_keywords(root / name)
            found += list(keywords.refused)
            told = [word for word in self.words if f"{name}:{word}" in acks]
            ours = [word for word in self.words if word in keywords.words]
            if ours not in (told, list(self.words[: len(told) + 1])):
                found.append(f"{name}: {ours} where {told} were told")
            if name == "photo-002.jpg" and "foreign" not in keywords.words:
                found.append("a word of another program is lost")
        return found


class Folder:
    """A folder that takes the place of another, again and again."""

    exchange = True

    def setup(self, root):
        (root / "folder").mkdir(parents=True)
        self._fill(root / "folder", 0)

    def _fill(self, folder, turn):
        (folder / "inner").mkdir()
        for name in ("a", "inner/b"):
            (folder / name).write_bytes(f"{turn}".encode() * 9000)

    def run(self, root, ack):
        if not self.exchange:
            folders._exchange = lambda a, b: False
        for turn in (1, 2, 3):
            with new_folder(root / "folder") as new:
                self._fill(new, turn)
            ack(str(turn))

    def check(self, root, acks, before, after):
        folders.finish_replacing(root / "folder")
        contents = {(root / "folder" / name).read_bytes() for name in ("a", "inner/b")}
        allowed = [f"{turn}".encode() * 9000 for turn in (len(acks), min(len(acks) + 1, 3))]
        found = (
            [] if len(contents) == 1 and contents <= set(allowed) else ["the folder is neither old nor new"]
        )
        with new_folder(root / "folder") as new:
            self._fill(new, 4)
        return found + leftovers(root)


class FolderInTwoSteps(Folder):
    """The same on a system that can't exchange two names."""

    exchange = False


class Export:
    """Tags to a table, to a table with its label file, and to a file for each photo."""

    words = ("sea", "sand", "rose")
    targets = (("tags.csv", "csv-long"), ("tags.arff", "arff"), ("labels", "labelme"))

    def _write(self, root, words, ack):
        os.environ["TOPICTURE_CACHE"] = str(root / "cache")
        for target, format in self.targets:
            items = [Item(f"trip/{n}.jpg", words) for n in range(3)]
            write_annotations(root / "out" / target, items, format)
            ack(target)

    def setup(self, root):
        (root / "out").mkdir(parents=True)
        self._write(root, self.words[:1], lambda target: None)

    def run(self, root, ack):
        self._write(root, self.words, ack)

    def check(self, root, acks, before, after):
        found = []
        of = {"tags.csv": "tags.csv", "tags.arff": "tags.arff", "tags.xml": "tags.arff"}
        for path in sorted(path for path in (after / "out").rglob("*") if path.is_file()):
            name = path.relative_to(after)
            content = (root / name).read_bytes() if (root / name).exists() else None
            told = of.get(path.name, "labels") in acks
            if content != path.read_bytes() and (told or content != (before / name).read_bytes()):
                found.append(f"{name}: neither old nor new, or not what was told")
        os.environ["TOPICTURE_CACHE"] = str(root / "cache")
        for target, format in self.targets:
            items = [Item(f"trip/{n}.jpg", self.words) for n in range(3)]
            write_annotations(root / "out" / target, items, format, force=True)
            found += list(map(str, read_annotations(root / "out" / target, format).refused))
        return found + leftovers(root / "out")


class Cache:
    """Measurements, committed at every turn."""

    def _array(self, n):
        return np.full((40, 50), n, np.float64)

    def setup(self, root):
        root.mkdir(exist_ok=True)

    def run(self, root, ack):
        feature_cache.COMMIT_SECONDS = 0
        with feature_cache.FeatureCache(root / "cache") as cache:
            for n in range(12):
                cache.put(bytes([n]), {"key": self._array(n)})

    def check(self, root, acks, before, after):
        found = []
        with feature_cache.FeatureCache(root / "cache") as cache:
            if cache._database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                found.append("the cache is damaged")
            for n in range(12):
                if not cache.missing(bytes([n]), ["key"]) and (cache.get(bytes([n]), "key") != n).any():
                    found.append(f"measurement {n} is wrong")
                cache.put(bytes([n]), {"key": self._array(n)})
        return found


class ModelFile:
    """One model file, replaced."""

    def setup(self, root):
        (root / "deep").mkdir(parents=True)
        self._write(root, 0)

    def _write(self, root, turn):
        write_model(
            root / "deep" / "model.safetensors", {"turn": turn}, {"array": np.full(2000, float(turn))}
        )

    def run(self, root, ack):
        for turn in (1, 2, 3):
            self._write(root, turn)
            ack(str(turn))

    def check(self, root, acks, before, after):
        header, arrays = read_model(root / "deep" / "model.safetensors")
        whole = (arrays["array"] == header["turn"]).all()
        return [] if whole and header["turn"] in (len(acks), len(acks) + 1) else [f"{header} after {acks}"]


class Index:
    """A search index, replaced in its place."""

    words, n = Vocabulary(["sea", "sand"]), 300

    def _write(self, root, turn):
        WordIndex.build(
            root / "index",
            self.words,
            [f"{turn}-{n}" for n in range(self.n)],
            [np.full((self.n, 2), 0.1 * turn)],
        )

    def setup(self, root):
        root.mkdir(exist_ok=True)
        self._write(root, 1)

    def run(self, root, ack):
        for turn in (2, 3):
            self._write(root, turn)
            ack(str(turn))

    def check(self, root, acks, before, after):
        index = WordIndex.open(root / "index")
        turn = round(float(np.exp(index.log_p[0, 0])) * 10)
        if turn not in (len(acks) + 1, len(acks) + 2) or not np.allclose(np.exp(index.log_p), 0.1 * turn):
            return [f"the index of turn {turn} after {acks}"]
        return []


class ForgetfulSidecars(Sidecars):
    """Sidecars whose names are never synced: what the check must notice."""

    def run(self, root, ack):
        exchange.sync_folder = lambda folder: None
        super().run(root, ack)


class ForgetfulFolder(Folder):
    """Folders whose content is never synced."""

    def run(self, root, ack):
        folders.sync_tree = lambda folder: None
        super().run(root, ack)
