"""Models that other processes can make as well: what travels is who made them, and from what.

Model functions are compilation keys, and closures at that: a copy that was sent would be compiled anew every time. The
maker is a function of a module, found there by its name; its arguments are settings. Every process has one model per
setting.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, NamedTuple

from topicture.errors import TopictureError
from topicture.models.em.passes import Model, no_bound

__all__ = ["Made", "how_made", "model_maker", "without_bound"]


class Made(NamedTuple):
    """How to make a model."""

    maker: Callable[..., Model]
    arguments: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]

    def model(self) -> Model:
        arguments = (each.model() if isinstance(each, Made) else each for each in self.arguments)
        return self.maker(*arguments, **dict(self.named))


_MADE: dict[Model, Made] = {}


def model_maker(function: Callable[..., Model]) -> Callable[..., Model]:
    """A function from settings to a model: the same object for the same settings, and known by them."""

    @lru_cache(maxsize=64)
    @wraps(function)
    def make(*arguments: Any, **named: Any) -> Model:
        model = function(*arguments, **named)
        known = tuple(_MADE.get(each, each) if isinstance(each, Model) else each for each in arguments)
        _MADE[model] = Made(make, known, tuple(named.items()))
        return model

    return make


def how_made(model: Model) -> Made:
    """Raises TopictureError for a model that nobody else can make."""
    if model in _MADE:
        return _MADE[model]
    if all("<" not in getattr(part, "__qualname__", "<") for part in model[1:]):
        return Made(_as_it_is, (model,), ())  # functions of modules travel by name
    raise TopictureError(
        "this model can't be made by other processes: decorate what makes it by @model_maker"
    )


def _as_it_is(model: Model) -> Model:
    return model


@model_maker
def without_bound(model: Model) -> Model:
    """The model whose bound nobody asks for."""
    return model._replace(elbo=no_bound)
