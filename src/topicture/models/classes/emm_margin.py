r"""Exponential-Multinomial Mixture [yang2010] by max-margin learning, EMM_d. Sections: docs/models.md (4).

The model of emm.py with norm "jensen", trained to minimise

    J = nu1/2 |w|^2 - ELBO_kappa + nu2 H(w, zbar),  w >= 0,

H the mean over images of the mean hinge of relevant against irrelevant classes (margin.py), ELBO_kappa with the label
term kappa sum_c y_c w_c zbar_c. A round is an E-step (with the multipliers delta of the last QP in phi's update), an
M-step of mu, eta and lam, and the QP for w and delta.

Symbol -> code:  nu2 = nu2_per_image N_lab, since the bound is a sum over images and the slack a mean
Differs from the paper: its E-step holds the multipliers fixed, so J may rise; `safeguard` adds a line search for each
image that makes J non-increasing. The label term's share -b.w stands in the QP; w >= 0; the box of the multipliers.
"""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.errors import CorpusError
from topicture.models.classes import class_topics, margin
from topicture.models.classes.emm import ExponentialMixture, Params
from topicture.models.classes.margin import MarginProblem, Solution
from topicture.models.classes.values import ClassPrior, Posterior, Settings, Stats
from topicture.models.em import loop as em
from topicture.models.interrupts import may_be_kept

__all__ = ["EMMMargin", "Round", "margin_problem", "rounds"]

# --- Values ----------------------------------------------------------------------------------------------------


class Round(NamedTuple):
    """One outer iteration."""

    params: Params
    posteriors: list[Posterior]
    problem: MarginProblem
    solution: Solution
    elbo_e: float  # after the E-step
    elbo_m: float  # after the M-step
    loss_e: float  # J after the E-step
    loss_m: float  # J after the M-step
    loss: float  # J after the QP


# --- Learn -----------------------------------------------------------------------------------------------------


def rounds(
    model: em.Model,
    batches: Batches,
    params: Params,
    prior: ClassPrior,
    posteriors: list[Any],
    *,
    nu1: float,
    nu2: float,
    kappa: float,
    qp_tol: float = 1e-3,
) -> Iterator[Round]:
    """Rounds of max-margin training, without end; the cuts of one round start the next.

    The QP only needs to be as good as the other steps: any w that is no worse than the last lets the loss fall.
    """
    touching: list[np.ndarray] = []
    while True:
        posteriors, stats, bound = em.e_step(model, batches, params, posteriors)
        elbo_e = bound + em.log_prior(model, params, prior)
        problem, members = margin_problem(batches, posteriors, len(params.w))
        w = np.asarray(params.w)
        slack = nu2 * margin.hinge(problem, w) + nu1 / 2 * float(w @ w)
        updated = em.m_step(model, params, stats, prior)
        elbo_m = _after_m_step(model, batches, params, updated, prior, posteriors, stats, bound)
        b = kappa * np.ravel(stats.zbar_hit)  # the label term of the bound is b.w
        solution = margin.solve(problem, b, nu1, nu2, start=w, warm=touching, tol=qp_tol)
        touching = solution.touching
        params = Params(updated.mu, updated.eta, updated.lam, solution.w)
        posteriors = _with_delta(batches, posteriors, solution.delta, members)
        loss = solution.primal - (elbo_m - float(b @ w))
        yield Round(
            params, posteriors, problem, solution, elbo_e, elbo_m, slack - elbo_e, slack - elbo_m, loss
        )


def _after_m_step(
    model: em.Model,
    batches: Batches,
    params: Params,
    updated: Params,
    prior: ClassPrior,
    posteriors: list[Posterior],
    stats: Stats,
    bound: float,
) -> float:
    """Bound and log-prior with the updated parameters, the posteriors as they are.

    Where no rate changed, only the likelihood of the visual words did: it is linear in E[ln beta], so no pass over the
    images is needed.
    """
    if not np.array_equal(params.lam, updated.lam):
        return em.objective(model, batches, updated, prior, posteriors)
    before, after = (em.tables(model, each).log_mu for each in (params, updated))
    gain = float(np.sum(np.asarray(stats.visual) * (after - before)))
    return bound + gain + em.log_prior(model, updated, prior)


def margin_problem(
    batches: Batches, posteriors: list[Posterior], n_classes: int
) -> tuple[MarginProblem, list[np.ndarray]]:
    """What the QP needs of the images with a margin term, and for each chunk which of its images those are."""
    zbar, relevant, classes, members, n_labelled = [], [], [], [], 0
    for (rows, image), q in zip(batches, posteriors, strict=True):
        phi, mask, tagged, words = em.unstack(
            (q.phi, image.region_mask, image.tagged, image.words), len(rows)
        )
        listed = None if q.classes is None else em.unstack(q.classes, len(rows))
        y = _relevant(words, listed, n_classes)
        n_regions, n_relevant = mask.sum(axis=1), y.sum(axis=1)
        chosen = (tagged > 0) & (n_regions > 0) & (n_relevant > 0) & (n_relevant < n_classes)
        zbar.append(phi[chosen].sum(axis=1, dtype=np.float64) / n_regions[chosen, None])
        relevant.append(y[chosen])
        if listed is not None:
            classes.append(listed[chosen])
        members.append(np.flatnonzero(chosen))
        n_labelled += int(tagged.sum())
    listed = np.concatenate(classes) if classes else None
    return (
        MarginProblem(np.concatenate(zbar), np.concatenate(relevant), listed, n_classes, n_labelled),
        members,
    )


def _relevant(words: Any, classes: np.ndarray | None, n_classes: int) -> np.ndarray:
    """Which classes of each image stand in its caption, (n, L) bool."""
    listed = np.arange(n_classes)[None, :] if classes is None else classes
    y = np.zeros((len(words.ids), listed.shape[1]), bool)
    for ids, counts in zip(words.ids.T, words.counts.T, strict=True):
        y |= (listed == ids[:, None]) & (counts > 0)[:, None]
    return y


def _with_delta(
    batches: Batches, posteriors: list[Posterior], delta: np.ndarray, members: list[np.ndarray]
) -> list[Posterior]:
    """The posteriors with new multipliers; images without a margin term have none."""
    new, start = [], 0
    for q, chosen in zip(posteriors, members, strict=True):
        values = np.zeros((q.delta.shape[0] * q.delta.shape[1], q.delta.shape[2]), batches.dtype)
        values[chosen] = delta[start : start + len(chosen)]
        start += len(chosen)
        new.append(Posterior(q.phi, q.classes, values.reshape(q.delta.shape)))
    return new


# --- Estimator: no mathematics -----------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class EMMMargin(ExponentialMixture):
    """Exponential-Multinomial Mixture by max-margin learning: an image's tags should outscore all other words by 1.

    Parameters
    ----------
    nu1 : price of large weights
    nu2_per_image : price of slack, over the number of tagged images; `annotations.yang2010.choose_nu` chooses both
    kappa : weight of the label term in the bound: 1 is the paper's hybrid, 0 leaves labels to the margin alone
    safeguard : whether a line search keeps the objective from rising (the paper's algorithm has none)
    score : what ranks the words, times their weights: "zbar" (mean of the regions' responsibilities, what the margin
        is trained on), "theta" (the paper's [(g - 1) r]_+) or "map" (mode of theta, with exact zeros)
    chi1, chi2 : shape and rate of the Gamma prior of the rates; `learn_lam` to learn the rates
    eta : Dirichlet parameter of the visual distributions at the start; `learn_eta` to learn it
    n_sweeps, n_sweeps_use : sweeps over an image, in training (where they go on from the last iteration) and in use
    n_candidates : classes in play for an image, its own tags among them; 0 for all. Needed for thousands of words
    max_iter, tol : most rounds, and relative change of the objective at which to stop
    precision : "float64" or "float32" for the E-step

    Attributes
    ----------
    params_ : emm.Params of the round with the least J
    objective_trace_ : minus the least J so far, after the first E-step and after every round
    loss_trace_ : J itself, which may rise without the safeguard
    duality_gap_ : of the last QP: how far J may be from its least value over w
    n_cuts_ : cuts of every round's QP
    """

    name = "emm-margin"
    params_types = (Params,)

    loss_trace_: np.ndarray = field(init=False)
    duality_gap_: float = field(init=False)
    n_cuts_: np.ndarray = field(init=False)

    _: KW_ONLY
    nu1: float = 1.0
    nu2_per_image: float = 100.0
    kappa: float = 0.0
    safeguard: bool = True
    score: str = "zbar"
    eta: float = 0.5
    learn_eta: bool = True
    max_iter: int = 30
    tol: float = 1e-4

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("nu1")
        self._check_not_negative("nu2_per_image", "kappa")

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        n_labelled = int(corpus.tagged.sum())
        if n_labelled == 0:
            raise CorpusError(f"{self.name}: no image is tagged, so there is nothing to learn from")
        self._check_captions(corpus)
        batches = self._batches(corpus)
        steps = rounds(
            self._model(),
            batches,
            self._start(corpus, np.random.default_rng(self.seed)),
            self._prior(),
            [None] * len(batches),
            nu1=self.nu1,
            nu2=self.nu2_per_image * n_labelled,
            kappa=self.kappa,
        )
        self._keep_best(steps, callback)

    def _keep_best(self, steps: Iterator[Round], callback: Callable[[Any], None] | None) -> None:
        """Run until J changes by less than tol, or max_iter rounds; keep the round with the least J."""
        losses: list[float] = []
        gaps: list[float] = []
        n_cuts: list[int] = []
        unsolved = 0
        reason = em.Results.max_iter
        best: Round | None = None
        try:
            for step in steps:
                losses = losses or [step.loss_e]
                converged = abs(step.loss - losses[-1]) <= self.tol * abs(losses[-1])
                losses.append(step.loss)
                gaps.append(step.solution.gap)
                n_cuts.append(step.solution.n_cuts)
                unsolved += not step.solution.converged
                if best is None or step.loss < best.loss:
                    best = step
                if callback is not None:
                    callback(em.Progress(0, 1, len(n_cuts), self.max_iter, -min(losses)))
                if converged:
                    reason = em.Results.converged
                if converged or len(n_cuts) >= self.max_iter:
                    break
        except KeyboardInterrupt:
            if best is None or not may_be_kept():
                raise
            reason = em.Results.interrupted
        assert best is not None
        self.params_ = Params(*(np.asarray(value, np.float64) for value in best.params))
        self.loss_trace_ = np.array(losses)
        self.objective_trace_ = -np.minimum.accumulate(self.loss_trace_)
        self.n_iter_ = len(n_cuts)
        self.duality_gap_ = float(gaps[-1])
        self.n_cuts_ = np.array(n_cuts)
        self.restarts_ = self.objective_trace_[-1:]
        self.result_ = _in_words(reason, self.loss_trace_, unsolved)

    def _settings(self) -> Settings:
        return Settings(
            label="printed",
            kappa=self.kappa,
            n_sweeps=self.n_sweeps,
            n_candidates=self.n_candidates,
            margin=True,
            safeguard=self.nu2_per_image if self.safeguard else 0.0,
            learn_eta=self.learn_eta,
            learn_prior=self.learn_lam,
        )

    def _form(self) -> str:
        return "jensen" if self.learn_lam else "equal"  # rates start equal

    def _start(self, corpus: Corpus, rng: np.random.Generator) -> Params:
        C = corpus.n_words
        return Params(class_topics.init_mu(corpus, self.eta), np.float64(self.eta), np.ones(C), np.ones(C))

    # --- Use ---------------------------------------------------------------------------------------------

    def label_regions(self, corpus: Corpus, *, use_captions: bool = False) -> list[np.ndarray]:
        """p(word | region), one (N_d, V) array per image; with `use_captions` a tagged image has only its own words.

        The multipliers that tie a training image's regions to its tags are those of the training images. What is left
        of labels in the bound of a new one is kappa y w zbar, which is nothing by default, so its tags are a limit.
        """
        found = super().label_regions(corpus, use_captions=use_captions)
        if not use_captions:
            return found
        for d in np.flatnonzero(corpus.tagged):
            own = corpus.captions[[d]].toarray() > 0
            allowed = np.where(own, found[d], 0)
            total = allowed.sum(axis=1, keepdims=True)
            found[d] = np.where(total > 0, allowed / np.where(total > 0, total, 1), own / own.sum())
        return found

    # --- Files -------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, facts = super()._state()
        return {**arrays, "loss_trace": self.loss_trace_, "n_cuts": self.n_cuts_}, {
            **facts,
            "duality_gap": self.duality_gap_,
        }

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        self.loss_trace_, self.n_cuts_ = arrays["loss_trace"], arrays["n_cuts"]
        self.duality_gap_ = float(facts["duality_gap"])


def _in_words(reason: em.Results, losses: np.ndarray, unsolved: int) -> str:
    rose = int((np.diff(losses) > 1e-9 * np.abs(losses[:-1])).sum())
    notes = [reason.value]
    if rose:
        notes.append(f"the loss rose in {rose} of {len(losses) - 1} rounds, the best round is kept")
    if unsolved:
        notes.append(f"the weights of {unsolved} rounds are not within the tolerance of their optimum")
    return "; ".join(notes)
