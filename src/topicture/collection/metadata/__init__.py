"""Keywords inside photos and sidecars, read: XMP, IPTC, containers, tag lists."""
