"""What the golden runners of DBA and EMM share: a case as a corpus, the loop with both traces, predictions."""

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches, Chunk
from topicture.models.classes import class_topics
from topicture.models.classes.values import ClassPrior, Posterior, Settings
from topicture.models.em import loop as em


class LabelledBatches(Batches):
    """Batches that take from the case which images are labelled: a row of zeros can be a label row."""

    def __init__(self, corpus, labelled, **settings):
        super().__init__(corpus, class_topics.VIEWS, **settings)
        self.labelled = np.asarray(labelled, float)

    def __iter__(self):
        for rows, image in super().__iter__():
            tagged = np.zeros(image.tagged.size)
            tagged[: len(rows)] = self.labelled[rows]
            yield Chunk(rows, image._replace(tagged=tagged.reshape(image.tagged.shape)))


def corpus_of(X, reg_img, Y):
    """Instances and labels as a corpus; images without instances included."""
    bags = [X[reg_img == n].astype(float) for n in range(len(Y))]
    return Corpus.from_arrays(captions=Y, region_words=bags)


def training_batches(case):
    inputs = case.inputs
    return LabelledBatches(corpus_of(inputs["X"], inputs["reg_img"], inputs["Y"]), inputs["labelled"])


def settings_of(config, label, **margin):
    return Settings(
        **margin,
        label=label,
        kappa=config.get("kappa", 1.0),
        n_sweeps=config["inner"],
        learn_eta=config["update_eta"],
        learn_prior=config["update_prior"],
    )


def prior_of(config):
    return ClassPrior(*(config[name] for name in ("w_a", "w_b", "w_min", "w_max", "chi1", "chi2")))


def start_posteriors(batches, phi, reg_img, delta=False):
    """Posteriors that hold the case's phi."""
    posteriors = []
    for rows, image in batches:
        lead, N = image.weight.shape, image.region_mask.shape[-1]
        padded = np.zeros((image.weight.size, N, phi.shape[1]))
        for i, n in enumerate(rows):
            own = phi[reg_img == n]
            padded[i, : len(own)] = own
        posteriors.append(
            Posterior(padded.reshape(*lead, N, -1), None, np.zeros((*lead, phi.shape[1])) if delta else None)
        )
    return posteriors


def stacked_phi(batches, posteriors, reg_img):
    """phi of all instances in the order of the case, (R, C)."""
    phi = np.zeros((len(reg_img), posteriors[0].phi.shape[-1]))
    for (rows, _), q in zip(batches, posteriors, strict=True):
        for n, own in zip(rows, em.unstack(q.phi, len(rows)), strict=True):
            phi[reg_img == n] = own[: (reg_img == n).sum()]
    return phi


def fit(case, model, params):
    """EM with the bound after every E-step and after every M-step."""
    batches, prior = training_batches(case), prior_of(case.config)
    posteriors = start_posteriors(batches, case.inputs["init_phi"], case.inputs["reg_img"])
    trace_e, trace_m = [], []
    for _ in range(case.config["iters"]):
        posteriors, stats, bound = em.e_step(model, batches, params, posteriors)
        trace_e.append(bound + em.log_prior(model, params, prior))
        params = em.m_step(model, params, stats, prior)
        trace_m.append(em.objective(model, batches, params, prior, posteriors))
    return {
        **params._asdict(),
        "phi": stacked_phi(batches, posteriors, case.inputs["reg_img"]),
        "trace_e": trace_e,
        "trace_m": trace_m,
        **predictions(case, model, params),
    }


def predictions(case, model, params):
    """Scores, proportions and responsibilities of the unlabelled test images."""
    config, reg_img = case.config, case.inputs["test_reg_img"]
    C, (theta, settings) = len(params.w), model.e_step.args
    corpus = corpus_of(case.inputs["test_X"], reg_img, np.zeros((config["n_test"], C)))

    def outputs(tables, image):
        q = class_topics.infer(theta, settings, config["inner_test"], tables, image)
        return {
            "test_score_theta": class_topics.word_scores(theta, "theta", tables, image, q),
            "test_score_zbar": class_topics.word_scores(theta, "zbar", tables, image, q),
            "test_theta": class_topics.proportions(theta, "theta", tables, image, q),
            "test_phi": class_topics.region_words(tables, q),
        }

    (rows, found), *others = em.map_images(outputs, em.tables(model, params), Batches(corpus, model.views))
    assert not others, "a case has few images: they fit in one chunk"
    found = {name: values[np.argsort(rows)] for name, values in found.items()}
    phi = [rows[: (reg_img == n).sum()] for n, rows in enumerate(found["test_phi"])]
    return {**found, "test_phi": np.concatenate(phi)}
