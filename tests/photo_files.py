"""Small photo files with metadata blocks, as cameras and photo managers write them."""

import io
import struct

from PIL import Image, TiffImagePlugin

RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
LR = 'xmlns:lr="http://ns.adobe.com/lightroom/1.0/"'
DIGIKAM = 'xmlns:digiKam="http://www.digikam.org/ns/1.0/"'
UTF8_MARK = (1, 90, b"\x1b%G")


def bag(words, kind="Bag"):
    return f"<rdf:{kind}>" + "".join(f"<rdf:li>{word}</rdf:li>" for word in words) + f"</rdf:{kind}>"


def xmp(*descriptions):
    """An XMP packet of the given rdf:Description elements, padded as packets are."""
    body = "".join(descriptions)
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF {RDF}>{body}</rdf:RDF></x:xmpmeta>'
        + " " * 64
        + '<?xpacket end="w"?>'
    ).encode()


def description(inside="", attributes=""):
    return f'<rdf:Description rdf:about="" {DC} {LR} {DIGIKAM} {attributes}>{inside}</rdf:Description>'


def subject(*words):
    return xmp(description(f"<dc:subject>{bag(words)}</dc:subject>"))


def iptc(*data_sets):
    """An IPTC record of (record, number, value) data sets."""
    return b"".join(struct.pack(">BBBH", 0x1C, record, number, len(v)) + v for record, number, v in data_sets)


def keywords(*values):
    return [(2, 25, value) for value in values]


def photoshop(record):
    """An APP13 segment in which an IPTC record lies among Photoshop's other resources."""
    other = b"8BIM" + struct.pack(">HBxI", 0x0425, 0, 3) + b"abc\0"
    named = b"8BIM" + struct.pack(">HB", 0x0404, 3) + b"nam" + struct.pack(">I", len(record)) + record
    content = b"Photoshop 3.0\0" + other + named + b"\0" * (len(record) % 2) + other
    return b"\xff\xed" + struct.pack(">H", len(content) + 2) + content


def photo(path, packet=None, record=None, **options):
    """A tiny photo with an XMP packet and an IPTC record; the kind of file follows the suffix."""
    image = Image.new("RGB", (40, 30), (90, 120, 150))
    if packet is not None:
        options["xmp"] = packet
    suffix = path.suffix.lower()
    if suffix in (".jpg", ".jpeg") and record is not None:
        options["extra"] = photoshop(record)
    if suffix in (".tif", ".tiff"):
        options = {"tiffinfo": _tiff_tags(options.pop("xmp", None), record)}
    if suffix == ".png" and packet is not None:
        options = {"pnginfo": _png_text(options.pop("xmp"))}
    stream = io.BytesIO()
    image.save(stream, {".jpg": "JPEG", ".tif": "TIFF"}.get(suffix, suffix[1:].upper()), **options)
    path.write_bytes(stream.getvalue())
    return path


def _tiff_tags(packet, record):
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    for tag, value in ((700, packet), (33723, record)):
        if value is not None:
            tags[tag] = value
            tags.tagtype[tag] = 7
    return tags


def _png_text(packet):
    from PIL import PngImagePlugin

    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", packet.decode(), zip=True)
    return info


def gif_with(packet):
    """A GIF with an XMP packet and the trailer that leads other readers past it."""
    stream = io.BytesIO()
    Image.new("P", (4, 3)).save(stream, "GIF")
    head, rest = stream.getvalue()[:13], stream.getvalue()[13:]
    colours = rest[: 3 << (head[10] & 7) + 1] if head[10] & 0x80 else b""
    block = b"\x21\xff\x0bXMP DataXMP" + packet + b"\x01" + bytes(range(255, -1, -1)) + b"\0"
    return b"GIF89a" + head[6:] + colours + block + rest[len(colours) :]
