"""Names of people that other programs wrote: on regions of a photo, or in a list of who is in it.

Read are the regions of the Metadata Working Group (digiKam, Lightroom, Picasa), those of Microsoft, and the list of the
IPTC. None of them is ever written or changed.
"""

from collections.abc import Iterator

from lxml import etree

from topicture.collection.metadata.record import BY
from topicture.collection.metadata.xmp import IPTC_EXT, descriptions, property_values, struct_field

__all__ = ["people_named"]

_MWG = "{http://www.metadataworkinggroup.com/schemas/regions/}"
_MP = "{http://ns.microsoft.com/photo/1.2/}"
_MP_REGIONS = "{http://ns.microsoft.com/photo/1.2/t/RegionInfo#}"
_MP_REGION = "{http://ns.microsoft.com/photo/1.2/t/Region#}"
_OF_LIVING_THINGS = ("", "Face", "Pet")  # others mark the focus, or a bar code


def people_named(tree: etree._ElementTree) -> Iterator[str]:
    """The names; a name may come more than once. Regions without one are passed over."""
    return filter(None, _names(tree))


def _names(tree: etree._ElementTree) -> Iterator[str]:
    yield from property_values(tree, IPTC_EXT + "PersonInImage")
    for description in descriptions(tree):
        for regions in description.iterchildren(_MWG + "Regions"):
            for item in _items(regions, _MWG + "RegionList"):
                living = struct_field(item, _MWG + "Type") in _OF_LIVING_THINGS
                if living and not struct_field(item, BY):  # ours mark any object
                    yield struct_field(item, _MWG + "Name")
        for regions in description.iterchildren(_MP + "RegionInfo"):
            for item in _items(regions, _MP_REGIONS + "Regions"):
                yield struct_field(item, _MP_REGION + "PersonDisplayName")


def _items(structure: etree._Element, name: str) -> Iterator[etree._Element]:
    """The items of a list inside a structure, however that is written."""
    return (
        item for field in structure.iter(name) for container in field for item in container.iterchildren()
    )
