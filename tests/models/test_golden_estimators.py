"""Golden cases through the estimators: what a person gets from `fit`, `annotate`, `transform` and `label_regions`.

Where an estimator can start from the case's parameters, it is fitted from there; where the case starts from posteriors,
which no estimator takes, the case's final parameters are put into it. Either way it answers by its public methods.
"""

import class_cases
import jax
import numpy as np
import region_cases
from golden_cases import assert_close, parametrize_by_case, read_case
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.classes import dba, emm
from topicture.models.classes.dba import DBA
from topicture.models.classes.emm import EMM
from topicture.models.classes.emm_margin import EMMMargin
from topicture.models.counts import link_lda, mix_unigram, plsa
from topicture.models.counts.folded_topics import PLSA
from topicture.models.counts.link_lda import LinkLDA
from topicture.models.counts.mix_unigram import MixUnigram
from topicture.models.counts.plsa_words import PLSAWords
from topicture.models.empirical import Empirical
from topicture.models.graphs.graph import Views
from topicture.models.graphs.lap_em import LapEM
from topicture.models.graphs.lap_mix_unigram import LapMixUnigram
from topicture.models.regions import gaussian_lda, gm_mixture
from topicture.models.regions.corr_lda import CorrLDA
from topicture.models.regions.gm_lda import GMLDA
from topicture.models.regions.gm_mixture import GMMixture
from topicture.models.spaces.embedding import Ridge
from topicture.models.spaces.iwe import IWE, Plan
from topicture.models.spaces.lsa import LSA
from topicture.models.spaces.nlsa import NLSA

# Cases of the parts that models are made of; there is no estimator of theirs.
NO_ESTIMATOR = ("graph", "metrics", "primitives")


def pytest_generate_tests(metafunc):
    parametrize_by_case(metafunc, more_are_slow=True)


def test_golden_through_the_estimator(path, monkeypatch):
    case = read_case(path)
    if case.key in NO_ESTIMATOR:
        assert case.key not in ESTIMATORS
        return
    got = ESTIMATORS[case.key](case, monkeypatch)
    assert any(name.endswith(("pw", "p_soft", "score_theta")) for name in got), (
        "words must be among the answers"
    )
    assert_close(case, got)


# --- Models ---------------------------------------------------------------------------------------------------------


def empirical(case, _):
    corpus = Corpus.from_arrays(captions=case.inputs["W"]).without_captions(case.inputs["labelled"] == 0)
    return {"pw": Empirical(pseudo_count=case.config["eps"]).fit(corpus).annotate(corpus[:1])[0]}


def of_mix_unigram(case, monkeypatch):
    train, test = bags(case)
    model = started(
        MixUnigram(**unigram_settings(case), max_iter=case.config["iters"], **ONE), case, monkeypatch
    )
    model.fit(train)
    return {
        **model.params_._asdict(),
        "trace": model.objective_trace_,
        "test_p": model.transform(test),
        "test_pw": model.annotate(test),
    }


def of_gm_mixture(case, monkeypatch):
    train, test = region_cases.corpora(case)
    model = GMMixture(2, smoothing=case.config["mode"], max_iter=case.config["iters"], **ONE)
    prior = gm_mixture.Prior(case.config["pi_pseudo"], case.config["eps"], np.array(case.config["var_floor"]))
    monkeypatch.setattr(model, "_prior", lambda: prior)
    started(model, case, monkeypatch).fit(train)
    return {
        **model.params_._asdict(),
        "trace": model.objective_trace_,
        "test_pz": model.transform(test),
        "test_pw": model.annotate(test),
        "test_loglik": model.log_likelihood(test),
    }


def of_gaussian_lda(cls):
    def run(case, monkeypatch):
        config = case.config
        train, test = region_cases.corpora(case)
        model = cls(
            2,
            smoothing=config["mode"],
            learn_alpha=config["update_alpha"],
            eta_update="alternate" if config["update_eta"] else "fixed",
            max_sweeps=config["inner"],
            sweep_tol=0.0,
            max_iter=config["iters"],
            **ONE,
        )
        prior = gaussian_lda.Prior(config["eps"], np.array(config["var_floor"]))
        monkeypatch.setattr(model, "_prior", lambda: prior)
        monkeypatch.setattr(  # the case infers with so many sweeps, the estimator until nothing moves
            "topicture.models.regions.estimator.make_infer",
            lambda story: gaussian_lda.make_infer(story, config["inner_test"], 0.0),
        )
        started(model, case, monkeypatch).fit(train)
        return {
            **model.params_._asdict(),
            "trace_e": model.objective_trace_[: config["iters"]],
            "test_pw": model.annotate(test),
            "test_region_pw": np.concatenate(model.label_regions(test)),
            "test_elbo": model.log_likelihood(test),
        }

    return run


def of_link_lda(case, monkeypatch):
    _, test = bags(case)
    model = loaded(LinkLDA(2), case, link_lda.Params(**outputs(case, link_lda.Params._fields)), test)
    monkeypatch.setattr(link_lda, "COLD", link_lda.Settings(n_sweeps=case.config["inner_test"], still=0.0))
    jax.clear_caches()  # programs that were compiled with the usual number of sweeps
    try:
        return {"test_pw": model.annotate(test)}
    finally:
        jax.clear_caches()


def of_plsa(case, _):
    train, test = bags(case)
    out, V = case.outputs, train.n_words
    phiW, phiF = np.split(out["phi"], [V], axis=1) if "phi" in out else (out["phiW"], out["phiF"])
    settings = {"power": 1.0, "fold_steps": case.config["iters_fold"]}
    variant = case.config.get("variant")
    model = PLSA(2, variant=variant, **settings) if variant else PLSAWords(2, **settings)
    tokens = case.inputs["W"].sum(axis=1) + (case.inputs["F"].sum(axis=1) if variant else 0)
    p_z = (tokens if variant else tokens[train.tagged]) @ out["theta"]
    loaded(model, case, plsa.Params(p_z / p_z.sum(), phiW, phiF), test)
    model.fold_steps_ = model.fold_steps
    return {"test_theta": model.transform(test), "test_pw": model.annotate(test)}


def of_lap(case, _):
    """The words of the graph's own images follow from their posteriors."""
    train, _ = bags(case)
    smoothing = case.config.get("stop_smoothing", ["sweeps"])[0]
    if smoothing in ("fixed", "r_tol"):
        model = LapEM(2, smoothing=case.config["smoothing"])
    else:
        algorithm = "lap-var2" if smoothing == "best_q" else "lap-var1"
        model = LapMixUnigram(2, algorithm=algorithm, smoothing=case.config["smoothing"])
    kind = mix_unigram.PointParams if case.config["smoothing"] == "map" else mix_unigram.DirichletParams
    loaded(model, case, kind(**outputs(case, kind._fields)), train)
    model.image_ids_, model.posteriors_ = train.image_ids, case.outputs["p"]
    model._known, model._has_rule, model._steps = Views(train.visual_words, None, None), False, 0
    return {"p": model.transform(train), "pw": model.annotate(train)}


def of_lsa(case, _):
    train, test = dense(case)
    model = LSA(case.config["K"], n_neighbours=case.config["Z"], word_weight=1.0).fit(train)
    return {"p_soft": model.annotate(test), "propagated": model.propagate(test, case.config["n_words"])}


def of_nlsa(case, _):
    train, test = dense(case)
    config = case.config
    settings = {"bandwidth": config["sigma"], "centre": config["centre"], "n_neighbours": config["Z"]}
    return {"p_soft": NLSA(config["K"], word_weight=1.0, **settings).fit(train).annotate(test)}


def of_iwe(case, _):
    class Base:
        """Answers with the case's probabilities."""

        needs = ()

        def annotate(self, corpus):
            return case.inputs["test_P"]

    test = Corpus.from_arrays(captions=np.zeros((len(case.inputs["test_P"]), case.inputs["W"].shape[1])))
    model = IWE("empirical", n_dims=2)
    model.vocabulary_, model.columns_ = test.vocabulary, {}
    model.base_, model.word_coordinates_ = Base(), case.outputs["phi"]
    model.log_q_ = case.outputs["logprior"]
    model.plan_ = Plan(2, Ridge(case.config["xi_r"], case.config["xi_w"]))
    return {"test_r": model.transform(test), "test_pw": model.annotate(test)}


def of_classes(cls, kind):
    def run(case, _):
        config, reg_img = case.config, case.inputs["test_reg_img"]
        test = class_cases.corpus_of(
            case.inputs["test_X"], reg_img, np.zeros((config["n_test"], len(case.outputs["w"])))
        )
        settings = {name: config[name] for name in ("label", "norm", "kappa") if name in config}
        settings |= {"n_sweeps_use": config["inner_test"], "learn_lam": config["update_prior"]}
        settings = {key: value for key, value in settings.items() if key in cls().get_params()}
        model = loaded(cls(**settings), case, kind(**outputs(case, kind._fields)), test)
        got = {"test_phi": np.concatenate(model.label_regions(test))}
        for score in ("theta", "zbar"):
            scores = case.outputs[f"test_score_{score}"]
            # `annotate` gives scores as a distribution: times their sum they are scores again.
            got[f"test_score_{score}"] = model.set_params(score=score).annotate(test) * scores.sum(
                axis=1, keepdims=True
            )
        return got

    return run


ESTIMATORS = {
    "empirical": empirical,
    "mix_unigram": of_mix_unigram,
    "gm_mixture": of_gm_mixture,
    "gm_lda": of_gaussian_lda(GMLDA),
    "corr_lda": of_gaussian_lda(CorrLDA),
    "link_lda": of_link_lda,
    "plsa_joint": of_plsa,
    "plsa_words": of_plsa,
    "lapem": of_lap,
    "lapvar": of_lap,
    "lsa": of_lsa,
    "nlsa": of_nlsa,
    "iwe": of_iwe,
    "dba": of_classes(DBA, dba.Params),
    "emm_m": of_classes(EMM, emm.Params),
    "emm_d": of_classes(EMMMargin, emm.Params),
}

# --- Helpers --------------------------------------------------------------------------------------------------------

ONE = {"n_init": 1, "tol": 0.0}


def bags(case):
    """Training and test images with visual words."""
    train = Corpus.from_arrays(captions=case.inputs["W"], visual_words=case.inputs["F"])
    F = case.inputs.get("test_F", case.inputs["F"])
    return train, Corpus.from_arrays(vocabulary=train.vocabulary, visual_words=F)


def dense(case):
    """Training and test images with a descriptor."""
    train = Corpus.from_arrays(captions=case.inputs["W"], descriptor=case.inputs["Vis"])
    captions = sparse.csr_array((len(case.inputs["test_Vis"]), train.n_words))
    vocabulary, descriptor = train.vocabulary, case.inputs["test_Vis"]
    return train, Corpus.from_arrays(captions=captions, vocabulary=vocabulary, descriptor=descriptor)


def unigram_settings(case):
    names = ("eta_b", "eta_phi") if "eta_b" in case.config else ("eps_b", "eps_phi")
    return {
        "n_topics": 2,
        "smoothing": case.config["smoothing"],
        "eta_visual": case.config[names[0]],
        "eta_words": case.config[names[1]],
        "eps_weights": case.config["eps_a"],
    }


def started(model, case, monkeypatch):
    """The estimator, starting from the case's parameters."""
    kind = next(k for k in model.params_types if all(f"init_{name}" in case.inputs for name in k._fields))
    start = kind(*(case.inputs[f"init_{name}"] for name in kind._fields))
    monkeypatch.setattr(model, "_start", lambda corpus, rng: start)
    return model


def loaded(model, case, params, corpus):
    """The estimator as if it had been fitted to the case's parameters."""
    model.params_, model.vocabulary_ = params, corpus.vocabulary
    model.columns_ = model._columns(corpus)
    return model


def outputs(case, names):
    return {name: case.outputs[name] for name in names}
