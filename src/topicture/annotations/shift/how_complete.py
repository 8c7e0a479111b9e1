r"""How complete tags are, by answers to questions about words that tagged photos lack (docs/models.md, completeness).

Questions are drawn by a rule that looks at the word, m and chance, so their answers have the likelihood
rho^yes (1 - rho)^no with rho = rho(kappa_iw m / (1 - m)), whatever the rule is: one unknown per word, the odds kappa of
being left out, and one for photos. With z_w the log of how often the word was given less its mean over tags, and z_i
the photo's number of tags less the mean,

    ln kappa_iw = a + b z_w + g z_i + e_w,     a ~ N(0, 4),  b ~ N(0, 1),  g ~ N(0, 1/4),  e_w ~ N(0, 1/10).

Common words may be left out more often, or less, and photos with few tags as well. a, b and g are the most probable
ones without e_w, with the covariance that the curvature there tells; then each kappa_w has a posterior on a grid, its
variance before the word's own answers that of e_w and of a + b z_w. S_w, the sum of rho over the photos that lack the
word, goes as a power of kappa_w near the middle of that, so the share of its true tags that were given is
n_w / (n_w + S_w), as a mean over the posterior. How many of them are true is chance as well, with the variance sum of
rho (1 - rho), which the word's deviation has beside that of the posterior.

All together, what is expected may be off by a factor in each stratum h of m that questions are drawn in: with Y_h yes
answers to questions whose rho sum to e_h, and the factor f_h ~ Gamma(8, 8 / f) before them, f the ratio of yeses and
rho in all strata but the highest, its mean is (Y_h + 8) / (e_h + 8 / f), and the sum X_h of rho over all absent pairs
makes f_h X_h words that were left out.

Questions were drawn in strata of what was told then, which is not quite the m of today: among those that lie in a low
stratum now, many come from a higher one, where far more was asked, and more is true of them. So within a stratum each
counts as 1 over its chance to be drawn, scaled to the number of even answers that tell as much, (sum w)^2 / sum w^2.

Symbol -> code, shape:  z_w -> V | z_i -> D | a, b, g -> line (3,), spread (3, 3) | kappa_w -> posterior V G over _GRID
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from topicture.annotations.shift.completeness import (
    STRATA,
    Completeness,
    PhotoSlope,
    bend,
    bent,
    odds_of,
)

__all__ = ["Questions", "fit_completeness"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_LINE_VARIANCES = np.array([4.0, 1.0, 1 / 4])  # of a, b, g
_WORD_VARIANCE = 1 / 10  # of e_w
_LOG_GRID = np.linspace(np.log(1e-3), np.log(50.0), 200)  # of ln kappa
# In yes answers: ln f_h differs by 0.05 to 0.1 between strata of Corel-5k with tags left out.
_STRATUM_PRIOR = 8.0
_MOST_LOG = 30.0  # of u
_EDGE = 1e-9


class Questions(NamedTuple):
    """n answered questions about words that photos lack.

    Attributes
    ----------
    row, word : (n,) the pair
    yes : (n,) the word is true of the photo
    weight : (n,) 1 over the chance of a question to be drawn, up to a factor; None: all alike
    """

    row: Integers
    word: Integers
    yes: NDArray[np.bool_]
    weight: Floats | None = None


def fit_completeness(m: Floats, given: Any, asked: Questions) -> Completeness:
    """How complete the captions `given` (D, V) are, by what was answered; m (D, V) was told while they were hidden."""
    given = np.asarray(given, bool)
    n_given, n_tags = given.sum(axis=0).astype(np.float64), given.sum(axis=1)
    photos, z_word = PhotoSlope(0.0, float(n_tags.mean())), _frequent(n_given)
    pair = asked.row, asked.word
    stratum = np.digitize(m, STRATA)
    counted = _counted(stratum[pair], asked.weight)
    line, spread = _line(
        odds_of(m[pair]), z_word[asked.word], photos.z(n_tags)[asked.row], asked.yes, counted
    )
    photos = photos._replace(slope=float(line[2]))
    odds = odds_of(m) * photos.factor(n_tags)[:, None]

    of_word = np.stack([np.ones_like(z_word), z_word], axis=1)
    variance = _WORD_VARIANCE + ((of_word @ spread[:2, :2]) * of_word).sum(axis=1)
    posterior = _of_words(odds[pair], asked, counted, of_word @ line[:2], variance)  # (V, G)
    kappa: Floats = np.exp(posterior @ _LOG_GRID)
    u = kappa * odds
    rho = np.where(given, 0.0, bent(u))
    expected = rho.sum(axis=0)
    power = (rho * bend(u)).sum(axis=0) / np.maximum(expected, _EDGE)
    of_grid = expected[:, None] * np.exp(power[:, None] * (_LOG_GRID - np.log(kappa)[:, None]))
    share = n_given[:, None] / np.maximum(
        n_given[:, None] + of_grid, _EDGE
    )  # 0 of a word that no caption has
    mean = (posterior * share).sum(axis=1)
    uncertain = np.maximum((posterior * share**2).sum(axis=1) - mean**2, 0)
    chance = (rho * (1 - rho)).sum(axis=0) * (mean * (1 - mean) / np.maximum(expected, _EDGE)) ** 2

    absent: Floats = np.bincount(stratum.ravel(), rho.ravel(), len(STRATA) + 1).astype(np.float64)
    total, off = _left_out_altogether(bent(u[pair]), stratum[pair], counted, asked.yes, absent)
    all_given = float(n_given.sum())
    overall = all_given / max(all_given + total, _EDGE)
    return Completeness(
        mean,
        np.sqrt(uncertain + chance),
        kappa,
        overall,
        off * overall / max(all_given + total, _EDGE),
        len(asked.word),
        photos,
        float(np.sqrt(spread[0, 0])),
    )


def _frequent(n_given: Floats) -> Floats:
    """z_w (V,)."""
    z = np.log(n_given + 0.5)
    return np.asarray(z - np.average(z, weights=n_given + 0.5))


def _line(
    odds: Floats, z_word: Floats, z_photo: Floats, yes: NDArray[np.bool_], counted: Floats
) -> tuple[Floats, Floats]:
    """The most probable a, b and g, (3,), and their covariance, (3, 3)."""
    columns, log_odds = (
        np.stack([np.ones(len(odds)), z_word, z_photo], axis=1),
        np.log(np.maximum(odds, _EDGE)),
    )
    precision = 1 / _LINE_VARIANCES

    def loss(line: Floats) -> tuple[float, Floats]:
        u = np.exp(np.clip(log_odds + columns @ line, -_MOST_LOG, _MOST_LOG))
        rho = bent(u)
        value = line**2 @ precision / 2 - counted @ np.where(yes, np.log(rho), np.log1p(-rho))
        by_log_u = counted * np.where(yes, -1.0, rho / (1 - rho)) * bend(u)
        return float(value), columns.T @ by_log_u + line * precision

    line = np.asarray(minimize(loss, np.zeros(3), jac=True, method="L-BFGS-B").x)
    u = np.exp(np.clip(log_odds + columns @ line, -_MOST_LOG, _MOST_LOG))
    rho = bent(u)
    information = columns.T * (counted * rho / (1 - rho) * bend(u) ** 2) @ columns  # expected, of all answers
    return line, np.asarray(np.linalg.inv(information + np.diag(precision)), np.float64)


def _of_words(odds: Floats, asked: Questions, counted: Floats, centre: Floats, variance: Floats) -> Floats:
    """The posterior (V, G) of ln kappa_w at the grid, N(centre, variance) before the answers (n,)."""
    rho = bent(np.maximum(odds, _EDGE)[:, None] * np.exp(_LOG_GRID))
    height = -((_LOG_GRID - centre[:, None]) ** 2) / (2 * variance[:, None])
    np.add.at(
        height, asked.word, counted[:, None] * np.where(asked.yes[:, None], np.log(rho), np.log1p(-rho))
    )
    weights = np.exp(height - height.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _left_out_altogether(
    expected: Floats, stratum: Integers, counted: Floats, yes: NDArray[np.bool_], absent: Floats
) -> tuple[float, float]:
    """How many words were left out, the sum over h of f_h X_h, and its standard deviation.

    `expected` (n,) and `absent` (6,) are rho of the questions, and its sums over all absent pairs of the strata.
    """
    n = len(absent)
    n_yes, told = np.bincount(stratum, counted * yes, n), np.bincount(stratum, counted * expected, n)
    # Where nearly all is true, answers say little of the rest.
    all_yes, all_told = float(n_yes[:-1].sum()) + 0.5, float(told[:-1].sum()) + 0.5
    factor = all_yes / all_told
    shape, rate = n_yes + _STRATUM_PRIOR, told + _STRATUM_PRIOR / factor
    by_stratum = float(((absent / rate) ** 2 * shape).sum())
    by_factor = float((absent * shape / rate**2).sum() * _STRATUM_PRIOR / factor**2) ** 2
    return float(absent @ (shape / rate)), float(np.sqrt(by_stratum + by_factor * all_yes / all_told**2))


def _counted(stratum: Integers, weight: Floats | None) -> Floats:
    """How much each question (n,) counts: by its weight among those of its stratum, as much as these tell in all."""
    weight = np.ones(len(stratum)) if weight is None else weight
    total, square = np.bincount(stratum, weight), np.bincount(stratum, weight**2)
    return weight * (total / np.maximum(square, np.finfo(float).tiny))[stratum]
