"""The words of the sample collection, and the rule by which its captions name or omit them."""

import numpy as np

__all__ = ["SCENE_WORDS", "VOCABULARY", "choose_caption", "visible_words", "word_index"]

# How likely a person is to write the word when it is true of the picture: the things a photo was
# taken for are nearly always named, what lies behind or around them is often passed over.
_NAMING = {
    "sky": 0.60, "cloud": 0.42, "sun": 0.70, "sunset": 0.92, "night": 0.85, "moon": 0.90, "star": 0.78,
    "rain": 0.85, "fog": 0.85, "rainbow": 0.97, "snow": 0.85, "sea": 0.92, "beach": 0.88, "sand": 0.50,
    "boat": 0.95, "island": 0.90, "palm": 0.90, "rock": 0.70, "mountain": 0.90, "hill": 0.60,
    "tree": 0.58, "forest": 0.70, "grass": 0.50, "flower": 0.90, "field": 0.85, "garden": 0.90,
    "house": 0.88, "road": 0.80, "car": 0.92, "city": 0.90, "street": 0.80, "building": 0.72,
    "window": 0.30, "fence": 0.65, "person": 0.90, "path": 0.80, "horse": 0.97, "cow": 0.97,
    "sheep": 0.97, "bird": 0.75, "river": 0.92, "lake": 0.92, "bridge": 0.95, "desert": 0.92,
    "cactus": 0.95, "balloon": 0.97, "church": 0.95, "train": 0.97, "lighthouse": 0.97,
    "windmill": 0.97, "castle": 0.97, "tent": 0.95, "umbrella": 0.90, "lamp": 0.70,
}  # fmt: skip

VOCABULARY: tuple[str, ...] = tuple(_NAMING)

# True of the whole picture, without a region of its own: these never occur in a label map.
SCENE_WORDS: frozenset[str] = frozenset(
    {"sunset", "night", "rain", "fog", "beach", "garden", "city", "desert"}
)

_INDEX = {word: index for index, word in enumerate(VOCABULARY)}
_SMALLEST_SHARE = 2e-4  # of the picture: 10 pixels of 256 x 192; less than that cannot be recognised
_SMALL_SHARE = 4e-3  # a thing smaller than this is overlooked more often
_FEWEST, _MOST = 2, 6  # words in a caption


def word_index(word: str) -> int:
    """The word's place in `VOCABULARY`, which is its value in label maps."""
    return _INDEX[word]


def visible_words(labels: np.ndarray, scene_words: set[str]) -> tuple[np.ndarray, dict[str, float]]:
    """Clean a label map and list what is true of the picture.

    Labels covering less than 0.02 % of the picture become -1. Returns the clean map and, for each true
    word in the vocabulary's order, the share of the picture it covers (1 for words of the whole scene).
    """
    counts = np.bincount(labels[labels >= 0], minlength=len(VOCABULARY))
    seen = counts >= max(4, _SMALLEST_SHARE * labels.size)
    clean = np.where((labels >= 0) & seen[labels], labels, np.int16(-1)).astype(np.int16)
    shares = {
        word: 1.0 if word in scene_words else counts[index] / labels.size
        for index, word in enumerate(VOCABULARY)
        if seen[index] or word in scene_words
    }
    return clean, shares


def choose_caption(rng: np.random.Generator, shares: dict[str, float]) -> tuple[str, ...]:
    """Draw the caption a person might write: 2 to 6 of the true words, in the vocabulary's order.

    Each word is named with its own probability, at four fifths of it when the thing covers less
    than 0.4 % of the picture. Of more than six named words the likeliest stay; where fewer than two were
    named, the likeliest unnamed ones are added.
    """
    likely = {word: _NAMING[word] * (0.8 if share < _SMALL_SHARE else 1.0) for word, share in shares.items()}
    ranked = sorted(likely, key=lambda word: -likely[word])
    named = [word for word in ranked if rng.random() < likely[word]][:_MOST]
    for word in ranked:
        if len(named) >= _FEWEST:
            break
        if word not in named:
            named.append(word)
    return tuple(sorted(named, key=word_index))
