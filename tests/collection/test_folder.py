"""Finding photos: order, links, odd names, and what is passed over."""

import os
import subprocess
import sys
import time
from collections import Counter

import pytest

from topicture.collection.excluded import Excluded
from topicture.collection.folder import FoundPhoto, Skipped, walk_photos
from topicture.collection.metadata.keywords import sidecar_path
from topicture.errors import DataNotFound, TopictureError


def fill(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * len(name))


def paths(root):
    return [found.path for found in walk_photos(root)]


def test_photos_come_in_a_fixed_order_with_size_and_time(tmp_path):
    fill(
        tmp_path,
        "b.jpg",
        "a.JPEG",
        "sub/z.png",
        "sub/deeper/c.webp",
        "another/k.tif",
        "notes.txt",
        "b.jpg.xmp",
        "x.cr2",
    )
    assert paths(tmp_path) == ["a.JPEG", "b.jpg", "another/k.tif", "sub/z.png", "sub/deeper/c.webp"]
    first = next(walk_photos(tmp_path))
    status = (tmp_path / "a.JPEG").stat()
    assert first == FoundPhoto("a.JPEG", status.st_size, status.st_mtime_ns)


def test_hidden_and_system_folders_are_passed_over(tmp_path):
    fill(
        tmp_path, ".topicture/a.jpg", ".cache/b.jpg", "@eaDir/c.jpg", "__MACOSX/d.jpg", "._e.jpg", "in/f.jpg"
    )
    assert paths(tmp_path) == ["in/f.jpg"]


def test_links_are_never_followed(tmp_path):
    root = tmp_path / "root"
    fill(tmp_path, "root/in/a.jpg", "outside/secret.jpg", "outside/notes.txt")
    (root / "loop").symlink_to(root)
    (root / "round").symlink_to(root / "round")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "photo.jpg").symlink_to(tmp_path / "outside" / "secret.jpg")
    (root / "gone.jpg").symlink_to(tmp_path / "nowhere")
    (root / "notes").symlink_to(tmp_path / "outside" / "notes.txt")
    found = list(walk_photos(root))
    assert [item.path for item in found if isinstance(item, FoundPhoto)] == ["in/a.jpg"]
    skipped = {item.source: item.reason for item in found if isinstance(item, Skipped)}
    assert skipped.keys() - {"round"} == {"loop", "out", "photo.jpg", "gone.jpg"}
    assert all("link" in reason or "looked at" in reason for reason in skipped.values())


def test_the_sidecar_that_is_read_comes_with_the_photo(tmp_path):
    fill(tmp_path, "a.jpg", "a.xmp", "a.jpg.xmp", "b.jpg", "b.XMP", "c.jpg", "sub/c.jpg.xmp")
    for found in walk_photos(tmp_path):
        path = sidecar_path(tmp_path / found.path)
        expected = [(path.name, path.stat().st_size, path.stat().st_mtime_ns)] if path.exists() else []
        assert list(found.sidecars) == expected
    assert [len(found.sidecars) for found in walk_photos(tmp_path)] == [1, 1, 0]


def test_a_raw_files_sidecar_of_whatever_time_changes_the_stamp(tmp_path):
    fill(tmp_path, "a.jpg", "a.cr2")
    os.utime(tmp_path / "a.jpg", ns=(0, 9_000_000_123))
    sidecar, stamps = tmp_path / "a.cr2.xmp", []
    for content, changed in ((None, 0), ("x", 5_000), ("x", 4_000), ("xy", 4_000)):
        if content is not None:
            sidecar.write_text(content)
            os.utime(sidecar, ns=(0, changed))
        (found,) = walk_photos(tmp_path)
        assert (found.mtime_ns, found.latest_ns) == (9_000_000_123, 9_000_000_123)
        assert found.stamp // 10**9 == 9
        stamps.append(found.stamp)
    assert len(set(stamps)) == 4
    os.utime(sidecar, ns=(0, 10**10))
    (found,) = walk_photos(tmp_path)
    assert found.latest_ns == 10**10


def test_odd_names_come_through(tmp_path):
    names = [
        b"new\nline.jpg",
        b"-rf.jpg",
        b'quote".jpg',
        b"caf\xe9.jpg",
        b"x" * 251 + b".jpg",
        "é.jpg".encode(),
    ]
    for name in names:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb"):
            pass
    found = list(walk_photos(tmp_path))
    assert sorted(os.fsencode(item.path) for item in found) == sorted(names)
    assert all((tmp_path / item.path).is_file() for item in found)


def test_a_pipe_and_a_closed_folder_are_reported(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.jpg")
    fill(tmp_path, "shut\n/a.jpg", "z/b.jpg")
    scandir = os.scandir

    def closed(path):  # the suite may run as root, whom no mode keeps out
        if "shut" in path:
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    pipe, shut, photo = walk_photos(tmp_path)
    assert pipe == Skipped("pipe.jpg", "not a regular file")
    assert str(shut) == "shut\\n: folder can't be read (Permission denied)"
    assert photo.path == "z/b.jpg"


def test_a_photo_that_vanishes_meanwhile_is_reported(tmp_path):
    fill(tmp_path, "a.jpg", "b.jpg")
    walk = walk_photos(tmp_path)
    assert next(walk).path == "a.jpg"
    (tmp_path / "b.jpg").unlink()
    assert isinstance(next(walk), Skipped)


def test_a_sidecar_that_vanishes_meanwhile_hides_no_photo(tmp_path):
    fill(tmp_path, "a.jpg", "b.jpg", "b.jpg.xmp")
    walk = walk_photos(tmp_path)
    next(walk)
    (tmp_path / "b.jpg.xmp").unlink()
    assert next(walk)[::3] == ("b.jpg", ())


def test_a_missing_root_is_told_at_once(tmp_path):
    with pytest.raises(DataNotFound, match="no such folder"):
        walk_photos(tmp_path / "nowhere")
    fill(tmp_path, "file")
    with pytest.raises(DataNotFound, match="not a folder"):
        walk_photos(tmp_path / "file")


def test_a_very_deep_tree_is_no_error(tmp_path):
    script = "import os\nfor _ in range(20):\n    os.mkdir('d' * 250)\n    os.chdir('d' * 250)"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    (skipped,) = walk_photos(tmp_path)  # beyond the longest path that the system takes
    assert isinstance(skipped, Skipped)


@pytest.mark.slow
def test_a_hundred_thousand_photos_take_seconds(tmp_path):
    for folder in range(100):
        (tmp_path / f"{folder:03}").mkdir()
        for number in range(1000):
            os.close(os.open(tmp_path / f"{folder:03}" / f"{number:04}.jpg", os.O_CREAT))
    start = time.process_time()
    assert sum(1 for _ in walk_photos(tmp_path)) == 100_000
    assert time.process_time() - start < 5


def walked(root, **options):
    left_out = Counter()
    return [found.path for found in walk_photos(root, left_out=left_out, **options)], dict(left_out)


def test_videos_and_raw_files_are_counted_where_they_are_left_out(tmp_path):
    fill(tmp_path, "a.jpg", "b.MOV", "c.mp4", "d.NEF", "e.txt", "@eaDir/f.mov")
    assert walked(tmp_path) == (["a.jpg"], {"video": 2, "RAW file": 1})
    assert walked(tmp_path, raw=True) == (["a.jpg", "d.NEF"], {"video": 2})


def test_a_raw_file_and_the_photo_made_of_it_are_one(tmp_path):
    fill(tmp_path, "IMG_1.CR2", "img_1.jpg", "sub/IMG_1.CR2", "IMG_2.CR2")
    assert walked(tmp_path, raw=True) == (["IMG_2.CR2", "img_1.jpg", "sub/IMG_1.CR2"], {})
    assert walked(tmp_path) == (["img_1.jpg"], {"RAW file": 2})


CACHED = [
    *("@eaDir/a.jpg", "x/#recycle/a.jpg", "__MACOSX/a.jpg", "Lightroom Previews.lrdata/0/a.jpg"),
    *("2020/My.photoslibrary/resources/derivatives/a.jpg", "session/CaptureOne/Cache/a.jpg", ".dtrash/a.jpg"),
]


def test_caches_of_other_programs_are_left_out_unless_somebody_wants_them(tmp_path):
    fill(tmp_path, "My.photoslibrary/originals/0/a.jpg", *CACHED)
    assert walked(tmp_path)[0] == ["My.photoslibrary/originals/0/a.jpg"]
    assert walked(tmp_path, excluded=Excluded(["!@eaDir/"]))[0][0] == "@eaDir/a.jpg"


def test_patterns_leave_out_files_and_folders(tmp_path):
    fill(tmp_path, "Export/a.jpg", "deep/Export/b.jpg", "c.png", "keep.png", "d.jpg")
    excluded = Excluded(["/Export/", "*.png", "!keep.png"])
    assert walked(tmp_path, excluded=excluded)[0] == ["d.jpg", "keep.png", "deep/Export/b.jpg"]


def test_the_owners_list_lies_in_the_folder(tmp_path):
    fill(tmp_path, "a.jpg", "b.jpg", "c.jpg")
    (tmp_path / ".topictureignore").write_text("\ufeff# drafts\n\nb.jpg\n", "utf-8")
    assert walked(tmp_path, excluded=Excluded.below(tmp_path, ["c.jpg"]))[0] == ["a.jpg"]
    (tmp_path / ".topictureignore").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(TopictureError, match="UTF-8"):
        Excluded.below(tmp_path)
    with pytest.raises(TopictureError, match="not understood"):
        Excluded(["!"])
