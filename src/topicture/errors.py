"""The exceptions and warnings a user can meet: one family, one clear line each.

A layer may add its own beside the code that raises it; all are TopictureErrors.
"""

__all__ = [
    "BadWord",
    "CorpusError",
    "DataNotFound",
    "FitWarning",
    "ImageError",
    "ModelFileError",
    "NotFitted",
    "TopictureError",
    "UnknownModel",
]


class TopictureError(Exception):
    """Something the user can act on. Its text is one line: what is wrong, where, what to do."""


class BadWord(TopictureError, ValueError):
    """A text that can't be a tag; says why."""


class CorpusError(TopictureError, ValueError):
    """A corpus, or the arrays it is made from, is not valid; names the image and the field."""


class DataNotFound(TopictureError, FileNotFoundError):
    """A data set, folder or file that was asked for is not there."""


class ImageError(TopictureError, ValueError):
    """A picture that can't be read; carries the reason."""


class ModelFileError(TopictureError, ValueError):
    """A model file that is truncated, foreign, or does not fit this version or corpus."""


class NotFitted(TopictureError, AttributeError):
    """An annotator was used before `fit`."""


class UnknownModel(TopictureError, KeyError):
    """No model of that name is registered."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class FitWarning(UserWarning):
    """A fit ended for a reason other than convergence: the objective fell, was not finite, or was interrupted."""
