"""Files that are heavy on purpose: each is a line with a reason, and the scan goes on."""

import struct
import time

from photo_folder import make_library, put

from topicture.app.verbs.library import Library


def test_heavy_files_do_not_stop_a_scan(tmp_path):
    library = make_library(tmp_path / "photos", n=2, tagged=1)
    photos = tmp_path / "photos"
    packet = b"http://ns.adobe.com/xap/1.0/\0"
    put(photos / "markers.jpg", b"\xff\xd8" + b"\xff\xd0" * 12_500_000)
    put(
        photos / "segments.jpg",
        b"\xff\xd8" + (b"\xff\xe1" + struct.pack(">H", 2 + len(packet)) + packet) * 500_000,
    )
    with (photos / "sparse.tif").open("wb") as file:
        file.write(b"II*\0\x08\0\0\0")
        file.truncate(40 << 30)
    start = time.process_time()
    report = Library.find(catalog=library.folder).scan()
    assert time.process_time() - start < 30
    assert report.new == 2  # the heavy JPEG files are known by their bytes
    assert any("sparse.tif: can't be read (42.9 GB is over the limit" in line for line in report.skipped)
    assert any(line.startswith("markers.jpg: ") and "segments" in line for line in report.skipped)
    assert any(line.startswith("segments.jpg: ") for line in report.skipped)
    assert all("\n" not in line for line in report.skipped)
