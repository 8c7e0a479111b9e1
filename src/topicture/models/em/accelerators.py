"""Chunks on accelerators: they stay there while memory allows; others are sent while the one before is worked on.

Several accelerators share a pass: chunk i belongs to device i modulo their number. Whole chunks, not parts of them, so
that their number does not change a bit of the result, nor what is compiled.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, final

import jax

from topicture.corpus.batches import Batches, Image
from topicture.devices import devices, free_bytes

__all__ = ["BLOCK_BYTES", "CHUNK_IMAGES", "Accelerators"]

# More images at once use a device better; beyond this nothing is gained, and the first upload would take longer.
CHUNK_IMAGES = 1 << 16
BLOCK_BYTES = 1 << 28  # of an array that the E-step keeps for a block
# Images and posteriors may take so much of what is free; the rest is for passes while they run.
_RESIDENT_SHARE = 0.4


class Placed(NamedTuple):
    image: Image
    device: int
    stays: bool


@final
class Accelerators:
    """The chunks of batches in their order, each on its device; iterate as often as needed."""

    def __init__(self, batches: Batches):
        self._batches, self.devices = batches, devices()
        self._room = [int(_RESIDENT_SHARE * free_bytes(device)) for device in self.devices]
        self._resident: dict[int, Placed] = {}

    def __iter__(self) -> Iterator[Placed]:
        before: Placed | None = None
        for i in range(len(self._batches)):
            placed = self._resident.get(i) or self._send(i)
            if before is not None:
                yield before
            before = placed
        if before is not None:
            yield before

    def _send(self, i: int) -> Placed:
        image, device = self._batches[i].image, i % len(self.devices)
        size = sum(x.nbytes for x in jax.tree.leaves(image))
        stays = size <= self._room[device]
        placed = Placed(jax.device_put(image, self.devices[device]), device, stays)
        if stays:
            self._room[device] -= size
            self._resident[i] = placed
        return placed

    def copies(self, tables: Any) -> list[Any]:
        """The tables on every device."""
        return [jax.device_put(tables, device) for device in self.devices]
