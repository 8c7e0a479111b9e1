"""How passes were split over devices and summed, before the lanes and trees of models/em."""

from typing import Any

import jax

from topicture.models.em.passes import is_outer

__all__ = ["n_devices", "sum_over_devices"]


def n_devices() -> int:
    """Over how many devices a pass could be split."""
    return jax.local_device_count()


def sum_over_devices(x: Any) -> Any:
    """Within a mapped pass: the sum over its blocks."""
    return x if is_outer(x) else jax.lax.psum(x, "blocks")
