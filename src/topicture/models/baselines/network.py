r"""Small neural networks that learn p(w | image), and teach one another on the untagged images.

    h = [x' A + a]_+,   p(w | x) = softmax(h' B + b),   maximise sum over images of sum_w y_w ln p(w | x)

Visual words are dropped at random while it learns: an image must be known by any half of its regions. Hidden units are
dropped too. Several networks from different starts answer together, by the mean of their ln p. Descriptors with more
columns than the images can tell apart are first turned into fewer, of even weight, any of which may be dropped.

Self-teaching, where there are untagged images: networks learned from the tagged images annotate the untagged ones, and
new networks learn from both, the answers standing for captions of `teach` words. What the first ones knew about
images is so carried to the visual words that only untagged images have.

Symbol -> code, shape:  A, a -> hidden L H, H | B, b -> words H V, V | y -> targets D V
"""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import count
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse
from scipy.special import softmax

from topicture.corpus import Corpus
from topicture.models.baselines.one_view import OneView, Tell
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
    take,
    width,
    without_some,
)
from topicture.models.leading_words import leading_words
from topicture.models.neighbours import blocks
from topicture.models.view_rows import Inputs, inputs_of

__all__ = ["Draw", "Lessons", "Net", "Network", "Plan", "log_answers", "loss", "train"]

_BATCH = 128
_RATE = 2e-3
# More untagged images than this teach nothing new to networks of this size.
_MOST_TAUGHT = 20_000
# Answers of more images and words than this are taught of fewer images, and of their likeliest words.
_MOST_ANSWERS = 1 << 26
_TAUGHT_WORDS = 64
# Updates: this many rounds over few images, within the first bounds; over many images this many rounds at least.
_ROUNDS_OF_FEW, _FEW = 150, (200, 900)
_ROUNDS_OF_MANY, _MANY = 8, 2000


class Net(NamedTuple):
    """Weights of one network, float32."""

    hidden: np.ndarray  # (L, H)
    hidden_offset: np.ndarray  # (H,)
    words: np.ndarray  # (H, V)
    words_offset: np.ndarray  # (V,)


class Plan(NamedTuple):
    """How a network learns."""

    n_hidden: int
    drop: float  # share of the inputs
    n_updates: int


# --- Learn --------------------------------------------------------------------------------------------------------


def updates_for(n_images: int) -> int:
    """Steps that suit a number of tagged images: more learn a small collection by heart, fewer leave it unlearned."""
    few = int(np.clip(_ROUNDS_OF_FEW * n_images / _BATCH, *_FEW))
    return max(few, min(_ROUNDS_OF_MANY * n_images // _BATCH, _MANY))


class Lessons(NamedTuple):
    """What a network learns from, on the device."""

    rows: Any  # (N, L) inputs
    targets: Any  # (N, V) weights of words
    drop: Any  # share of the inputs


class Draw(NamedTuple):
    """What a step draws for its batch of B images."""

    chosen: np.ndarray  # (B,) rows
    counts: np.ndarray  # (B,) whether a row does
    inputs: np.ndarray  # (B, L or slots) True for those that are not dropped
    units: np.ndarray  # (B, H) True for hidden units that are not dropped


def train(
    rows: Any,
    targets: Any,
    p_w: np.ndarray,
    plan: Plan,
    rngs: list[np.random.Generator],
    after_step: Callable[[], None] = lambda: None,
) -> list[Net]:
    """A network per generator for rows (N, L) and weights of words (N, V), sparse or dense both."""
    lessons = Lessons(on_device(rows), on_device(targets), np.float32(plan.drop))

    def one(rng: np.random.Generator) -> Net:
        net = _start(rows.shape[1], p_w, plan.n_hidden, rng)
        draws = _draws(rows.shape[0], width(lessons.rows), plan, rng)
        return descend(loss, net, lessons, draws, Walk(_RATE, plan.n_updates), after_step)

    return in_order(one, rngs)


def _start(n_inputs: int, p_w: np.ndarray, n_hidden: int, rng: np.random.Generator) -> Net:
    """Random weights that give every image nearly the word frequencies."""
    hidden = rng.standard_normal((n_inputs, n_hidden), np.float32) * np.float32(0.25)
    words = rng.standard_normal((n_hidden, len(p_w)), np.float32) * np.float32(0.3 / np.sqrt(n_hidden))
    return Net(hidden, np.zeros(n_hidden, np.float32), words, np.log(p_w).astype(np.float32))


def _draws(n_images: int, n_inputs: int, plan: Plan, rng: np.random.Generator) -> Iterator[Draw]:
    for chosen, counts in batches(n_images, _BATCH, rng):
        inputs = keep_mask((len(chosen), n_inputs), plan.drop, rng)
        yield Draw(chosen, counts, inputs, keep_mask((len(chosen), plan.n_hidden), 0.5, rng))


def loss(net: Net, lessons: Lessons, draw: Draw) -> Any:
    """Mean over a batch of -sum_w y_w ln p(w | x), with half of the hidden units dropped."""
    x = without_some(take(lessons.rows, draw.chosen), draw.inputs, lessons.drop)
    y = dense(take(lessons.targets, draw.chosen), len(net.words_offset)) * draw.counts[:, None]
    z = product(x, net.hidden) + net.hidden_offset
    h = without_some(jax.nn.relu(z), draw.units, 0.5)
    return -(y * jax.nn.log_softmax(h @ net.words + net.words_offset)).sum() / jnp.sum(draw.counts)


# --- Use ----------------------------------------------------------------------------------------------------------


def log_answers(nets: list[Net], rows: Any) -> np.ndarray:
    """Mean over the networks of ln p(w | x), (D, V) float64; not normalised again."""
    answers = np.zeros((rows.shape[0], nets[0].words.shape[1]))
    exact = [Net(*(part.astype(np.float64) for part in net)) for net in nets]
    for block in blocks(rows.shape[0], 8 * (rows.shape[1] + 2 * answers.shape[1])):
        x = rows[block].toarray() if sparse.issparse(rows) else rows[block]
        for net in exact:
            h = np.maximum(x @ net.hidden + net.hidden_offset, 0)
            p = softmax(h @ net.words + net.words_offset, axis=1)
            answers[block] += np.log(np.maximum(p, 1e-12)) / len(nets)
    return answers


# --- Estimator: no mathematics ------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Network(OneView):
    """Neural networks with one hidden layer on visual words or descriptors; untagged images teach where there are any.

    Parameters
    ----------
    n_hidden : hidden units H
    n_networks : networks that answer together
    drop : share of the inputs that is dropped while learning
    teach : words that the answer for an untagged image stands for; 0 leaves untagged images out
    n_updates : steps of the optimiser, each on 128 images; half as many more where untagged images teach. "auto": by
        the number of tagged images
    view : "descriptor" or "visual_words"
    background : share of the word frequencies in the answer
    seed : of starts, batches and dropping
    """

    name = "network"
    version = 2

    n_hidden: int = 200
    _: KW_ONLY
    n_networks: int = 3
    drop: float = 0.4
    teach: float = 3.0
    n_updates: int | str = "auto"
    view: str = "descriptor"
    background: float = 0.01
    seed: int = 0

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("n_hidden", "n_networks")
        check_updates(self.name, self.n_updates)

    def _learn(self, corpus: Corpus, tell: Tell) -> str:
        rng = np.random.default_rng(self.seed)
        self.inputs_ = inputs_of(corpus, self.view, self.seed)
        tagged, untagged = np.flatnonzero(corpus.tagged), np.flatnonzero(~corpus.tagged)
        teaching = len(untagged) > 0 and self.teach > 0
        n_updates = updates_for(len(tagged)) if self.n_updates == "auto" else int(self.n_updates)
        n_steps = self.n_networks * (n_updates + (3 * n_updates // 2 if teaching else 0))
        steps = count(1)

        def after_step() -> None:
            tell(next(steps), n_steps)

        captions = sparse.csr_array(corpus.captions)[tagged]
        plan = Plan(self.n_hidden, self.drop, n_updates)
        view = getattr(corpus, self.view)
        rows = self.inputs_(view[tagged])
        self.nets_ = train(rows, captions, self.p_w_, plan, rng.spawn(self.n_networks), after_step)
        if not teaching:
            return f"{self.n_networks} networks of {n_updates} updates"
        if len(untagged) > (most := min(_MOST_TAUGHT, max(_MOST_ANSWERS // corpus.n_words, 1))):
            untagged = np.sort(rng.choice(untagged, most, replace=False))
        taught = self.inputs_(view[untagged])
        answers = np.float32(self.teach) * softmax(log_answers(self.nets_, taught), axis=1).astype(np.float32)
        targets: Any
        if (len(tagged) + len(untagged)) * corpus.n_words <= _MOST_ANSWERS:
            targets = np.vstack([captions.toarray().astype(np.float32), answers])
        else:
            targets = sparse.csr_array(sparse.vstack([captions, leading_words(answers, _TAUGHT_WORDS)]))
        plan = Plan(self.n_hidden, self.drop, 3 * n_updates // 2)
        both = sparse.vstack([rows, taught]).tocsr() if sparse.issparse(rows) else np.vstack([rows, taught])
        self.nets_ = train(both, targets, self.p_w_, plan, rng.spawn(self.n_networks), after_step)
        return f"{self.n_networks} networks of {plan.n_updates} updates, taught on {len(untagged)} untagged images"

    def _scores(self, corpus: Corpus) -> np.ndarray:
        return softmax(log_answers(self.nets_, self.inputs_(getattr(corpus, self.view))), axis=1)

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays = {
            f"net.{name}": np.stack(parts) for name, *parts in zip(Net._fields, *self.nets_, strict=True)
        }
        return {**arrays, **self.inputs_.arrays}, {"scale": self.inputs_.scale}

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        stacked = [arrays[f"net.{name}"] for name in Net._fields]
        self.nets_ = [Net(*parts) for parts in zip(*stacked, strict=True)]
        self.inputs_ = Inputs.of_file(arrays, facts)
