r"""Neighbours whose likeness is learned: an image takes the words of the tagged images that it is matched with.

    e(x) = g/|g|, g = tanh(x'A + a),   p(w | x) = sum over tagged j of alpha_j(x) y_jw/n_j,
    alpha_j(x) proportional to n_j^lambda exp(s e(x)'e(x_j)),   n_j = sum_w y_jw,   q = (1 - b) p + b p(w)

A, a, s, lambda and b maximise the likelihood of the tagged images' captions under q, every image matched with the
others only [goldberger2005nca, vinyals2016matching]. Much of the inputs is dropped while learning, anew in every step,
on both sides: an image must find those of its kind by any few of its regions. Without that it learns by heart which
images go together. Several such spaces answer together, by the mean of their ln q.

Self-teaching, where most images are untagged: they get the answers of the first spaces as captions of `teach` words,
and new spaces learn from all images. Answers are made of the tagged images' captions still.

Symbol -> code, shape:  A, a -> mapping L H, offset H | s, lambda, b -> exp(log_sharpness), length_power,
sigmoid(background_logit), 1 each | y_j/n_j -> shares N V | ln n_j -> log_lengths N
"""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import count
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse
from scipy.special import expit, softmax

from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.baselines.one_view import OneView, Tell, captions_from, captions_state
from topicture.models.baselines.training import (
    Walk,
    batches,
    check_updates,
    dense,
    descend,
    in_order,
    keep_mask,
    on_device,
    product,
    rounded_up,
    take,
    weighted_sums,
    width,
    without_some,
)
from topicture.models.leading_words import leading_words as most_probable
from topicture.models.neighbours import blocks
from topicture.models.view_rows import Inputs, inputs_of

__all__ = ["Draw", "Matching", "Memory", "Plan", "Space", "leading_words", "lessons_of", "loss", "remembered"]

_BATCH = 256
_RATE = 1e-2
# Images that a batch is matched with in one step; a random part of more.
_MOST_MATCHED = 4096
# More untagged images are not used, nor more answers for words; of an answer this many words are kept.
_MOST_TAUGHT, _MOST_ANSWERS, _TAUGHT_WORDS = 10_000, 1 << 26, 20
_MOST_REMEMBERED = 20_000  # tagged images; an answer looks at all of them
# Updates: this many rounds over the tagged images, within these bounds.
_ROUNDS, _UPDATES = 40, (80, 600)
_TAUGHT_UPDATES = 400


class Space(NamedTuple):
    """Where images are matched, float32."""

    mapping: np.ndarray  # (L, H)
    offset: np.ndarray  # (H,)
    log_sharpness: np.ndarray  # (1,)
    length_power: np.ndarray  # (1,)
    background_logit: np.ndarray  # (1,)


class Memory(NamedTuple):
    """Images with captions, to be matched with."""

    rows: Any  # (N, L) inputs, sparse or dense
    shares: sparse.csr_array  # (N, V) captions of sum 1
    log_lengths: np.ndarray  # (N,)


class Plan(NamedTuple):
    """How a space is learned."""

    n_dimensions: int
    drop: tuple[float, float]  # share of the inputs: of the image that asks, of those it is matched with
    n_updates: int


def remembered(rows: Any, captions: sparse.csr_array) -> Memory:
    """Images with captions (N, V), none of them empty."""
    lengths = np.asarray(captions.sum(axis=1), np.float32).ravel()
    shares = sparse.csr_array(captions.astype(np.float32).multiply(1 / lengths[:, None]))
    return Memory(rows.astype(np.float32), shares, np.log(lengths))


# --- Learn --------------------------------------------------------------------------------------------------------


class Lessons(NamedTuple):
    """What a space is learned from, on the device; images that fill up the last rows have length 0, its log is -inf."""

    rows: Any  # (N, L) inputs
    shares: Any  # (N, V)
    log_lengths: Any  # (N,)
    p_w: Any  # (V,)
    drop: Any  # see Plan


class Draw(NamedTuple):
    """What a step draws: B images that ask, M that they are matched with."""

    chosen: np.ndarray  # (B,) rows that ask
    counts: np.ndarray  # (B,) whether a row does
    among: np.ndarray  # (M,) rows that they are matched with
    inputs: np.ndarray  # (B, L or slots) True for those that are not dropped
    matched_inputs: np.ndarray  # (M, L or slots)


def train(
    memory: Memory,
    p_w: np.ndarray,
    plan: Plan,
    rngs: list[np.random.Generator],
    after_step: Callable[[], None] = lambda: None,
) -> list[Space]:
    """A space per generator, in which images of the memory find the captions they have."""
    lessons = lessons_of(memory, p_w, plan.drop)
    N, L = memory.rows.shape
    # A lone image has no other to be matched with.
    walk = Walk(_RATE, plan.n_updates if N > 1 else 0)

    def one(rng: np.random.Generator) -> Space:
        draws = _draws(N, width(lessons.rows), plan.drop, rng)
        return descend(loss, _start(L, plan.n_dimensions, rng), lessons, draws, walk, after_step)

    return in_order(one, rngs)


def lessons_of(memory: Memory, p_w: np.ndarray, drop: tuple[float, float]) -> Lessons:
    """The memory on the device."""
    lengths = np.full(rounded_up(len(memory.log_lengths)), -np.inf, np.float32)
    lengths[: len(memory.log_lengths)] = memory.log_lengths
    rows, shares = on_device(memory.rows), on_device(memory.shares)
    return Lessons(
        rows, shares, jax.device_put(lengths), p_w.astype(np.float32), np.asarray(drop, np.float32)
    )


def _start(n_inputs: int, n_dimensions: int, rng: np.random.Generator) -> Space:
    mapping = rng.standard_normal((n_inputs, n_dimensions), np.float32) * np.float32(0.15)
    scalars = (np.full(1, value, np.float32) for value in (np.log(10.0), 1.0, -1.5))
    return Space(mapping, np.zeros(n_dimensions, np.float32), *scalars)


def _draws(N: int, n_inputs: int, drop: tuple[float, float], rng: np.random.Generator) -> Iterator[Draw]:
    among = np.arange(rounded_up(min(N, _MOST_MATCHED)), dtype=np.int32)
    for chosen, counts in batches(N, _BATCH, rng):
        if N > _MOST_MATCHED:
            among = np.sort(rng.choice(N, _MOST_MATCHED, replace=False)).astype(np.int32)
        kept_inputs = (
            keep_mask((len(rows), n_inputs), share, rng)
            for rows, share in zip((chosen, among), drop, strict=True)
        )
        yield Draw(chosen, counts, among, *kept_inputs)


def loss(space: Space, lessons: Lessons, draw: Draw) -> Any:
    """Mean of -ln q over the words of the asking images' captions."""
    V = len(lessons.p_w)
    b = jax.nn.sigmoid(space.background_logit)
    e, e_others = (
        _embedded(
            product(without_some(take(lessons.rows, rows), mask, drop), space.mapping) + space.offset, jnp
        )
        for rows, mask, drop in (
            (draw.chosen, draw.inputs, lessons.drop[0]),
            (draw.among, draw.matched_inputs, lessons.drop[1]),
        )
    )
    log_lengths = take(lessons.log_lengths, draw.among)
    there = jnp.isfinite(log_lengths)
    scores = (jnp.exp(space.log_sharpness) * e) @ e_others.T
    scores += space.length_power * jnp.where(there, log_lengths, 0)
    scores = jnp.where(there & (draw.among != draw.chosen[:, None]), scores, -jnp.inf)
    # alpha before it is divided by its sum: V numbers per image are divided instead of M.
    raised = jnp.exp(scores - jax.lax.stop_gradient(scores.max(axis=1, keepdims=True)))
    p = weighted_sums(raised, take(lessons.shares, draw.among), V) / raised.sum(axis=1, keepdims=True)
    q = (1 - b) * p + b * lessons.p_w
    lengths = jnp.where(draw.counts, jnp.exp(take(lessons.log_lengths, draw.chosen)), 0)
    y = dense(take(lessons.shares, draw.chosen), V) * lengths[:, None]
    return -(y * jnp.log(q)).sum() / y.sum()


def _embedded(z: Any, xp: Any = np) -> Any:
    """e(x) (n, H) from x'A + a, by NumPy or its twin for the device."""
    g = xp.tanh(z)
    return g / xp.sqrt((g * g).sum(axis=1, keepdims=True) + 1e-6)


# --- Use ----------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A space with the images to be matched with in it."""

    space: Space
    images: np.ndarray  # (N, H) float32


def placed(space: Space, memory: Memory) -> Place:
    """The images of the memory, nothing dropped."""
    return Place(space, _embedded(memory.rows @ space.mapping + space.offset).astype(np.float32))


def log_answers(
    places: list[Place], rows: Any, shares: sparse.csr_array, log_lengths: np.ndarray, p_w: np.ndarray
) -> np.ndarray:
    """Mean over the places of ln q(w | x), (D, V) float64, for the images' shares and log_lengths (see Memory).

    They are not normalised again.
    """
    answers = np.zeros((rows.shape[0], len(p_w)))
    said = sparse.csr_array(shares.astype(np.float64).T)
    for place in places:
        space = Space(*(part.astype(np.float64) for part in place.space))
        b, lengths = expit(space.background_logit), space.length_power * log_lengths
        for block in blocks(rows.shape[0], 16 * len(place.images)):
            cosines = _embedded(rows[block] @ space.mapping + space.offset) @ place.images.T
            alpha = softmax(np.exp(space.log_sharpness) * cosines + lengths, axis=1)
            answers[block] += np.log((1 - b) * (said @ alpha.T).T + b * p_w) / len(places)
    return answers


def leading_words(answers: np.ndarray, n_words: int) -> sparse.csr_array:
    """The most probable words of every answer (D, V), of the sum that all had."""
    found = most_probable(answers, n_words)
    lost = answers.sum(axis=1) / np.asarray(found.sum(axis=1)).ravel()
    return sparse.csr_array(found.multiply(lost[:, None]))


def updates_for(n_images: int) -> int:
    """Steps that suit a number of images."""
    return int(np.clip(_ROUNDS * n_images / _BATCH, *_UPDATES))


# --- Estimator: no mathematics ------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Matching(OneView):
    """Nearest tagged images in learned spaces, on visual words or descriptors; untagged images teach if they are more.

    Parameters
    ----------
    n_dimensions : of a space
    n_spaces : that answer together
    drop, drop_matched : share of the inputs that is dropped while learning, of an image that asks and of those that it
        is matched with
    teach : words that the answer for an untagged image stands for; 0 leaves untagged images out
    n_updates : steps of the optimiser, each for 256 images. "auto": by the number of images to learn from
    view : "descriptor" or "visual_words"
    background : share of the word frequencies in the answer
    seed : of starts, batches and dropping
    """

    name = "matching"

    n_dimensions: int = 64
    _: KW_ONLY
    n_spaces: int = 3
    drop: float = 0.7
    drop_matched: float = 0.3
    teach: float = 3.0
    n_updates: int | str = "auto"
    view: str = "descriptor"
    background: float = 0.0
    seed: int = 0

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("n_dimensions", "n_spaces")
        if not (0 <= self.drop < 1 and 0 <= self.drop_matched < 1):
            raise TopictureError(f"{self.name}: drop and drop_matched must be at least 0 and below 1")
        check_updates(self.name, self.n_updates)

    def _learn(self, corpus: Corpus, tell: Tell) -> str:
        rng = np.random.default_rng(self.seed)
        self.inputs_ = inputs_of(corpus, self.view, self.seed)
        view = getattr(corpus, self.view)
        tagged, untagged = np.flatnonzero(corpus.tagged), np.flatnonzero(~corpus.tagged)
        if len(untagged) > (most := min(_MOST_TAUGHT, max(_MOST_ANSWERS // corpus.n_words, 1))):
            untagged = np.sort(rng.choice(untagged, most, replace=False))
        if len(tagged) > _MOST_REMEMBERED:
            tagged = np.sort(rng.choice(tagged, _MOST_REMEMBERED, replace=False))
        teaching = self.teach > 0 and len(untagged) > len(tagged)
        first, then = updates_for(len(tagged)), min(updates_for(len(tagged) + len(untagged)), _TAUGHT_UPDATES)
        if self.n_updates != "auto":
            first = then = int(self.n_updates)
        steps = count(1)

        def after_step() -> None:
            tell(next(steps), self.n_spaces * (first + (then if teaching else 0)))

        captions = sparse.csr_array(corpus.captions)[tagged]
        rows = self.inputs_(view[tagged])
        memory = remembered(rows, captions)
        self.shares_, self.log_lengths_ = memory.shares, memory.log_lengths
        plan = Plan(self.n_dimensions, (self.drop, self.drop_matched), first)
        spaces = train(memory, self.p_w_, plan, rng.spawn(self.n_spaces), after_step)
        self.places_ = [placed(space, memory) for space in spaces]
        if not teaching:
            return f"{self.n_spaces} spaces of {first} updates"
        taught = self.inputs_(view[untagged])
        answers = leading_words(self.teach * self._answers(taught), _TAUGHT_WORDS)
        both = sparse.vstack([rows, taught]).tocsr() if sparse.issparse(rows) else np.vstack([rows, taught])
        everything = remembered(both, sparse.csr_array(sparse.vstack([captions, answers])))
        plan = plan._replace(n_updates=then)
        spaces = train(everything, self.p_w_, plan, rng.spawn(self.n_spaces), after_step)
        self.places_ = [placed(space, memory) for space in spaces]
        return f"{self.n_spaces} spaces of {then} updates, taught on {len(untagged)} untagged images"

    def _answers(self, rows: Any) -> np.ndarray:
        return softmax(log_answers(self.places_, rows, self.shares_, self.log_lengths_, self.p_w_), axis=1)

    def _scores(self, corpus: Corpus) -> np.ndarray:
        return self._answers(self.inputs_(getattr(corpus, self.view)))

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        spaces = [place.space for place in self.places_]
        arrays = {
            f"space.{name}": np.stack(parts) for name, *parts in zip(Space._fields, *spaces, strict=True)
        }
        arrays |= {
            **captions_state(self.shares_),
            "images": np.stack([place.images for place in self.places_]),
            "log_lengths": self.log_lengths_,
            **self.inputs_.arrays,
        }
        return arrays, {"scale": self.inputs_.scale}

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        stacked = [arrays[f"space.{name}"] for name in Space._fields]
        spaces = [Space(*parts) for parts in zip(*stacked, strict=True)]
        self.places_ = [Place(*pair) for pair in zip(spaces, arrays["images"], strict=True)]
        self.shares_ = captions_from(arrays, len(self.p_w_))
        self.log_lengths_ = arrays["log_lengths"]
        self.inputs_ = Inputs.of_file(arrays, facts)
